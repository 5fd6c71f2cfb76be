package admission_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/admission"
	"cyberagent/domain/deps"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/run"
)

var digest = "sha256:" + strings.Repeat("0123456789abcdef", 4)

// evidence is complete and good. Each test changes a fresh one.
func evidence() admission.Evidence {
	return admission.Evidence{
		Gates: admission.Gates{PermissionControl: true, WorkspaceSandbox: true, DockerExecution: true},
		Run: &run.Run{
			ID: "run_1", Kind: "code", Status: "active",
			Profile:    run.ProfileSnapshot{Revision: 2, Profile: "docker"},
			Permission: run.PermissionSnapshot{Revision: 3, Permission: "workspace_access"},
		},
		Engine: &admission.EngineFacts{
			Engine: "docker", Reachability: "reachable", Version: "20.10.24", APIVersion: "1.41", APISupported: true, OSType: "linux",
			Architecture: "amd64", HostArch: "amd64", OperatingName: "Debian", Seccomp: true, SwapLimit: true, PidsLimit: true, MemoryLimit: true,
			CPUs: 2, MemoryBytes: 2147483648, CgroupVersion: "1", Runtime: "runc",
		},
		Image: &admission.ImageFacts{
			Configured: digest, Present: true, ID: digest, OS: "linux", Arch: "amd64", Entrypoint: []string{"/standard-code/runner"},
			Labels: map[string]string{"cyberagent.runner-protocol": "standard-code-docker-runner.v2"},
		},
		Drydock: &admission.DrydockFacts{
			Present: true, Drydock: drydock.Drydock{ID: "dry_1", Status: "ready", Generation: 4, Checkpoint: "ckpt_4"},
		},
		Requested:    &admission.Requested{Generation: 4, Checkpoint: "ckpt_4"},
		Dependencies: &deps.Need{Toolchain: "go"},
	}
}

// asksFor is a repository that requires one module; holds are the labels of an image
// that has one.
func asksFor(version string) *deps.Need {
	n := deps.Read("go", map[string][]byte{
		"go.mod": []byte("module x\nrequire a.example/b " + version + "\n"), "go.sum": []byte("a.example/b " + version + " h1:x=\n"),
	})
	return &n
}

func holds(version string) map[string]string {
	r := deps.NewRecord()
	r.Hold("go", []deps.Package{{Name: "a.example/b", Version: version}})
	text, err := r.Encode()
	if err != nil {
		panic(err)
	}
	return map[string]string{"cyberagent.runner-protocol": "standard-code-docker-runner.v2", "cyberagent.project": text}
}

func TestAMissingDependencyIsNamedWithWhatToType(t *testing.T) {
	t.Parallel()
	e := evidence()
	e.Run.Workspace = "/home/op/my project"
	e.Dependencies, e.Image.Labels = asksFor("v1.2.0"), holds("v1.1.0")
	got := admission.Evaluate(e)
	want := "go.mod names 1 package that the image does not have: a.example/b@v1.2.0 (the image has v1.1.0); " +
		"fetch them, then: cyberagent fixture build --project '/home/op/my project'"
	if len(got) != 1 || got[0].Detail != want {
		t.Errorf("got %+v", got)
	}
}

// refusal is a verdict without its sentence.
type refusal struct {
	check  string
	reason fault.Code
	by     admission.Blocker
	fix    admission.Remediation
}

func refusals(t *testing.T, e admission.Evidence) []refusal {
	t.Helper()
	var out []refusal
	for _, v := range admission.Evaluate(e) {
		if v.Allowed {
			t.Errorf("a refusal says allowed: %+v", v)
		}
		if v.Detail == "" {
			t.Errorf("%s refuses without a sentence", v.Check)
		}
		out = append(out, refusal{v.Check, v.Reason, v.BlockedBy, v.Remediation})
	}
	return out
}

func TestCompleteGoodEvidencePasses(t *testing.T) {
	t.Parallel()
	e := evidence()
	if !e.Complete() {
		t.Error("not complete")
	}
	if got := refusals(t, e); len(got) != 0 {
		t.Errorf("refused: %+v", got)
	}
	if err := admission.Error(nil); err != nil {
		t.Errorf("no refusal gives %v", err)
	}
}

// TestEachFactRefusesAlone is the table of contract section 4, row by row, with
// every way to come to a row. Only the named refusals may follow from the change.
func TestEachFactRefusesAlone(t *testing.T) {
	t.Parallel()
	gate := func(change func(*admission.Gates)) func(*admission.Evidence) {
		return func(e *admission.Evidence) { change(&e.Gates) }
	}
	engine := func(change func(*admission.EngineFacts)) func(*admission.Evidence) {
		return func(e *admission.Evidence) { change(e.Engine) }
	}
	image := func(change func(*admission.ImageFacts)) func(*admission.Evidence) {
		return func(e *admission.Evidence) { change(e.Image) }
	}
	theRun := func(change func(*run.Run)) func(*admission.Evidence) {
		return func(e *admission.Evidence) { change(e.Run) }
	}
	dry := func(change func(*admission.DrydockFacts)) func(*admission.Evidence) {
		return func(e *admission.Evidence) { change(e.Drydock) }
	}
	configured := func(s string) func(*admission.Evidence) {
		return image(func(f *admission.ImageFacts) { f.Configured, f.Present = s, false })
	}
	containerd := func(r admission.Reachability) func(*admission.Evidence) {
		return engine(func(f *admission.EngineFacts) { f.Engine, f.Reachability, f.Detail = "containerd", r, "x" })
	}

	gateClosed := []refusal{{"process_gates", "feature_disabled", "startup_gate_closed", "restart_with_startup_gate"}}
	platform := []refusal{{"engine_platform", "platform_unsupported", "backend_not_ready", "use_linux_containers"}}
	host := func(code fault.Code) []refusal {
		return []refusal{{"engine_host", code, "backend_not_ready", "use_supported_engine_host"}}
	}
	capacity := []refusal{{"engine_capacity", "resource_capacity_insufficient", "backend_not_ready", "retry_backend_readiness"}}
	unconfigured := []refusal{{"image_configured", "image_unconfigured", "image_unavailable", "configure_image_digest"}}
	unsafe := []refusal{{"image_profile", "image_profile_unsafe", "backend_not_ready", "rebuild_fixture_image"}}
	outdated := []refusal{{"image_protocol", "runner_protocol_outdated", "backend_not_ready", "rebuild_fixture_image"}}
	ineligible := []refusal{{"run_eligible", "run_not_eligible", "run_not_eligible", "use_active_code_run"}}
	profile := []refusal{{"run_profile", "profile_mismatch", "profile_mismatch", "select_docker_profile"}}
	permission := []refusal{{"run_permission", "permission_mismatch", "permission_mismatch", "grant_workspace_access"}}
	notReady := []refusal{{"drydock_ready", "drydock_not_ready", "drydock_not_ready", "create_drydock"}}

	for _, c := range []struct {
		name   string
		change func(*admission.Evidence)
		want   []refusal
	}{
		{"gate for permissions missing", gate(func(g *admission.Gates) { g.PermissionControl = false }), gateClosed},
		{"gate for the sandbox missing", gate(func(g *admission.Gates) { g.WorkspaceSandbox = false }), gateClosed},
		{"gate for Docker missing", gate(func(g *admission.Gates) { g.DockerExecution = false }), gateClosed},
		{"all gates missing", gate(func(g *admission.Gates) { *g = admission.Gates{} }), gateClosed},

		{"docker unreachable", engine(func(f *admission.EngineFacts) { f.Reachability, f.Detail = "unreachable", "x" }),
			[]refusal{{"engine_reachable", "daemon_unreachable", "docker_unavailable", "install_or_start_docker"}}},
		{"containerd unreachable", containerd("unreachable"),
			[]refusal{{"engine_reachable", "daemon_unreachable", "containerd_unavailable", "install_or_start_containerd"}}},
		{"docker's socket not permitted", engine(func(f *admission.EngineFacts) { f.Reachability, f.Detail = "permission_denied", "x" }),
			[]refusal{{"engine_reachable", "daemon_permission_denied", "docker_unavailable", "grant_engine_socket_access"}}},
		{"containerd's socket not permitted", containerd("permission_denied"),
			[]refusal{{"engine_reachable", "daemon_permission_denied", "containerd_unavailable", "grant_engine_socket_access"}}},
		{"nobody says whether it is reachable", engine(func(f *admission.EngineFacts) { f.Reachability = "" }),
			[]refusal{{"engine_reachable", "daemon_unreachable", "docker_unavailable", "install_or_start_docker"}}},

		{"API unsupported", engine(func(f *admission.EngineFacts) { f.APISupported = false }),
			[]refusal{{"engine_api", "api_unsupported", "backend_not_ready", "upgrade_engine"}}},

		{"Windows containers", engine(func(f *admission.EngineFacts) { f.OSType = "windows" }), platform},
		{"no OS said", engine(func(f *admission.EngineFacts) { f.OSType = "" }), platform},
		{"this process on another architecture", engine(func(f *admission.EngineFacts) { f.HostArch = "arm64" }), platform},

		{"Docker Desktop", engine(func(f *admission.EngineFacts) { f.Desktop = true }), host("host_os_unsupported")},
		{"no seccomp", engine(func(f *admission.EngineFacts) { f.Seccomp = false }), host("host_os_unsupported")},
		{"rootless", engine(func(f *admission.EngineFacts) { f.Rootless = true }), host("userns_unsupported")},
		{"userns-remap", engine(func(f *admission.EngineFacts) { f.UsernsRemap = true }), host("userns_unsupported")},
		{"SELinux", engine(func(f *admission.EngineFacts) { f.SELinux = true }), host("selinux_unsupported")},
		{"no swap accounting", engine(func(f *admission.EngineFacts) { f.SwapLimit = false }), host("swap_limit_unavailable")},

		{"no pids limit", engine(func(f *admission.EngineFacts) { f.PidsLimit = false }),
			[]refusal{{"engine_capacity", "pids_limit_unavailable", "backend_not_ready", "retry_backend_readiness"}}},
		{"no memory limit", engine(func(f *admission.EngineFacts) { f.MemoryLimit = false }), capacity},
		{"one CPU", engine(func(f *admission.EngineFacts) { f.CPUs = 1 }), capacity},
		{"a byte less than 2 GiB", engine(func(f *admission.EngineFacts) { f.MemoryBytes = 2147483647 }), capacity},

		{"no digest", configured(""), unconfigured},
		{"a tag", configured("standard-code:latest"), unconfigured},
		{"name and digest", configured("standard-code@" + digest), unconfigured},
		{"a bare digest", configured(digest[7:]), unconfigured},
		{"a truncated digest", configured(digest[:70]), unconfigured},
		{"a digest and a character", configured(digest + "0"), unconfigured},
		{"a digest and a newline", configured(digest + "\n"), unconfigured},
		{"a digest in upper case", configured(strings.ToUpper(digest)), unconfigured},
		{"another algorithm", configured("sha512:" + digest[7:]), unconfigured},

		{"image absent", image(func(f *admission.ImageFacts) { f.Present = false }),
			[]refusal{{"image_present", "image_unavailable", "image_unavailable", "build_or_load_fixture_image"}}},

		{"image for Windows", image(func(f *admission.ImageFacts) { f.OS = "windows" }), unsafe},
		{"image of another architecture", image(func(f *admission.ImageFacts) { f.Arch = "arm64" }), unsafe},
		{"image without an entrypoint", image(func(f *admission.ImageFacts) { f.Entrypoint = nil }), unsafe},
		{"another entrypoint", image(func(f *admission.ImageFacts) { f.Entrypoint = []string{"/bin/sh"} }), unsafe},
		{"an entrypoint with arguments", image(func(f *admission.ImageFacts) { f.Entrypoint = append(f.Entrypoint, "-x") }), unsafe},
		{"an entrypoint with a prefix", image(func(f *admission.ImageFacts) { f.Entrypoint = append([]string{"/tini"}, f.Entrypoint...) }), unsafe},
		{"a default command", image(func(f *admission.ImageFacts) { f.Cmd = []string{"x"} }), unsafe},
		{"a variable", image(func(f *admission.ImageFacts) { f.Env = []string{"LD_PRELOAD=/x.so"} }), unsafe},
		{"PATH alone", image(func(f *admission.ImageFacts) { f.Env = []string{"PATH=/bin"} }), unsafe},
		{"a volume", image(func(f *admission.ImageFacts) { f.Volumes = []string{"/data"} }), unsafe},
		{"a port", image(func(f *admission.ImageFacts) { f.Ports = []string{"80/tcp"} }), unsafe},
		{"a build trigger", image(func(f *admission.ImageFacts) { f.OnBuild = []string{"RUN x"} }), unsafe},
		{"a health check", image(func(f *admission.ImageFacts) { f.Healthcheck = true }), unsafe},
		{"a foreign label", image(func(f *admission.ImageFacts) { f.Labels["maintainer"] = "x" }), unsafe},

		{"runner v1", image(func(f *admission.ImageFacts) {
			f.Labels["cyberagent.runner-protocol"] = "standard-code-docker-runner.v1"
		}), outdated},
		{"runner of the future", image(func(f *admission.ImageFacts) {
			f.Labels["cyberagent.runner-protocol"] = "standard-code-docker-runner.v3"
		}), outdated},
		{"no runner label", image(func(f *admission.ImageFacts) { f.Labels = nil }), outdated},

		{"Run of another kind", theRun(func(r *run.Run) { r.Kind = "chat" }), ineligible},
		{"Run paused", theRun(func(r *run.Run) { r.Status = "paused" }), ineligible},
		{"Run closed", theRun(func(r *run.Run) { r.Status = "closed" }), ineligible},

		{"profile none", theRun(func(r *run.Run) { r.Profile.Profile = "none" }), profile},
		{"profile local", theRun(func(r *run.Run) { r.Profile.Profile = "local" }), profile},
		{"profile unknown", theRun(func(r *run.Run) { r.Profile.Profile = "Docker" }), profile},

		{"permission read_only", theRun(func(r *run.Run) { r.Permission.Permission = "read_only" }), permission},
		{"permission approval", theRun(func(r *run.Run) { r.Permission.Permission = "approval" }), permission},
		{"permission full_access, which is wider", theRun(func(r *run.Run) { r.Permission.Permission = "full_access" }), permission},
		{"permission debug, which is wider", theRun(func(r *run.Run) { r.Permission.Permission = "debug" }), permission},

		{"no Drydock", dry(func(f *admission.DrydockFacts) { *f = admission.DrydockFacts{} }), notReady},
		{"Drydock preparing", dry(func(f *admission.DrydockFacts) { f.Drydock.Status = "preparing" }), notReady},
		{"Drydock delivered", dry(func(f *admission.DrydockFacts) { f.Drydock.Status = "delivered" }), notReady},
		{"Drydock quarantined", dry(func(f *admission.DrydockFacts) { f.Drydock.Status, f.Drydock.Reason = "recovery_required", "x" }), notReady},
		{"Drydock cleaned", dry(func(f *admission.DrydockFacts) { f.Drydock.Status = "cleaned" }), notReady},
		{"an older generation", func(e *admission.Evidence) { e.Requested.Generation = 3 },
			[]refusal{{"drydock_ready", "generation_stale", "generation_stale", "use_current_generation"}}},
		{"a generation of the future", func(e *admission.Evidence) { e.Requested.Generation = 5 },
			[]refusal{{"drydock_ready", "generation_stale", "generation_stale", "use_current_generation"}}},
		{"another Checkpoint", func(e *admission.Evidence) { e.Requested.Checkpoint = "ckpt_3" },
			[]refusal{{"drydock_ready", "checkpoint_stale", "checkpoint_stale", "use_current_checkpoint"}}},
		{"no Checkpoint", func(e *admission.Evidence) { e.Requested.Checkpoint = "" },
			[]refusal{{"drydock_ready", "checkpoint_stale", "checkpoint_stale", "use_current_checkpoint"}}},
		{"a dependency that the image lacks", func(e *admission.Evidence) { e.Dependencies = asksFor("v1.2.0") },
			[]refusal{{"dependencies", "dependencies_missing", "dependencies_missing", "rebuild_project_image"}}},
		{"a dependency at another version", func(e *admission.Evidence) { e.Dependencies, e.Image.Labels = asksFor("v1.2.0"), holds("v1.1.0") },
			[]refusal{{"dependencies", "dependencies_missing", "dependencies_missing", "rebuild_project_image"}}},
		{"a record that nobody can read", image(func(f *admission.ImageFacts) { f.Labels["cyberagent.project"] = "{}" }),
			[]refusal{{"image_profile", "image_profile_unsafe", "backend_not_ready", "rebuild_fixture_image"}}},
		{"files drifted", dry(func(f *admission.DrydockFacts) { f.Drifted, f.Drift = true, []string{"a.go"} }),
			[]refusal{{"drydock_ready", "drydock_drifted", "drydock_drifted", "checkpoint_or_rewind"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := evidence()
			c.change(&e)
			if got := refusals(t, e); !slices.Equal(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestEachFactAllows(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*admission.Evidence){
		"Docker Desktop that the operator allowed": func(e *admission.Evidence) { e.Engine.Desktop, e.AllowDesktop = true, true },
		"containerd": func(e *admission.Evidence) { e.Engine.Engine = "containerd" },
		"an arm64 host": func(e *admission.Evidence) {
			e.Engine.Architecture, e.Engine.HostArch, e.Image.Arch = "arm64", "arm64", "arm64"
		},
		"more than is needed": func(e *admission.Evidence) { e.Engine.CPUs, e.Engine.MemoryBytes = 64, 1<<40 },
		"no cgroup namespace": func(e *admission.Evidence) { e.Engine.PrivateCgroup = false },
		"a project's image that has everything": func(e *admission.Evidence) {
			e.Dependencies, e.Image.Labels = asksFor("v1.2.0"), holds("v1.2.0")
		},
		"an image by its other id": func(e *admission.Evidence) { e.Image.ID = "sha256:" + strings.Repeat("f", 64) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := evidence()
			change(&e)
			if got := refusals(t, e); len(got) != 0 {
				t.Errorf("refused: %+v", got)
			}
		})
	}
}

// everythingWrong has every refusal that can hold at once while the engine
// answers and the image is there.
func everythingWrong() admission.Evidence {
	e := evidence()
	e.Gates = admission.Gates{}
	e.Run.Kind, e.Run.Profile.Profile, e.Run.Permission.Permission = "chat", "none", "read_only"
	*e.Engine = admission.EngineFacts{
		Engine: "docker", Reachability: "reachable", OSType: "windows", Desktop: true, Rootless: true, UsernsRemap: true, SELinux: true,
	}
	e.Image.Env, e.Image.Labels = []string{"A=b"}, nil
	e.Drydock.Drydock.Status, e.Drydock.Drifted = "recovery_required", true
	*e.Requested = admission.Requested{}
	return e
}

// TestAllBlockersAreReportedInTheContractsOrder holds the order of the table of
// contract section 4.
func TestAllBlockersAreReportedInTheContractsOrder(t *testing.T) {
	t.Parallel()
	reasons := func(e admission.Evidence) []fault.Code {
		var out []fault.Code
		for _, r := range refusals(t, e) {
			out = append(out, r.reason)
		}
		return out
	}

	unreachable := everythingWrong()
	unreachable.Engine.Reachability = "unreachable"
	unreachable.Image.Configured = ""
	absent := everythingWrong()
	absent.Image.Present = false

	for _, c := range []struct {
		name string
		e    admission.Evidence
		want []fault.Code
	}{
		{"everything", everythingWrong(), []fault.Code{
			"feature_disabled",
			"api_unsupported",
			"platform_unsupported",
			"host_os_unsupported", "host_os_unsupported", "userns_unsupported", "userns_unsupported", "selinux_unsupported", "swap_limit_unavailable",
			"pids_limit_unavailable", "resource_capacity_insufficient",
			"image_profile_unsafe", "runner_protocol_outdated",
			"run_not_eligible", "profile_mismatch", "permission_mismatch",
			"drydock_not_ready", "generation_stale", "checkpoint_stale", "drydock_drifted",
		}},
		{"engine unreachable: nothing is said about it or its images", unreachable, []fault.Code{
			"feature_disabled",
			"daemon_unreachable",
			"image_unconfigured",
			"run_not_eligible", "profile_mismatch", "permission_mismatch",
			"drydock_not_ready", "generation_stale", "checkpoint_stale", "drydock_drifted",
		}},
		{"image absent: nothing is said about its configuration", absent, []fault.Code{
			"feature_disabled",
			"api_unsupported",
			"platform_unsupported",
			"host_os_unsupported", "host_os_unsupported", "userns_unsupported", "userns_unsupported", "selinux_unsupported", "swap_limit_unavailable",
			"pids_limit_unavailable", "resource_capacity_insufficient",
			"image_unavailable",
			"run_not_eligible", "profile_mismatch", "permission_mismatch",
			"drydock_not_ready", "generation_stale", "checkpoint_stale", "drydock_drifted",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := reasons(c.e); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestEveryFaultOfAnImageIsNamed(t *testing.T) {
	t.Parallel()
	e := evidence()
	*e.Image = admission.ImageFacts{
		Configured: digest, Present: true, OS: "plan9", Arch: "mips", Entrypoint: []string{"/bin/sh"}, Cmd: []string{"x"}, Env: []string{"A=b", "C=d"},
		Volumes: []string{"/v"}, Ports: []string{"1/tcp", "2/tcp", "3/tcp"}, OnBuild: []string{"RUN x"}, Healthcheck: true,
		Labels: map[string]string{"cyberagent.runner-protocol": "standard-code-docker-runner.v2", "x": "y"},
	}
	detail := admission.Evaluate(e)[0].Detail
	for _, part := range []string{
		`os "plan9"`, `architecture "mips"`, `"/bin/sh"`, "a default command", "2 environment variables", "1 volume", "3 exposed ports",
		"1 build trigger", "a health check", `label "x"`,
	} {
		if !strings.Contains(detail, part) {
			t.Errorf("%q does not name %q", detail, part)
		}
	}
	if strings.Contains(detail, "A=b") {
		t.Errorf("%q shows a variable's value", detail)
	}
}

func TestPartsThatWereNotGatheredRefuseNothingButAreIncomplete(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*admission.Evidence){
		"run":       func(e *admission.Evidence) { e.Run = nil },
		"engine":    func(e *admission.Evidence) { e.Engine = nil },
		"image":     func(e *admission.Evidence) { e.Image = nil },
		"drydock":   func(e *admission.Evidence) { e.Drydock = nil },
		"requested": func(e *admission.Evidence) { e.Requested = nil },
	} {
		e := evidence()
		change(&e)
		if e.Complete() {
			t.Errorf("complete without %s", name)
		}
		if got := refusals(t, e); len(got) != 0 {
			t.Errorf("without %s: %+v", name, got)
		}
	}
}

func TestMissingGatesAreNamedAsFlags(t *testing.T) {
	t.Parallel()
	got := admission.Gates{}.Missing()
	want := []string{"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestChecksAreTheFilesInTheContractsOrder reads the source: every variable of
// type Check in a check_*.go file must be in Checks.
func TestChecksAreTheFilesInTheContractsOrder(t *testing.T) {
	t.Parallel()
	want := []string{
		"process_gates", "engine_reachable", "engine_api", "engine_platform", "engine_host", "engine_capacity",
		"image_configured", "image_present", "image_profile", "image_protocol", "dependencies",
		"run_eligible", "run_profile", "run_permission", "drydock_ready",
	}
	var got []string
	for _, c := range admission.Checks() {
		got = append(got, c.ID)
		if c.Evaluate == nil {
			t.Errorf("%s evaluates nothing", c.ID)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}

	files, err := filepath.Glob("check_*.go")
	if err != nil {
		t.Fatal(err)
	}
	var inSource []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			id, ok := checkID(g)
			if !ok {
				continue
			}
			inSource = append(inSource, id)
			if doc := g.Doc.Text(); !strings.Contains(doc, "Fields: ") || !strings.Contains(doc, "Allowed: ") {
				t.Errorf("%s: the comment does not say Fields and Allowed", name)
			}
		}
	}
	slices.Sort(inSource)
	if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(inSource, sorted) {
		t.Errorf("in the files %q\nin Checks  %q", inSource, sorted)
	}
}

// checkID returns the ID of a `var x = Check{ID: "...", ...}`.
func checkID(g *ast.GenDecl) (string, bool) {
	spec, ok := g.Specs[0].(*ast.ValueSpec)
	if !ok || len(spec.Values) != 1 {
		return "", false
	}
	lit, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok {
		return "", false
	}
	if typ, ok := lit.Type.(*ast.Ident); !ok || typ.Name != "Check" {
		return "", false
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "ID" {
			return strings.Trim(kv.Value.(*ast.BasicLit).Value, `"`), true
		}
	}
	return "", true
}

func TestRemediationsAreStableAndHaveAdvice(t *testing.T) {
	t.Parallel()
	want := []admission.Remediation{
		"restart_with_startup_gate", "install_or_start_docker", "install_or_start_containerd", "grant_engine_socket_access",
		"upgrade_engine", "use_linux_containers", "use_supported_engine_host", "retry_backend_readiness", "configure_image_digest",
		"build_or_load_fixture_image", "rebuild_fixture_image", "rebuild_project_image", "use_active_code_run", "select_docker_profile",
		"grant_workspace_access", "create_drydock", "use_current_generation", "use_current_checkpoint", "checkpoint_or_rewind",
	}
	if got := admission.Remediations(); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for _, r := range want {
		if admission.Advice(r) == "" {
			t.Errorf("%s has no advice", r)
		}
	}
	if got := admission.Advice("made_up"); got != "" {
		t.Errorf("an unknown word gives %q", got)
	}
}

func TestErrorNamesTheFirstAndListsAll(t *testing.T) {
	t.Parallel()
	e := evidence()
	e.Run.Profile.Profile = "none"
	one := fault.From(admission.Error(admission.Evaluate(e)))
	if one.Code != "profile_mismatch" || one.Remedy == "" || one.Details["blocked_by"] != "profile_mismatch" ||
		one.Details["remediation"] != "select_docker_profile" {
		t.Errorf("got %+v", one)
	}
	if _, ok := one.Details["all_blockers"]; ok {
		t.Errorf("one refusal lists all: %v", one.Details)
	}
	e.Gates = admission.Gates{}
	two := fault.From(admission.Error(admission.Evaluate(e)))
	if two.Code != "feature_disabled" || !strings.Contains(two.Details["all_blockers"], "feature_disabled: ") ||
		!strings.Contains(two.Details["all_blockers"], "; profile_mismatch: ") {
		t.Errorf("got %+v", two)
	}
	for _, v := range admission.Evaluate(everythingWrong()) {
		if fault.Code(v.Reason).Class() != fault.ClassBlocked && fault.Code(v.Reason).Class() != fault.ClassConflict {
			t.Errorf("%s is not a refusal's code", v.Reason)
		}
	}
}

func TestAdvice_HasTheValuesOfTheCase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(e *admission.Evidence)
		want  []string
	}{
		"a closed gate": {func(e *admission.Evidence) { e.Gates.WorkspaceSandbox = false }, []string{"add --enable-workspace-sandbox to this command"}},
		"a socket of the environment": {func(e *admission.Evidence) {
			e.Engine.Reachability, e.Engine.Endpoint = admission.Unreachable, "docker.socket is /x, from Y"
		}, []string{"docker.socket is /x, from Y"}},
		"an absent image": {func(e *admission.Evidence) { e.Image.Present, e.Image.From = false, "image.docker is from Y" }, []string{"image.docker is from Y"}},
		"an absent image of the project's own": {func(e *admission.Evidence) {
			e.Image.Present, e.Image.From, e.Image.Project, e.Run.Workspace = false, "image.projects is from Y", true, "/src"
		}, []string{"cyberagent fixture build --project /src`", "below image.projects", "image.projects is from Y"}},
		"a paused Run":          {func(e *admission.Evidence) { e.Run.Status = run.Paused }, []string{"cyberagent run resume run_1"}},
		"another profile":       {func(e *admission.Evidence) { e.Run.Profile.Profile = run.ProfileNone }, []string{"cyberagent run profile run_1 docker"}},
		"another permission":    {func(e *admission.Evidence) { e.Run.Permission.Permission = run.ReadOnly }, []string{"cyberagent run permission run_1 workspace_access"}},
		"no Drydock":            {func(e *admission.Evidence) { e.Drydock = &admission.DrydockFacts{} }, []string{"cyberagent drydock create run_1"}},
		"a delivered Drydock":   {func(e *admission.Evidence) { e.Drydock.Drydock.Status = drydock.Delivered }, []string{"cyberagent drydock checkpoint run_1"}},
		"a Drydock in doubt":    {func(e *admission.Evidence) { e.Drydock.Drydock.Status = drydock.RecoveryRequired }, []string{"cyberagent drydock status run_1"}},
		"an earlier generation": {func(e *admission.Evidence) { e.Requested.Generation = 1 << 20 }, []string{"--generation ", "--checkpoint ckpt_"}},
		"files that changed":    {func(e *admission.Evidence) { e.Drydock.Drifted = true }, []string{"cyberagent drydock checkpoint run_1"}},
	} {
		e := evidence()
		c.spoil(&e)
		refused := admission.Evaluate(e)
		if len(refused) == 0 {
			t.Errorf("%s is not refused", name)
			continue
		}
		for _, want := range c.want {
			if got := refused[0].Advice; !strings.Contains(got, want) || strings.Contains(got, "RUN") || strings.Contains(got, "DIR") {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestDependencies_TheRemedyNamesTheLockfilesDirectoryInTheSourceAndInTheDrydock(t *testing.T) {
	t.Parallel()
	e := evidence()
	e.Dependencies = asksFor("v1.2.0")
	e.Dependencies.Dir = "sub dir"
	e.Run.Workspace, e.Drydock.Drydock.Place.Root = "/src/mono", "/home/d/tree"
	got := admission.Evaluate(e)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	for _, want := range []string{"sub dir/go.mod names 1 package", "fixture build --project '/src/mono/sub dir'", "--project '/home/d/tree/sub dir'"} {
		if !strings.Contains(got[0].Detail, want) {
			t.Errorf("%q is not in %q", want, got[0].Detail)
		}
	}
	for _, want := range []string{"fixture build --project '/src/mono/sub dir'", "--project '/home/d/tree/sub dir'"} {
		if !strings.Contains(got[0].Advice, want) {
			t.Errorf("%q is not in the advice %q", want, got[0].Advice)
		}
	}
}

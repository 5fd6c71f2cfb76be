package manifest_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/manifest"
)

// golden is the canonical JSON of fixed, written out by hand.
const golden = `{"authority":{"binding_sha256":"b","checkpoint_id":"ckpt_1","drydock_id":"dry_1","engine":"docker","generation":7,` +
	`"image_digest":"sha256:i","permission_revision":3,"profile_revision":2},"command_sha256":"c","expected_facts_sha256":"f",` +
	`"isolation_contract":"standard-code-isolation.v1","limits_sha256":"l","permission":"workspace_access","profile":"docker",` +
	`"protocol_version":"standard-code-docker-runner.v2","run_id":"run_1","seccomp_sha256":"s","stdin_policy":"pipe",` +
	`"timeout_seconds":300,"toolchain":"go","toolchain_sha256":"t"}`

// goldenSHA256 is printf '%s' of golden through sha256sum.
const goldenSHA256 = "eb09d513e14b20726a8fe3080d2039afda36dfbce55577a37d9a68094c75464d"

func authority() manifest.Authority {
	return manifest.Authority{
		Drydock: "dry_1", Generation: 7, Checkpoint: "ckpt_1", BindingSHA256: "b", ProfileRevision: 2, PermissionRevision: 3,
		Engine: "docker", ImageDigest: "sha256:i",
	}
}

func fixed() manifest.Manifest {
	return manifest.Manifest{
		Protocol: "standard-code-docker-runner.v2", Run: "run_1", CommandSHA256: "c", Toolchain: "go", TimeoutSeconds: 300,
		Stdin: "pipe", Profile: "docker", Permission: "workspace_access", Authority: authority(),
		Contract: "standard-code-isolation.v1", SeccompSHA256: "s", FactsSHA256: "f", ToolchainSHA256: "t", LimitsSHA256: "l",
	}
}

func mustCommand(t *testing.T, change func(*command.Input)) command.Command {
	t.Helper()
	in := command.Input{Toolchain: "go", Args: []string{"test", "./..."}, Purpose: "offline tests"}
	if change != nil {
		change(&in)
	}
	c, err := command.New(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEncodingAndDigestAreStable(t *testing.T) {
	t.Parallel()
	b, err := fixed().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != golden {
		t.Errorf("got  %s\nwant %s", b, golden)
	}
	if got := fixed().SHA256(); got != goldenSHA256 {
		t.Errorf("digest %s, want %s", got, goldenSHA256)
	}
}

func TestDigestNoticesEveryField(t *testing.T) {
	t.Parallel()
	each(reflect.TypeFor[manifest.Manifest](), nil, func(path []int, name string) {
		m := fixed()
		change(reflect.ValueOf(&m).Elem().FieldByIndex(path))
		if m.SHA256() == goldenSHA256 {
			t.Errorf("%s is not part of the digest", name)
		}
	})
}

// each visits every leaf field.
func each(typ reflect.Type, path []int, visit func([]int, string)) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		p := append(slices.Clone(path), i)
		if f.Type.Kind() == reflect.Struct {
			each(f.Type, p, visit)
			continue
		}
		visit(p, f.Name)
	}
}

func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
	default:
		panic(v.Kind().String())
	}
}

func TestAuthorityDifferencesNoticesEveryField(t *testing.T) {
	t.Parallel()
	// The names of contract section 4, by field, written out by hand.
	names := map[string]string{
		"Drydock": "drydock_id", "Generation": "generation", "Checkpoint": "checkpoint_id", "BindingSHA256": "binding_sha256",
		"ProfileRevision": "profile_revision", "PermissionRevision": "permission_revision", "Engine": "engine", "ImageDigest": "image_digest",
	}
	visited := 0
	each(reflect.TypeFor[manifest.Authority](), nil, func(path []int, name string) {
		visited++
		b := authority()
		change(reflect.ValueOf(&b).Elem().FieldByIndex(path))
		for _, got := range [][]string{authority().Differences(b), b.Differences(authority())} {
			if !slices.Equal(got, []string{names[name]}) {
				t.Errorf("%s: got %q, want %q", name, got, names[name])
			}
		}
	})
	if visited != len(names) {
		t.Errorf("%d fields, this test knows %d", visited, len(names))
	}
	if got := authority().Differences(authority()); len(got) != 0 {
		t.Errorf("equal authorities differ in %q", got)
	}
	if got := authority().Differences(manifest.Authority{}); len(got) != len(names) {
		t.Errorf("only %q differ from nothing", got)
	}
}

func TestCompileBindsTheWholeContract(t *testing.T) {
	t.Parallel()
	c := mustCommand(t, func(in *command.Input) { in.Timeout = 90 * time.Second })
	m := manifest.Compile("run_1", c, isolation.StdinClosed, authority())
	want := manifest.Manifest{
		Protocol: "standard-code-docker-runner.v2", Run: "run_1", CommandSHA256: c.Fingerprint(), Toolchain: "go", TimeoutSeconds: 90,
		Stdin: "closed", Profile: "docker", Permission: "workspace_access", Authority: authority(), Contract: "standard-code-isolation.v1",
		SeccompSHA256: canon.SHA256(isolation.SeccompProfile()), FactsSHA256: isolation.FactsSHA256(isolation.Expected()),
		ToolchainSHA256: m.ToolchainSHA256, LimitsSHA256: m.LimitsSHA256,
	}
	if m != want {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	for name, sum := range map[string]string{"toolchain": m.ToolchainSHA256, "limits": m.LimitsSHA256} {
		if !canon.IsSHA256(sum) {
			t.Errorf("the digest of %s is %q", name, sum)
		}
	}
	if again := manifest.Compile("run_1", c, isolation.StdinClosed, authority()); again.SHA256() != m.SHA256() {
		t.Error("compiling twice gives two manifests")
	}
}

func TestCompileNoticesEveryInput(t *testing.T) {
	t.Parallel()
	base := manifest.Compile("run_1", mustCommand(t, nil), isolation.StdinClosed, authority())
	other := authority()
	other.Checkpoint = "ckpt_2"
	for name, m := range map[string]manifest.Manifest{
		"run":       manifest.Compile("run_2", mustCommand(t, nil), isolation.StdinClosed, authority()),
		"stdin":     manifest.Compile("run_1", mustCommand(t, nil), isolation.StdinPipe, authority()),
		"authority": manifest.Compile("run_1", mustCommand(t, nil), isolation.StdinClosed, other),
		"one byte":  manifest.Compile("run_1", mustCommand(t, func(in *command.Input) { in.Args[1] = "./.../" }), isolation.StdinClosed, authority()),
		"purpose":   manifest.Compile("run_1", mustCommand(t, func(in *command.Input) { in.Purpose += "." }), isolation.StdinClosed, authority()),
		"workdir":   manifest.Compile("run_1", mustCommand(t, func(in *command.Input) { in.Workdir = "a" }), isolation.StdinClosed, authority()),
	} {
		if m.SHA256() == base.SHA256() {
			t.Errorf("another %s gives the same manifest", name)
		}
	}
	node := manifest.Compile("run_1", mustCommand(t, func(in *command.Input) { in.Toolchain = "node" }), isolation.StdinClosed, authority())
	npm := manifest.Compile("run_1", mustCommand(t, func(in *command.Input) { in.Toolchain, in.Args = "node", []string{"npm", "test"} }), isolation.StdinClosed, authority())
	if node.ToolchainSHA256 == base.ToolchainSHA256 || npm.ToolchainSHA256 == node.ToolchainSHA256 {
		t.Error("another program has the same toolchain digest")
	}
}

func TestDecodeReadsVersion2(t *testing.T) {
	t.Parallel()
	d, err := manifest.Decode([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	want := manifest.Decoded{Version: 2, Stdin: "pipe", V2: fixed(), SHA256: goldenSHA256}
	if d != want {
		t.Errorf("got %+v", d)
	}
	if err := d.Executable(); err != nil {
		t.Errorf("not executable: %v", err)
	}
}

func TestDecodeReadsVersion1AsClosedStdinThatIsNeverExecuted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in string }{
		{"bare", `{"protocol_version":"standard-code-docker-runner.v1","run_id":"run_1","command_sha256":"c"}`},
		{"that claims a pipe", `{"protocol_version":"standard-code-docker-runner.v1","run_id":"run_1","command_sha256":"c","stdin_policy":"pipe"}`},
		{"that claims an open stdin", `{"protocol_version":"standard-code-docker-runner.v1","run_id":"run_1","command_sha256":"c","stdin":{"open":true},"attach_stdin":true}`},
		{"with nonsense as stdin", `{"protocol_version":"standard-code-docker-runner.v1","run_id":"run_1","command_sha256":"c","stdin_policy":42}`},
		{"with fields that nobody knows", `{"protocol_version":"standard-code-docker-runner.v1","run_id":"run_1","command_sha256":"c","authority":[1,2],"old":{"x":null}}`},
		{"not canonical", " {\n\"run_id\": \"run_1\", \"command_sha256\":\"c\", \"protocol_version\":\"standard-code-docker-runner.v1\" }\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, err := manifest.Decode([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			want := manifest.Decoded{
				Version: 1, Stdin: "closed", V1: manifest.V1{Run: "run_1", CommandSHA256: "c"}, SHA256: canon.SHA256([]byte(c.in)),
			}
			if d != want {
				t.Errorf("got %+v", d)
			}
			if got := fault.CodeOf(d.Executable()); got != "manifest_v1_read_only" {
				t.Errorf("executable: %q", got)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in string }{
		{"nothing", ``},
		{"no JSON", `x`},
		{"no protocol", `{}`},
		{"version 3", strings.Replace(golden, "runner.v2", "runner.v3", 1)},
		{"version 2 with an unknown field", strings.Replace(golden, `"toolchain":`, `"environment":["A=b"],"toolchain":`, 1)},
		{"version 2 with an unknown field in the authority", strings.Replace(golden, `"engine":`, `"host":"x","engine":`, 1)},
		{"version 2 with a duplicate field", strings.Replace(golden, `"toolchain":`, `"toolchain":"rust","toolchain":`, 1)},
		{"version 2 with a field in another case", strings.Replace(golden, `"toolchain":`, `"Toolchain":"rust","toolchain":`, 1)},
		{"version 2 with trailing data", golden + `{}`},
		{"version 2 without stdin", strings.Replace(golden, `"stdin_policy":"pipe",`, ``, 1)},
		{"version 2 with an unknown stdin", strings.Replace(golden, `"pipe"`, `"tty"`, 1)},
		{"version 2 by its first protocol, version 1 by its second", strings.Replace(golden, `}`, `},"PROTOCOL_VERSION":"standard-code-docker-runner.v2"`, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d, err := manifest.Decode([]byte(c.in)); err == nil {
				t.Errorf("accepted as %+v", d)
			}
		})
	}
}

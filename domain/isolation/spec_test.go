package isolation_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

const (
	adm     = "adm_00000000000000000000000001"
	inst    = "inst_00000000000000000000000002"
	root    = "/home/op/drydocks/a/root"
	mask    = "/home/op/mask/git"
	proto   = "standard-code-docker-runner.v2"
	binding = `{"a":1}`
)

var imageID = "sha256:" + strings.Repeat("ab", 32)

// goodMask are the facts of the product's own mask.
func goodMask() isolation.MaskFacts {
	return isolation.MaskFacts{
		Path: mask, Kind: isolation.Regular, Links: 1, Mode: 0o444,
		Content: []byte("gitdir: .standard-code-git-disabled\n"), ID: isolation.FileID{Dev: 1, Inode: 2},
	}
}

func mustSpec(t *testing.T) isolation.Spec {
	t.Helper()
	s, err := isolation.NewSpec(adm, inst, imageID, root, goodMask(), proto, []byte(binding), isolation.StdinClosed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCheckMask(t *testing.T) {
	t.Parallel()
	if err := isolation.CheckMask(goodMask()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(*isolation.MaskFacts)
		code   fault.Code
	}{
		{"no mask at all", func(m *isolation.MaskFacts) { *m = isolation.MaskFacts{} }, "mask_missing"},
		{"no path", func(m *isolation.MaskFacts) { m.Path = "" }, "mask_missing"},
		{"a directory", func(m *isolation.MaskFacts) { m.Kind = isolation.Directory }, "mask_invalid"},
		{"a symlink", func(m *isolation.MaskFacts) { m.Kind = isolation.Symlink }, "mask_invalid"},
		{"a FIFO", func(m *isolation.MaskFacts) { m.Kind = isolation.OtherFile }, "mask_invalid"},
		{"unknown kind", func(m *isolation.MaskFacts) { m.Kind = "" }, "mask_invalid"},
		{"two links", func(m *isolation.MaskFacts) { m.Links = 2 }, "mask_invalid"},
		{"no link", func(m *isolation.MaskFacts) { m.Links = 0 }, "mask_invalid"},
		{"writable", func(m *isolation.MaskFacts) { m.Mode = 0o644 }, "mask_invalid"},
		{"unreadable", func(m *isolation.MaskFacts) { m.Mode = 0o400 }, "mask_invalid"},
		{"setuid", func(m *isolation.MaskFacts) { m.Mode = 0o4444 }, "mask_invalid"},
		{"empty", func(m *isolation.MaskFacts) { m.Content = nil }, "mask_invalid"},
		{"no newline at the end", func(m *isolation.MaskFacts) { m.Content = m.Content[:len(m.Content)-1] }, "mask_invalid"},
		{"a byte more", func(m *isolation.MaskFacts) { m.Content = append(m.Content, '\n') }, "mask_invalid"},
		{"one byte other", func(m *isolation.MaskFacts) { m.Content[0] = 'G' }, "mask_invalid"},
		{"a real gitdir", func(m *isolation.MaskFacts) { m.Content = []byte("gitdir: /home/op/src/.git/worktrees/a\n") }, "mask_invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := goodMask()
			c.change(&m)
			checkRefusal(t, isolation.CheckMask(m), c.code, "mask")
			_, err := isolation.NewSpec(adm, inst, imageID, root, m, proto, []byte(binding), isolation.StdinClosed)
			checkRefusal(t, err, c.code, "mask")
		})
	}
}

func checkRefusal(t *testing.T, err error, code fault.Code, field string) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != code || e.Field != field || e.Remedy == "" {
		t.Errorf("got %+v, want %s at %q with a remedy", err, code, field)
	}
}

func TestCheckMounts(t *testing.T) {
	t.Parallel()
	ws := isolation.Mount{Source: root, Target: "/workspace", Private: true}
	git := isolation.Mount{Source: mask, Target: "/workspace/.git", ReadOnly: true, Private: true}
	with := func(m isolation.Mount, change func(*isolation.Mount)) isolation.Mount { change(&m); return m }
	source := func(m isolation.Mount, s string) isolation.Mount { m.Source = s; return m }
	target := func(m isolation.Mount, s string) isolation.Mount { m.Target = s; return m }
	for _, c := range []struct {
		name   string
		mounts []isolation.Mount
		code   fault.Code // empty: accepted
	}{
		{"the two of the contract", []isolation.Mount{ws, git}, ""},
		{"the two in the other order", []isolation.Mount{git, ws}, ""},
		{"a source that only begins like the Drydock", []isolation.Mount{ws, source(git, root+"-mask")}, ""},

		{"none", nil, "mount_refused"},
		{"no mask", []isolation.Mount{ws}, "mask_missing"},
		{"no workspace", []isolation.Mount{git}, "mount_refused"},
		{"two workspaces", []isolation.Mount{ws, ws, git}, "mount_refused"},
		{"two masks", []isolation.Mount{ws, git, git}, "mount_refused"},
		{"a third mount", []isolation.Mount{ws, git, target(git, "/etc/passwd")}, "mount_refused"},
		{"the engine's socket", []isolation.Mount{ws, git, source(target(git, "/var/run/docker.sock"), "/var/run/docker.sock")}, "mount_refused"},
		{"below the workspace", []isolation.Mount{ws, git, target(ws, "/workspace/vendor")}, "mount_refused"},
		{"above the workspace", []isolation.Mount{target(ws, "/"), git}, "mount_refused"},
		{"target not clean", []isolation.Mount{target(ws, "/workspace/"), git}, "mount_refused"},
		{"target through ..", []isolation.Mount{ws, target(git, "/workspace/x/../.git")}, "mount_refused"},
		{"empty target", []isolation.Mount{target(ws, ""), git}, "mount_refused"},
		{"workspace read-only", []isolation.Mount{with(ws, func(m *isolation.Mount) { m.ReadOnly = true }), git}, "mount_refused"},
		{"mask writable", []isolation.Mount{ws, with(git, func(m *isolation.Mount) { m.ReadOnly = false })}, "mount_refused"},
		{"workspace shared", []isolation.Mount{with(ws, func(m *isolation.Mount) { m.Private = false }), git}, "mount_refused"},
		{"mask shared", []isolation.Mount{ws, with(git, func(m *isolation.Mount) { m.Private = false })}, "mount_refused"},
		{"the whole host", []isolation.Mount{source(ws, "/"), git}, "mount_refused"},
		{"empty source", []isolation.Mount{source(ws, ""), git}, "mount_refused"},
		{"relative source", []isolation.Mount{source(ws, "drydocks/a"), git}, "mount_refused"},
		{"volume's name", []isolation.Mount{source(ws, "volume"), git}, "mount_refused"},
		{"source with ..", []isolation.Mount{source(ws, "/home/op/../etc"), git}, "mount_refused"},
		{"source with two slashes", []isolation.Mount{source(ws, "//home"), git}, "mount_refused"},
		{"source with a slash at the end", []isolation.Mount{source(ws, root+"/"), git}, "mount_refused"},
		{"source with NUL", []isolation.Mount{source(ws, root+"\x00x"), git}, "mount_refused"},
		{"source that is not UTF-8", []isolation.Mount{source(ws, root+"\xff"), git}, "mount_refused"},
		{"mask inside the Drydock", []isolation.Mount{ws, source(git, root+"/.git")}, "mount_refused"},
		{"mask deep inside the Drydock", []isolation.Mount{ws, source(git, root+"/a/b")}, "mount_refused"},
		{"mask is the Drydock", []isolation.Mount{ws, source(git, root)}, "mount_refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := isolation.CheckMounts(c.mounts)
			if c.code == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			checkRefusal(t, err, c.code, "mounts")
		})
	}
}

func TestNewSpecRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, image, drydock string
		binding              int
		stdin                isolation.Stdin
		code                 fault.Code
	}{
		{"an image by tag", "standard-code:latest", root, 10, "closed", "image_unconfigured"},
		{"an image by name and digest", "x@" + imageID, root, 10, "closed", "image_unconfigured"},
		{"a truncated digest", imageID[:70], root, 10, "closed", "image_unconfigured"},
		{"a digest in upper case", "sha256:" + strings.Repeat("AB", 32), root, 10, "closed", "image_unconfigured"},
		{"no image", "", root, 10, "closed", "image_unconfigured"},
		{"the host's root as Drydock", imageID, "/", 10, "closed", "mount_refused"},
		{"no Drydock", imageID, "", 10, "closed", "mount_refused"},
		{"a Drydock that holds the mask", imageID, "/home/op", 10, "closed", "mount_refused"},
		{"a binding over 96 KiB", imageID, root, 96*1024 + 1, "closed", "internal"},
		{"no stdin policy", imageID, root, 10, "", "internal"},
		{"a TTY as stdin policy", imageID, root, 10, "tty", "internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := isolation.NewSpec(adm, inst, c.image, c.drydock, goodMask(), proto, make([]byte, c.binding), c.stdin)
			if fault.CodeOf(err) != c.code {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

// TestPropertiesAreTheContract holds contract section 2, written out by hand.
func TestPropertiesAreTheContract(t *testing.T) {
	t.Parallel()
	want := isolation.Properties{
		Name:     "standard-code-adm_00000000000000000000000001",
		Labels:   map[string]string{"cyberagent.installation": inst, "cyberagent.admission": adm, "cyberagent.contract": "1"},
		ImageID:  imageID,
		Hostname: "standard-code",

		Entrypoint: []string{"/standard-code/runner"},
		Args:       []string{"standard-code-docker-runner.v2", `{"a":1}`},
		User:       "65532:65532",
		WorkingDir: "/workspace",

		ReadOnlyRoot:    true,
		NoNewPrivileges: true,
		SeccompSHA256:   isolation.SeccompSHA256(),

		NetworkMode: "none", PIDMode: "private", IPCMode: "none", UTSMode: "private", CgroupMode: "private",

		Mounts: []isolation.Mount{
			{Source: root, Target: "/workspace", ReadOnly: false, Private: true},
			{Source: mask, Target: "/workspace/.git", ReadOnly: true, Private: true},
		},
		Tmpfs: []isolation.Tmpfs{
			{Target: "/standard-code/cache", Bytes: 134217728, Inodes: 16384, Mode: 0o700, UID: 65532, GID: 65532, Exec: true},
			{Target: "/dev/shm", Bytes: 67108864, Inodes: 4096, Mode: 0o1777},
		},
		Rlimits: []isolation.Rlimit{{"core", 0}, {"fsize", 16777216}, {"msgqueue", 0}, {"nofile", 4096}},
		MaskedPaths: []string{
			"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
			"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
			"/sys/devices/virtual/powercap", "/sys/firmware",
		},
		ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},

		MemoryBytes: 2147483648, MemorySwapBytes: 2147483648, Pids: 128, NanoCPUs: 2000000000, OOMKill: true,

		Stdin: "closed", LogDriver: "none",
	}
	s := mustSpec(t)
	if got := s.Properties(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if diffs := isolation.Compare(s, want); len(diffs) != 0 {
		t.Errorf("Compare finds %v", diffs)
	}
	pipe, err := isolation.NewSpec(adm, inst, imageID, root, goodMask(), proto, []byte(binding), isolation.StdinPipe)
	if err != nil {
		t.Fatal(err)
	}
	want.Stdin = "pipe"
	if got := pipe.Properties(); !reflect.DeepEqual(got, want) {
		t.Errorf("a pipe changes more than stdin: %+v", isolation.Compare(pipe, s.Properties()))
	}
}

func TestASpecCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	s := mustSpec(t)
	want := s.Properties()
	p := s.Properties()
	p.Mounts[0].Source, p.Args[0], p.Entrypoint[0], p.Tmpfs[0].Bytes, p.Rlimits[0].Value = "/", "x", "x", 1, 1
	p.MaskedPaths[0], p.ReadonlyPaths[0], p.Labels["x"] = "x", "x", "x"
	s.Labels()["y"] = "y"
	isolation.SeccompProfile()[0] = 'x'
	if got := s.Properties(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if isolation.SeccompProfile()[0] != '{' {
		t.Error("the seccomp profile is shared")
	}
}

func TestTheZeroSpecMatchesNoContainer(t *testing.T) {
	t.Parallel()
	if diffs := isolation.Compare(isolation.Spec{}, mustSpec(t).Properties()); len(diffs) == 0 {
		t.Error("the zero Spec equals a real container")
	}
}

func TestMaskSHA256(t *testing.T) {
	t.Parallel()
	// printf 'gitdir: .standard-code-git-disabled\n' | sha256sum
	if got := isolation.MaskSHA256(); got != "d9d814a947037f845b58d9f6c8d86aec878b64e515d17f720a9c08c4e50f7704" {
		t.Errorf("got %s", got)
	}
}

func TestParseWords(t *testing.T) {
	t.Parallel()
	for _, w := range []string{"docker", "containerd"} {
		if e, err := isolation.ParseEngine(w); err != nil || string(e) != w {
			t.Errorf("engine %q: %q, %v", w, e, err)
		}
	}
	for _, w := range []string{"closed", "pipe"} {
		if s, err := isolation.ParseStdin(w); err != nil || string(s) != w {
			t.Errorf("stdin %q: %q, %v", w, s, err)
		}
	}
	for _, w := range []string{"", "auto", "Docker", "podman", "tty", "open"} {
		_, err := isolation.ParseEngine(w)
		checkRefusal(t, err, "invalid_argument", "engine")
		_, err = isolation.ParseStdin(w)
		checkRefusal(t, err, "invalid_argument", "stdin_policy")
	}
}

func TestNamesAreOneForEachAdmission(t *testing.T) {
	t.Parallel()
	if got := isolation.ContainerName("adm_1"); got != "standard-code-adm_1" {
		t.Errorf("got %s", got)
	}
	a, b := isolation.Labels("adm_1", "inst_1"), isolation.Labels("adm_2", "inst_1")
	if maps.Equal(a, b) || len(slices.Collect(maps.Keys(a))) != 3 {
		t.Errorf("labels %v and %v", a, b)
	}
}

// An oven has larger files than a command, and nothing else is different.
func TestAnOvenDiffersFromACommandsContainerByTheSizeOfAFile(t *testing.T) {
	t.Parallel()
	oven, err := isolation.NewOvenSpec(adm, inst, imageID, root, goodMask(), proto, []byte(binding))
	if err != nil {
		t.Fatal(err)
	}
	command := mustSpec(t).Properties()
	diffs := isolation.Compare(oven, command)
	if len(diffs) != 1 || diffs[0].Property != "rlimits" {
		t.Fatalf("differences %+v, want rlimits alone", diffs)
	}
	want := []isolation.Rlimit{{"core", 0}, {"fsize", 1 << 30}, {"msgqueue", 0}, {"nofile", 4096}}
	if got := oven.Properties().Rlimits; !slices.Equal(got, want) {
		t.Errorf("an oven's limits are %v, want %v", got, want)
	}
	if _, err := isolation.NewOvenSpec(adm, inst, "latest", root, goodMask(), proto, []byte(binding)); fault.CodeOf(err) != fault.ImageUnconfigured {
		t.Errorf("an oven of no image: %v", err)
	}

	facts := isolation.Mismatches(isolation.ExpectedInOven(), isolation.Expected())
	if len(facts) != 1 || facts[0] != (isolation.Difference{Property: "rlimit.fsize", Want: "16777216", Got: "1073741824"}) {
		t.Errorf("what is measured in an oven differs by %+v, want rlimit.fsize alone", facts)
	}
}

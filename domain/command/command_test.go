package command_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

// good is an Input that New accepts.
func good() command.Input {
	return command.Input{Toolchain: "go", Args: []string{"test", "./..."}, Purpose: "offline tests"}
}

func mustNew(t *testing.T, in command.Input) command.Command {
	t.Helper()
	c, err := command.New(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNewFillsInTheDefaults(t *testing.T) {
	t.Parallel()
	c := mustNew(t, good())
	if c.Toolchain() != "go" || !slices.Equal(c.Args(), []string{"test", "./..."}) || c.Workdir() != "." ||
		c.Timeout() != 300*time.Second || c.Purpose() != "offline tests" {
		t.Errorf("got %+v", c.Wire())
	}
}

func TestNewAccepts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*command.Input){
		"every toolchain: node":       func(in *command.Input) { in.Toolchain = "node" },
		"every toolchain: python":     func(in *command.Input) { in.Toolchain = "python" },
		"every toolchain: rust":       func(in *command.Input) { in.Toolchain = "rust" },
		"128 arguments":               func(in *command.Input) { in.Args = slices.Repeat([]string{"x"}, 128) },
		"an argument of 4 KiB":        func(in *command.Input) { in.Args = []string{strings.Repeat("x", 4096)} },
		"32 KiB of arguments":         func(in *command.Input) { in.Args = slices.Repeat([]string{strings.Repeat("x", 4096)}, 8) },
		"an empty argument":           func(in *command.Input) { in.Args = []string{"run", ""} },
		"an argument with a dash":     func(in *command.Input) { in.Args = []string{"-v", "--", "-x"} },
		"an argument with shell text": func(in *command.Input) { in.Args = []string{"$(id); `id` | 'x' \"y\" && *"} },
		"an argument in Unicode":      func(in *command.Input) { in.Args = []string{"тест/測試"} },
		"purpose of 1,200 characters": func(in *command.Input) { in.Purpose = strings.Repeat("é", 1200) },
		"workdir":                     func(in *command.Input) { in.Workdir = "pkg/api" },
		"workdir of 1,024 bytes":      func(in *command.Input) { in.Workdir = strings.Repeat("x", 1024) },
		"workdir with dots in names":  func(in *command.Input) { in.Workdir = "..a/b..c/.hidden/.gitignore" },
		"workdir with a dash":         func(in *command.Input) { in.Workdir = "-x" },
		"one second":                  func(in *command.Input) { in.Timeout = time.Second },
		"one hour":                    func(in *command.Input) { in.Timeout = time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := good()
			change(&in)
			if _, err := command.New(in); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	arg := func(s string) func(*command.Input) {
		return func(in *command.Input) { in.Args = []string{"test", s} }
	}
	workdir := func(s string) func(*command.Input) { return func(in *command.Input) { in.Workdir = s } }
	purpose := func(s string) func(*command.Input) { return func(in *command.Input) { in.Purpose = s } }
	timeout := func(d time.Duration) func(*command.Input) { return func(in *command.Input) { in.Timeout = d } }
	toolchain := func(s string) func(*command.Input) { return func(in *command.Input) { in.Toolchain = s } }
	for _, c := range []struct {
		name   string
		change func(*command.Input)
		field  string
	}{
		{"no toolchain", toolchain(""), "toolchain"},
		{"unknown toolchain", toolchain("bash"), "toolchain"},
		{"toolchain in upper case", toolchain("Go"), "toolchain"},
		{"toolchain as a path", toolchain("../go"), "toolchain"},

		{"no argument", func(in *command.Input) { in.Args = nil }, "arg"},
		{"argument 129", func(in *command.Input) { in.Args = slices.Repeat([]string{"x"}, 129) }, "arg"},
		{"argument of 4 KiB and a byte", arg(strings.Repeat("x", 4097)), "arg"},
		{"argument of 5 KiB", arg(strings.Repeat("x", 5*1024)), "arg"},
		{"32 KiB and a byte together", func(in *command.Input) {
			in.Args = append(slices.Repeat([]string{strings.Repeat("x", 4096)}, 8), "x")
		}, "arg"},
		{"argument with NUL", arg("a\x00b"), "arg"},
		{"argument with newline", arg("a\nb"), "arg"},
		{"argument with carriage return", arg("a\rb"), "arg"},
		{"argument with tab", arg("a\tb"), "arg"},
		{"argument with escape", arg("\x1b[2J"), "arg"},
		{"argument with DEL", arg("a\x7f"), "arg"},
		{"argument with U+202E", arg("a\u202eb"), "arg"},
		{"argument with U+200B", arg("a\u200bb"), "arg"},
		{"argument with U+2028", arg("a\u2028b"), "arg"},
		{"argument with a byte order mark", arg("\ufeffa"), "arg"},
		{"argument that is not UTF-8", arg("a\xffb"), "arg"},

		{"workdir ../x", workdir("../x"), "workdir"},
		{"workdir ..", workdir(".."), "workdir"},
		{"workdir a/../../x", workdir("a/../../x"), "workdir"},
		{"workdir a/..", workdir("a/.."), "workdir"},
		{"workdir absolute", workdir("/workspace/pkg"), "workdir"},
		{"workdir /", workdir("/"), "workdir"},
		{"workdir with a slash at the end", workdir("pkg/"), "workdir"},
		{"workdir with two slashes", workdir("a//b"), "workdir"},
		{"workdir ./a", workdir("./a"), "workdir"},
		{"workdir a/.", workdir("a/."), "workdir"},
		{"workdir with a backslash", workdir(`..\x`), "workdir"},
		{"workdir .git", workdir(".git"), "workdir"},
		{"workdir in .git", workdir("a/.git/hooks"), "workdir"},
		{"workdir .GIT", workdir("a/.GiT"), "workdir"},
		{"workdir of 1,025 bytes", workdir(strings.Repeat("x", 1025)), "workdir"},
		{"workdir with NUL", workdir("a\x00b"), "workdir"},
		{"workdir with newline", workdir("a\nb"), "workdir"},
		{"workdir with U+202E", workdir("a\u202eb"), "workdir"},
		{"workdir that is not UTF-8", workdir("a\xff"), "workdir"},

		{"purpose empty", purpose(""), "purpose"},
		{"purpose of 1,201 characters", purpose(strings.Repeat("x", 1201)), "purpose"},
		{"purpose of 1,201 characters of two bytes", purpose(strings.Repeat("é", 1201)), "purpose"},
		{"purpose with newline", purpose("a\nb"), "purpose"},
		{"purpose with U+202E", purpose("a\u202eb"), "purpose"},
		{"purpose that is not UTF-8", purpose("a\xff"), "purpose"},

		{"timeout of half a second", timeout(500 * time.Millisecond), "timeout"},
		{"timeout of a nanosecond", timeout(1), "timeout"},
		{"timeout of one and a half seconds", timeout(1500 * time.Millisecond), "timeout"},
		{"timeout of an hour and a second", timeout(3601 * time.Second), "timeout"},
		{"timeout below zero", timeout(-time.Second), "timeout"},
		{"timeout at the end of its type", timeout(1<<63 - 1), "timeout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := good()
			c.change(&in)
			got, err := command.New(in)
			var e *fault.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a fault", err)
			}
			if e.Code != "invalid_argument" || e.Field != c.field || e.Remedy == "" || e.Msg == "" {
				t.Errorf("got code %q, field %q, remedy %q, sentence %q", e.Code, e.Field, e.Remedy, e.Msg)
			}
			if got.Toolchain() != "" {
				t.Errorf("a refused Command came back: %+v", got.Wire())
			}
		})
	}
}

// A refusal must not carry the very characters that it refuses to a screen.
func TestRefusalsAreSafeToPrint(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a\x1b[2Jb", "a\u202eb", "a\nb", "a\x00b"} {
		for _, in := range []command.Input{
			{Toolchain: bad, Args: []string{"x"}, Purpose: "p"},
			{Toolchain: "go", Args: []string{bad}, Purpose: "p"},
			{Toolchain: "go", Args: []string{"x"}, Purpose: bad},
			{Toolchain: "go", Args: []string{"x"}, Purpose: "p", Workdir: bad},
			{Toolchain: "go", Args: []string{"x"}, Purpose: "p", Workdir: "../" + bad},
		} {
			_, err := command.New(in)
			if err == nil {
				t.Errorf("%+v was accepted", in)
				continue
			}
			if strings.ContainsAny(err.Error(), "\x1b\u202e\n\x00") {
				t.Errorf("the sentence carries what it refuses: %q", err)
			}
		}
	}
}

func TestACommandCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	in := good()
	c := mustNew(t, in)
	before := c.Fingerprint()
	in.Args[0] = "run"
	c.Args()[0] = "run"
	c.Wire().Arguments[0] = "run"
	if c.Fingerprint() != before || c.Args()[0] != "test" {
		t.Error("the Command shares its arguments")
	}
}

func TestFingerprintIsThatOfTheCanonicalEncoding(t *testing.T) {
	t.Parallel()
	c := mustNew(t, good())
	const wire = `{"arguments":["test","./..."],"protocol_version":"standard-code-command.v1","purpose":"offline tests","timeout_seconds":300,"toolchain":"go","working_directory":"."}`
	if got := canon.SHA256([]byte(wire)); c.Fingerprint() != got {
		t.Errorf("fingerprint %s, want that of %s: %s", c.Fingerprint(), wire, got)
	}
	// printf '%s' "$wire" | sha256sum
	if want := "93d063b87b2c77755dabada208e67cf10aac95377629141cb9509faf72ccacb8"; c.Fingerprint() != want {
		t.Errorf("fingerprint %s, want %s", c.Fingerprint(), want)
	}
}

func TestFingerprintChangesWithOneByte(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, change := range map[string]func(*command.Input){
		"nothing":                     func(*command.Input) {},
		"toolchain":                   func(in *command.Input) { in.Toolchain = "rust" },
		"one byte of an argument":     func(in *command.Input) { in.Args[0] = "tesT" },
		"a space at the end":          func(in *command.Input) { in.Args[1] = "./... " },
		"order":                       func(in *command.Input) { slices.Reverse(in.Args) },
		"one more, empty":             func(in *command.Input) { in.Args = append(in.Args, "") },
		"two joined":                  func(in *command.Input) { in.Args = []string{"test./..."} },
		"split otherwise":             func(in *command.Input) { in.Args = []string{"tes", "t./..."} },
		"a look-alike letter":         func(in *command.Input) { in.Args[0] = "t\u0435st" },
		"an accent composed":          func(in *command.Input) { in.Args[0] = "t\u00e9st" },
		"an accent combined":          func(in *command.Input) { in.Args[0] = "te\u0301st" },
		"workdir":                     func(in *command.Input) { in.Workdir = "a" },
		"timeout":                     func(in *command.Input) { in.Timeout = 301 * time.Second },
		"one byte of the purpose":     func(in *command.Input) { in.Purpose = "offline test5" },
		"one byte less of it":         func(in *command.Input) { in.Purpose = "offline test" },
		"purpose moved into argument": func(in *command.Input) { in.Args, in.Purpose = []string{"test", "./...offline"}, " tests" },
	} {
		in := good()
		change(&in)
		f := mustNew(t, in).Fingerprint()
		if other, same := seen[f]; same {
			t.Errorf("%q and %q have one fingerprint", name, other)
		}
		seen[f] = name
	}
	in := good()
	in.Workdir, in.Timeout = ".", 300*time.Second
	if mustNew(t, in).Fingerprint() != mustNew(t, good()).Fingerprint() {
		t.Error("spelling out the defaults changes the fingerprint")
	}
}

func TestDecodeReturnsWhatWireEncoded(t *testing.T) {
	t.Parallel()
	in := command.Input{
		Toolchain: "python", Args: []string{"-m", "pytest", "", "<&>\\\"'", "é😀"}, Workdir: "a/b",
		Timeout: 7 * time.Second, Purpose: "w\u0301hy < & >",
	}
	c := mustNew(t, in)
	b, err := canon.JSON(c.Wire())
	if err != nil {
		t.Fatal(err)
	}
	back, err := command.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if back.Fingerprint() != c.Fingerprint() || !slices.Equal(back.Args(), in.Args) || back.Workdir() != "a/b" ||
		back.Timeout() != 7*time.Second || back.Purpose() != in.Purpose || back.Toolchain() != "python" {
		t.Errorf("got %+v from %s", back.Wire(), b)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	const ok = `{"protocol_version":"standard-code-command.v1","toolchain":"go","arguments":["test"],"working_directory":".","timeout_seconds":5,"purpose":"p"}`
	if _, err := command.Decode([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new string }{
		{"another protocol", "command.v1", "command.v2"},
		{"unknown field", `"purpose"`, `"environment":["A=b"],"purpose"`},
		{"field in another case", `"purpose"`, `"Purpose"`},
		{"duplicate field", `"purpose"`, `"purpose":"q","purpose"`},
		{"trailing data", `"p"}`, `"p"}{}`},
		{"no timeout", `"timeout_seconds":5,`, ``},
		{"timeout 0, which is the default elsewhere", `:5`, `:0`},
		{"timeout below zero", `:5`, `:-5`},
		{"timeout of 3,601 s", `:5`, `:3601`},
		{"timeout that overflows a duration", `:5`, `:9223372036854775807`},
		{"timeout as a fraction", `:5`, `:5.5`},
		{"null arguments", `["test"]`, `null`},
		{"null argument", `["test"]`, `[null,"\u0000"]`},
		{"newline in an argument", `["test"]`, `["a\nb"]`},
		{"half of a surrogate pair", `["test"]`, `["\ud800"]`},
		{"workdir outside", `"."`, `"../x"`},
		{"empty purpose", `:"p"`, `:""`},
		{"no toolchain", `"toolchain":"go",`, ``},
		{"an array", ok, `[]`},
		{"null", ok, `null`},
		{"nothing", ok, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := command.Decode([]byte(strings.Replace(ok, c.old, c.new, 1)))
			if fault.CodeOf(err) != "invalid_argument" {
				t.Errorf("got %v, want invalid_argument", err)
			}
		})
	}
}

// The largest Command must still fit into the runner's second argument, however
// JSON escapes it; the kernel takes at most 128 KiB there.
func TestTheLargestCommandFitsIntoTheRunnersBinding(t *testing.T) {
	t.Parallel()
	for name, char := range map[string]string{"quotes": `"`, "backslashes": `\`, "angles": "<", "four bytes": "😀"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := mustNew(t, command.Input{
				Toolchain: "go",
				Args:      append(slices.Repeat([]string{strings.Repeat(char, 4096/len(char))}, 8), slices.Repeat([]string{""}, 120)...),
				Workdir:   strings.Repeat("x", 1024), Purpose: strings.Repeat(`"`, 1200), Timeout: time.Hour,
			})
			huge := isolation.FileID{Dev: 1<<64 - 1, Inode: 1<<64 - 1}
			b, err := runnerproto.Binding{
				Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRun, Admission: "adm_00000000000000000000000001",
				ManifestSHA256: c.Fingerprint(), CommandSHA256: c.Fingerprint(), Toolchain: string(c.Toolchain()),
				Arguments: c.Args(), Workdir: c.Workdir(), Stdin: isolation.StdinPipe, TimeoutMillis: 3_600_000, GraceMillis: 2_000,
				Quota: runnerproto.Quota{GrowthBytes: 1 << 53, GrowthEntries: 1 << 53, HeadroomBytes: 1 << 53, HeadroomInodes: 1 << 53},
				Host:  isolation.Host{Workspace: huge, Mask: huge},
			}.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > 98_304 {
				t.Errorf("%d bytes", len(b))
			}
			back, err := runnerproto.DecodeBinding(b)
			if err != nil {
				t.Fatal(err)
			}
			if back.Host.Workspace != huge || !slices.Equal(back.Arguments, c.Args()) {
				t.Error("the binding came back as another")
			}
		})
	}
}

// FuzzDecode: what Decode accepts encodes canonically and decodes to the same
// Command, and the checks of New hold for it.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"protocol_version":"standard-code-command.v1","toolchain":"go","arguments":["test"],"working_directory":".","timeout_seconds":5,"purpose":"p"}`))
	f.Add([]byte(`{"protocol_version":"standard-code-command.v1","toolchain":"rust","arguments":["\u00e9","\ud83d\ude00"],"working_directory":"a/b","timeout_seconds":3600,"purpose":"<>&"}`))
	f.Add([]byte(`{"protocol_version":"standard-code-command.v1","toolchain":"node","arguments":["\u202e"],"working_directory":"","timeout_seconds":1,"purpose":"p"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := command.Decode(data)
		if err != nil {
			if fault.CodeOf(err) != "invalid_argument" {
				t.Fatalf("code %q for %q", fault.CodeOf(err), data)
			}
			return
		}
		b, err := canon.JSON(c.Wire())
		if err != nil {
			t.Fatal(err)
		}
		back, err := command.Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if back.Fingerprint() != c.Fingerprint() {
			t.Fatalf("%q and %s have two fingerprints", data, b)
		}
		var shown map[string]any
		if err := json.Unmarshal(b, &shown); err != nil || strings.ContainsAny(string(b), "\n\x1b\u202e\u200b") {
			t.Fatalf("%q is not safe to show: %v", b, err)
		}
	})
}

func TestDifferences_NamesEveryFieldThatDiffersInOrder(t *testing.T) {
	t.Parallel()
	in := command.Input{Toolchain: "go", Args: []string{"test", "./..."}, Workdir: "sub", Timeout: time.Minute, Purpose: "p"}
	c, err := command.New(in)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*command.Input){
		"":          func(*command.Input) {},
		"toolchain": func(in *command.Input) { in.Toolchain = "rust" },
		"arg":       func(in *command.Input) { in.Args = []string{"test ./..."} },
		"workdir":   func(in *command.Input) { in.Workdir = "" },
		"timeout":   func(in *command.Input) { in.Timeout = 0 },
		"purpose":   func(in *command.Input) { in.Purpose = "q" },
		"arg timeout purpose": func(in *command.Input) {
			in.Args, in.Timeout, in.Purpose = []string{"vet"}, time.Second, "q"
		},
	} {
		other := in
		change(&other)
		o, err := command.New(other)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.Differences(o), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

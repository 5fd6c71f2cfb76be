package e2e

import (
	"os"
	"strings"
	"testing"
)

// spoiled is one row: what is wrong with a call that would work otherwise, and
// what both verbs answer. Execute differs where it says so: it knows what was
// approved and looks at that first.
type spoiled struct {
	name    string
	spoil   func(q *request)
	prepare refusal
	execute refusal // the same when empty
}

// argument makes a row about the command's arguments. An argument with NUL
// cannot reach a program on its command line; the domain refuses it with the
// other characters (domain/command).
func argument(name string, args ...string) spoiled {
	return spoiled{
		name: "arguments: " + name, spoil: func(q *request) { q.command.args = args },
		prepare: refusal{"invalid_argument", 2, "arg"},
	}
}

func workdir(name, dir string) spoiled {
	return spoiled{
		name: "working directory: " + name, spoil: func(q *request) { q.command.workdir = dir },
		prepare: refusal{"invalid_argument", 2, "workdir"},
	}
}

// elsewhere is a directory that only the files refuse: the command of the
// execution is another one than the approved one then.
func elsewhere(name, dir string) spoiled {
	s := workdir(name, dir)
	s.execute = refusal{"command_mismatch", 3, "workdir"}
	return s
}

func purpose(name, text string) spoiled {
	return spoiled{
		name: "purpose: " + name, spoil: func(q *request) { q.command.purpose = text },
		prepare: refusal{"invalid_argument", 2, "purpose"},
	}
}

func digest(name, d, code string) spoiled {
	return configured("digest: "+name, "CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST="+d, refusal{code, 3, ""})
}

func configured(name, env string, want refusal) spoiled {
	return spoiled{name: name, spoil: func(q *request) { q.env = []string{env} }, prepare: want}
}

func key(name, k string) spoiled {
	return spoiled{
		name: "operation key: " + name, spoil: func(q *request) { q.key = k },
		prepare: refusal{"invalid_argument", 2, "operation_key"},
	}
}

func gate(name string) spoiled {
	return spoiled{
		name: "without " + name,
		spoil: func(q *request) {
			q.gates = nil
			for _, g := range gates {
				if g != name {
					q.gates = append(q.gates, g)
				}
			}
		},
		prepare: refusal{"feature_disabled", 3, ""},
	}
}

const unknownTail = "_00000000000000000000000000"

// badInputs are the rows; other is another Run of the same ledger with its own
// Drydock.
func badInputs(other *flow) []spoiled {
	many := make([]string, 129)
	for i := range many {
		many[i] = "a"
	}
	rows := []spoiled{
		digest("one that the engine does not have", "sha256:"+strings.Repeat("0", 64), "image_unavailable"),
		digest("truncated", lab.digest[:len(lab.digest)-1], "image_unconfigured"),
		digest("a tag", "cyberagent.local/standard-code-fixture:latest", "image_unconfigured"),
		digest("a name with a digest", "cyberagent.local/standard-code-fixture@"+lab.digest, "image_unconfigured"),
		digest("in capitals", "sha256:"+strings.ToUpper(strings.TrimPrefix(lab.digest, "sha256:")), "image_unconfigured"),
		digest("without the algorithm", strings.TrimPrefix(lab.digest, "sha256:"), "image_unconfigured"),

		configured("engine: not there", "CYBERAGENT_DOCKER_SOCKET="+lab.dir+"/nothing.sock", refusal{"daemon_unreachable", 3, ""}),
		configured("engine: of another machine", "CYBERAGENT_DOCKER_SOCKET=tcp://192.0.2.1:2375", refusal{"config_invalid", 2, "docker.socket"}),
		configured("engine: the other one, not there", "CYBERAGENT_ENGINE=containerd", refusal{"daemon_unreachable", 3, ""}),

		{"run: another one", func(q *request) { q.run = other.run }, refusal{"checkpoint_stale", 4, ""}, refusal{"approval_foreign", 3, "preparation"}},
		{"run: unknown", func(q *request) { q.run = "run" + unknownTail }, refusal{"not_found", 2, ""}, refusal{"approval_foreign", 3, "preparation"}},
		{"run: not an id", func(q *request) { q.run = "latest" }, refusal{"invalid_argument", 2, "run"}, refusal{}},

		{"generation: an earlier one", func(q *request) { q.generation = "0" }, refusal{"generation_stale", 4, ""}, refusal{}},
		{"generation: a later one", func(q *request) { q.generation = "2" }, refusal{"generation_stale", 4, ""}, refusal{}},
		{"generation: negative", func(q *request) { q.generation = "-1" }, refusal{"generation_stale", 4, ""}, refusal{}},
		{"generation: not a number", func(q *request) { q.generation = "one" }, refusal{"invalid_argument", 2, "generation"}, refusal{}},

		{"checkpoint: of another Run", func(q *request) { q.checkpoint = other.checkpoint }, refusal{"checkpoint_stale", 4, ""}, refusal{}},
		{"checkpoint: unknown", func(q *request) { q.checkpoint = "ckpt" + unknownTail }, refusal{"checkpoint_stale", 4, ""}, refusal{}},
		{"checkpoint: not an id", func(q *request) { q.checkpoint = "HEAD" }, refusal{"invalid_argument", 2, "checkpoint"}, refusal{}},

		{"toolchain: not of the four", func(q *request) { q.command.toolchain = "sh" }, refusal{"invalid_argument", 2, "toolchain"}, refusal{}},
		{"timeout: too long", func(q *request) { q.command.timeout = 3601 }, refusal{"invalid_argument", 2, "timeout"}, refusal{}},
		{"timeout: zero", func(q *request) { q.more = []string{"--timeout", "0"} }, refusal{"invalid_argument", 2, "timeout"}, refusal{}},
		{"timeout: negative", func(q *request) { q.command.timeout = -1 }, refusal{"invalid_argument", 2, "timeout"}, refusal{}},
		{"timeout: beyond every number of seconds", func(q *request) { q.command.timeout = 1 << 62 }, refusal{"invalid_argument", 2, "timeout"}, refusal{}},

		argument("129", many...),
		argument("none"),
		argument("a newline", "a\nb"),
		argument("a carriage return", "a\rb"),
		argument("an escape", "a\x1b[2Jb"),
		argument("U+202E", "a\u202eb"),
		argument("U+2028", "a\u2028b"),
		argument("not UTF-8", "a\xffb"),
		argument("5 KiB", strings.Repeat("a", 5<<10)),
		argument("33 KiB together", strings.Split(strings.Repeat(strings.Repeat("a", 4<<10)+" ", 9), " ")[:9]...),

		workdir("above the workspace", "../x"),
		workdir("up and down", "sub/../../x"),
		workdir("absolute", "/workspace"),
		workdir("not clean", "sub//deep"),
		workdir("git's own", ".git"),
		workdir("1,025 bytes", strings.Repeat("d/", 512)+"d"),
		elsewhere("missing", "nowhere"),
		elsewhere("a link", "link"),
		elsewhere("through a link", "link/deep"),
		elsewhere("a link out of the workspace", "out"),
		elsewhere("a file", "README.md"),

		purpose("1,201 characters", strings.Repeat("é", 1201)),
		purpose("a newline", "a\nb"),
		purpose("U+202E", "a\u202eb"),

		key("empty", ""),
		key("a space", "a b"),
		key("129 characters", strings.Repeat("k", 129)),
	}
	for _, g := range gates {
		rows = append(rows, gate(g))
	}
	return rows
}

func TestBadInput_IsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustSource(t, map[string]string{"README.md": "a test\n", "sub/deep/file": "x\n"})
	for name, to := range map[string]string{"link": "sub", "out": "/etc"} {
		must(t, os.Symlink(to, source+"/"+name))
	}
	h.mustCommit(t, source)
	f, other := h.MustFlow(t, source), h.MustFlow(t, source)
	a := f.MustApprove(t, python("-c", "pass"))
	for _, row := range badInputs(other) {
		for _, verb := range []string{"prepare", "execute"} {
			t.Run(row.name+" on "+verb, func(t *testing.T) {
				want := row.prepare
				if verb == "execute" && row.execute != (refusal{}) {
					want = row.execute
				}
				q := f.request(verb, a)
				row.spoil(&q)
				f.MustRefuse(t, q, want)
			})
		}
	}
	t.Run("and what was approved still runs", func(t *testing.T) {
		if x := f.MustExecutions(t); len(x) != 0 {
			t.Errorf("a refused call was admitted: %+v", x)
		}
		f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
	})
}

// Flags that are empty or missing never reach the rules about values.
func TestBadInput_MissingFlagsAreNamed(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-c", "pass"))
	whole := f.request("execute", a).args()
	for _, flag := range []string{"generation", "checkpoint", "toolchain", "arg", "purpose", "preparation", "approval", "operation-key"} {
		t.Run("without --"+flag, func(t *testing.T) {
			var args []string
			for i := 0; i < len(whole); i++ {
				if whole[i] == "--"+flag {
					i++
					continue
				}
				args = append(args, whole[i])
			}
			f.MustRefuseCall(t, h, args, refusal{"invalid_argument", 2, strings.ReplaceAll(flag, "-", "_")})
		})
	}
	for name, c := range map[string]struct {
		more  []string
		field string
	}{
		"an empty purpose":       {[]string{"--purpose", ""}, "purpose"},
		"a flag that is unknown": {[]string{"--network", "host"}, ""},
		"a second Run":           {[]string{f.run}, "run"},
	} {
		t.Run(name, func(t *testing.T) {
			f.MustRefuseCall(t, h, append(append([]string{}, whole...), c.more...), refusal{"invalid_argument", 2, c.field})
		})
	}
}

// What the second step would refuse the first refuses, and the line that it prints
// for the second repeats what was asked for.
func TestBadInput_LivesAreRefusedAtOnceAndRepeated(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustScripts(t)
	f := h.MustFlow(t, source)
	p := f.MustPrepare(t, python("-c", "pass"))
	for _, life := range []string{"99999h", "0s", "-1h", "1s"} {
		f.MustRefuseCall(t, h, []string{"drydock", "create", f.run, "--life", life}, refusal{"invalid_argument", 2, "life"})
	}
	for _, life := range []string{"0s", "-1s", "25h"} {
		f.MustRefuseCall(t, h, []string{"run", "sandbox", "review", p.ID, "--decision", "approve", "--operation-key", "k", "--expires-in", life},
			refusal{"invalid_argument", 2, "expires_in"})
	}
	fresh := MustAnswer[runView](t, h.call(t, "run", "create", "another", "--workspace", source), 0).ID
	a := h.start(t, "drydock", "create", fresh, "--life", "48h", "--operation-key", "mine").Wait(t)
	if a.code != 0 || !strings.Contains(string(a.stdout), " --life 48h0m0s --operation-key mine\n") {
		t.Errorf("exit status %d, %s%s", a.code, a.stdout, a.stderr)
	}
}

// The same value again leaves approvals as they are.
func TestAuthority_TheSameValueAgainEndsNoApproval(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	a := f.MustApprove(t, python("-c", "pass"))
	p := MustAnswer[runView](t, h.call(t, "run", "profile", f.run, "docker"), 0)
	w := MustAnswer[runView](t, h.call(t, "run", "permission", f.run, "workspace_access"), 0)
	if p.ProfileRevision != 2 || w.PermissionRevision != 2 {
		t.Errorf("the revisions are %d and %d", p.ProfileRevision, w.PermissionRevision)
	}
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, a), 0))
}

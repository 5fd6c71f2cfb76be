package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// verb is how one verb is called on a Run that has an approved command, and what
// it needs. Every verb of the product has a row: the test finds them by asking for
// completions.
type verb struct {
	args           []string
	ledger, engine bool
	begins         bool // makes a ledger where there is none
}

func (f *flow) verbs(a approved) map[string]verb {
	at := f.at(a.command)
	keyed := func(args []string, more ...string) []string {
		return append(append(append([]string{}, args...), "--operation-key", f.key("surroundings")), more...)
	}
	adm := "adm" + unknownTail
	return map[string]verb{
		"run create":                  {args: []string{"another", "--workspace", f.path}, ledger: true, begins: true},
		"run list":                    {ledger: true},
		"run show":                    {args: []string{f.run}, ledger: true},
		"run events":                  {args: []string{f.run}, ledger: true},
		"run pause":                   {args: keyed([]string{f.run}), ledger: true},
		"run resume":                  {args: keyed([]string{f.run}), ledger: true},
		"run close":                   {args: keyed([]string{f.run}), ledger: true},
		"run profile":                 {args: []string{f.run, "docker"}, ledger: true},
		"run permission":              {args: []string{f.run, "workspace_access"}, ledger: true},
		"run sandbox request":         {args: []string{a.prep.ID}, ledger: true},
		"run sandbox review":          {args: keyed([]string{a.prep.ID}, "--decision", "approve"), ledger: true},
		"run sandbox revoke":          {args: keyed([]string{a.prep.ID}), ledger: true},
		"run sandbox list":            {args: []string{f.run}, ledger: true},
		"run sandbox show":            {args: []string{a.prep.ID}, ledger: true},
		"run standard-code readiness": {args: at, ledger: true},
		"run standard-code prepare":   {args: keyed(at), ledger: true, engine: true},
		"run standard-code execute": {
			args: keyed(at, "--preparation", a.prep.ID, "--approval", a.prep.Approval.ID), ledger: true, engine: true,
		},
		"run standard-code status":  {args: []string{f.run}, ledger: true},
		"run standard-code cancel":  {args: []string{"--admission", adm}, ledger: true},
		"run standard-code recover": {args: []string{"--all"}, ledger: true},
		"command-runtime":           {args: []string{f.run}, ledger: true},
		"drydock create":            {args: []string{f.run}, ledger: true},
		"drydock status":            {args: []string{f.run}, ledger: true},
		"drydock use":               {args: []string{f.run}, ledger: true},
		"drydock checkpoint":        {args: keyed([]string{f.run}), ledger: true},
		"drydock log":               {args: []string{f.run}, ledger: true},
		"drydock diff":              {args: []string{f.run}, ledger: true},
		"drydock rewind":            {args: []string{f.run, "--checkpoint", f.checkpoint}, ledger: true},
		"drydock undo":              {args: []string{f.run}, ledger: true},
		"drydock fork":              {args: keyed([]string{f.run}), ledger: true},
		"drydock deliver":           {args: keyed([]string{f.run}), ledger: true},
		"drydock repair":            {args: keyed(append([]string{f.run}, gates...)), ledger: true, engine: true},
		"drydock cleanup":           {args: []string{f.run}, ledger: true},
		"drydock gc":                {ledger: true},
		"drydock reconcile":         {ledger: true},
		"ledger prune":              {ledger: true},
		"engine list":               {},
		"engine check":              {ledger: true, begins: true}, // an engine that is away is its answer
		"fixture build":             {engine: true},
		"fixture inspect":           {engine: true},
		"fixture list":              {engine: true},
		"fixture remove":            {args: []string{lab.digest}, engine: true},
		"selftest crash":            {args: []string{"--repeat", "1", "--edge", "start:intent"}, engine: true},
		"selftest soak":             {args: []string{"--kills", "1"}, engine: true},
		"selftest report":           {args: []string{"nothing.json"}},
		"config show":               {},
		"config path":               {},
		"doctor":                    {},
		"version":                   {},
	}
}

// unconfigured are verbs that read no configuration.
var unconfigured = []string{"version", "selftest report"}

// offered asks for the completions of a verb group, as a shell does.
func (h *home) offered(t *testing.T, path ...string) (verbs []string) {
	t.Helper()
	out := h.start(t, append(path, "--generate-shell-completion")...).Wait(t)
	for line := range strings.Lines(string(out.stdout)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		verbs = append(verbs, name)
	}
	return verbs
}

func TestSurroundings_EveryVerbRefusesBadOnesWithACodeAndARemedy(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	good := f.MustApprove(t, python("-c", "pass"))
	verbs := f.verbs(good)

	t.Run("every verb has a row", func(t *testing.T) {
		var found []string
		var walk func(path []string)
		walk = func(path []string) {
			name := strings.Join(path, " ")
			if _, leaf := verbs[name]; leaf {
				found = append(found, name)
				return
			}
			below := h.offered(t, path...)
			if len(below) == 0 {
				t.Errorf("the verb %q has no row", name)
			}
			for _, v := range below {
				if v != "completion" && v != "help" {
					walk(append(slices.Clone(path), v))
				}
			}
		}
		walk(nil)
		if len(found) != len(verbs) {
			t.Errorf("%d of %d rows are verbs: %v", len(found), len(verbs), found)
		}
	})

	// Each row spoils one thing; a verb that it does not concern is passed over.
	newer := f.copyState(t, "newer")
	must(t, tool("python3", "-c", "import sqlite3,sys; d=sqlite3.connect(sys.argv[1]); d.execute(\"insert into bun_migrations(name,group_id) values('999',99)\"); d.commit()",
		filepath.Join(newer, "ledger.db")))
	badFile := f.copyState(t, "badfile")
	must(t, os.WriteFile(filepath.Join(badFile, "config.yaml"), []byte("engine: docker\ndokcer:\n  socket: /x\n"), 0o600))
	full := filepath.Join(h.dir, "full")
	must(t, os.Mkdir(full, 0o700))
	must(t, tool("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", full))
	t.Cleanup(func() { must(t, tool("umount", full)) })
	_ = os.WriteFile(filepath.Join(full, "filler"), make([]byte, 128<<10), 0o600) // fails when it is full
	foreign := filepath.Join(h.dir, "foreign")
	must(t, os.Mkdir(foreign, 0o500))
	must(t, os.Chmod(h.dir, 0o755))
	t.Cleanup(func() {
		if _, err := os.Lstat(filepath.Join(h.dir, "mistyped")); !os.IsNotExist(err) {
			t.Errorf("a mistyped home was made: %v", err)
		}
	})

	ledger := func(v verb) bool { return v.ledger }
	configured := func(verb) bool { return true }
	for _, c := range []struct {
		name     string
		env      []string
		flags    []string
		ordinary bool
		concerns func(verb) bool
		code     string
		status   int
	}{
		{"a configuration with an unknown key", []string{"CYBERAGENT_HOME=" + badFile}, nil, false, configured, "config_invalid", 2},
		{"an address on another machine", nil, []string{"--docker-socket", "tcp://192.0.2.1:2375"}, false, configured, "config_invalid", 2},
		{"a ledger of a newer program", []string{"CYBERAGENT_HOME=" + newer}, nil, false, ledger, "ledger_schema_newer", 3},
		{"a directory in the ledger's place", []string{"CYBERAGENT_LEDGER_PATH=" + h.dir}, nil, false, ledger, "ledger_unusable", 1},
		{"a full disk", []string{"CYBERAGENT_HOME=" + full}, nil, false, func(v verb) bool { return v.begins }, "disk_full", 1},
		{"a home that was never begun", []string{"CYBERAGENT_HOME=" + filepath.Join(h.dir, "mistyped")}, nil, false, func(v verb) bool { return v.ledger && !v.begins }, "not_found", 2},
		{"a home that is another user's", []string{"CYBERAGENT_HOME=" + foreign}, nil, true, configured, "config_invalid", 2},
		{"no engine", []string{"CYBERAGENT_DOCKER_SOCKET=" + filepath.Join(h.dir, "nothing")}, nil, false, func(v verb) bool { return v.engine }, "daemon_unreachable", 3},
		{"a file in the engine's place", []string{"CYBERAGENT_DOCKER_SOCKET=" + filepath.Join(h.state, "ledger.db")}, nil, false, func(v verb) bool { return v.engine }, "daemon_unreachable", 3},
		{"an unknown flag", nil, nil, false, configured, "invalid_argument", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := f.MustState(t)
			for name, v := range verbs {
				if !c.concerns(v) || (c.code == "config_invalid" && slices.Contains(unconfigured, name)) {
					continue
				}
				args := append([]string{"--output", "json"}, c.flags...)
				args = append(append(args, strings.Fields(name)...), v.args...)
				if c.name == "an unknown flag" {
					args = append(args, "--surprise")
				}
				g := h.with(c.env...)
				if c.ordinary {
					g.sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: operator, Gid: operator}}
				}
				refusedSomehow(t, name, g.start(t, args...).Wait(t), c.code, c.status)
			}
			if after := f.MustState(t); !slices.Equal(before.tree, after.tree) || before.ledger != after.ledger || !slices.Equal(before.files, after.files) {
				t.Errorf("something changed:\n%+v\n%+v", before, after)
			}
		})
	}

	t.Run("an unknown verb", func(t *testing.T) {
		for _, args := range [][]string{{"surprise"}, {"run", "surprise"}, {"run", "standard-code", "surprise"}, {"drydock", "surprise"}} {
			refusedSomehow(t, strings.Join(args, " "), h.call(t, args...), "invalid_argument", 2)
		}
	})
	// A standard output that is closed before the start reads as /dev/null to every
	// Go program; one that cannot take the answer is an error.
	t.Run("a standard output that takes nothing", func(t *testing.T) {
		for _, name := range []string{"run list", "run show", "run events", "run sandbox show", "run standard-code status", "run standard-code readiness", "drydock status", "drydock log", "config show", "doctor", "version"} {
			// The pipe's reader is gone before the program begins.
			for _, way := range []string{`exec "$0" "$@" >/dev/full`, `exec 3> >(:); wait $!; exec "$0" "$@" >&3`} {
				args := append([]string{"-c", way, lab.binary, "--output", "json"}, append(strings.Fields(name), verbs[name].args...)...)
				refusedSomehow(t, name, h.exec(t, "/bin/bash", args...).Wait(t), "internal", 1)
			}
		}
	})
	// What was approved before all this still runs, once.
	f.MustFollow(t, MustAnswer[resultView](t, f.Execute(t, good), 0))
}

// refusedSomehow checks a refusal without its field: one line of error.v1, with a
// remedy, and nothing of the program's insides.
func refusedSomehow(t *testing.T, name string, a answer, code string, status int) {
	t.Helper()
	if a.code != status || len(a.stdout) != 0 {
		t.Errorf("%s: exit status %d, want %d\n%s%s", name, a.code, status, a.stdout, a.stderr)
		return
	}
	if strings.Contains(string(a.stderr), "goroutine ") || strings.Count(string(a.stderr), "\n") != 1 {
		t.Errorf("%s: not one line of error: %s", name, a.stderr)
		return
	}
	e := MustDecode[errorView](t, a.stderr)
	if e.Code != code || e.Message == "" || e.Remediation == "" {
		t.Errorf("%s: %+v, want %s and a remedy", name, e, code)
	}
}

// copyState copies the installation's files, without its Drydocks.
func (h *home) copyState(t *testing.T, name string) string {
	t.Helper()
	to := filepath.Join(h.dir, name)
	must(t, os.MkdirAll(to, 0o700))
	for _, file := range []string{"ledger.db", "ledger.db-wal"} {
		b, err := os.ReadFile(filepath.Join(h.state, file))
		if os.IsNotExist(err) {
			continue
		}
		must(t, err)
		must(t, os.WriteFile(filepath.Join(to, file), b, 0o600))
	}
	return to
}

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"syscall"
	"testing"
)

// request is one call of prepare or execute, in pieces that a test can spoil.
type request struct {
	verb                        string // prepare or execute
	run, generation, checkpoint string
	command                     command
	gates                       []string
	preparation, approval, key  string
	env                         []string // what the process is configured with beside the lab's
	more                        []string // flags at the end
}

// request is what would work now.
func (f *flow) request(verb string, a approved) request {
	return request{
		verb: verb, run: f.run, checkpoint: f.checkpoint, generation: strconv.FormatInt(f.generation, 10),
		command: a.command, gates: gates, preparation: a.prep.ID, approval: a.prep.Approval.ID, key: f.key("spoiled"),
	}
}

func (q request) args() []string {
	a := []string{"run", "standard-code", q.verb, q.run, "--generation", q.generation, "--checkpoint", q.checkpoint}
	a = append(append(a, q.command.flags()...), q.gates...)
	if q.verb == "execute" {
		a = append(a, "--preparation", q.preparation, "--approval", q.approval)
	}
	return append(append(a, "--operation-key", q.key), q.more...)
}

// refusal is what the contract says about a bad call.
type refusal struct {
	code   string
	status int
	field  string // the input at fault; empty where none is named
}

// MustRefuse sends the request and holds everything against the contract: code,
// exit status, field and remedy, nothing on standard output, nothing started,
// nothing changed.
func (f *flow) MustRefuse(t *testing.T, q request, want refusal) {
	t.Helper()
	f.MustRefuseCall(t, f.with(q.env...), q.args(), want)
}

// MustRefuseCall is MustRefuse for any verb.
func (f *flow) MustRefuseCall(t *testing.T, h *home, args []string, want refusal) {
	t.Helper()
	before := f.MustState(t)
	a := h.call(t, args...)
	checkRefusal(t, a, want)
	if after := f.MustState(t); !reflect.DeepEqual(before, after) {
		t.Errorf("a refused call changed something:\n%+v\n%+v", before, after)
	}
	f.MustHaveNoContainer(t)
}

// checkRefusal looks at the answer alone.
func checkRefusal(t *testing.T, a answer, want refusal) {
	t.Helper()
	if a.code != want.status {
		t.Fatalf("exit status %d, want %d: %s\n%s%s", a.code, want.status, a.line, a.stdout, a.stderr)
	}
	if len(a.stdout) != 0 {
		t.Errorf("a refusal on standard output: %q", a.stdout)
	}
	e := MustDecode[errorView](t, a.stderr)
	if e.Protocol != "error.v1" || e.Code != want.code || e.Field != want.field {
		t.Errorf("refused with %s at %q, want %s at %q: %s", e.Code, e.Field, want.code, want.field, e.Message)
	}
	if e.Message == "" || e.Remediation == "" {
		t.Errorf("a refusal must say what happened and what to do: %+v", e)
	}
}

// state is everything that a refused call must leave as it was.
type state struct {
	ledger string   // every byte of it: Runs, Drydocks, approvals, admissions, events
	tree   []string // the Drydock's files
	files  []string // names in the product's own directories
}

// MustState reads it. The ledger's file is whole when no process has it open.
func (f *flow) MustState(t testing.TB) state {
	t.Helper()
	var s state
	sum := sha256.New()
	for _, name := range []string{"ledger.db", "ledger.db-wal"} {
		b, err := os.ReadFile(filepath.Join(f.state, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	s.ledger = hex.EncodeToString(sum.Sum(nil))
	must(t, filepath.WalkDir(f.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := e.Info()
		if err != nil {
			return err
		}
		st := i.Sys().(*syscall.Stat_t)
		s.tree = append(s.tree, fmt.Sprint(path, i.Mode(), st.Uid, st.Ino, st.Nlink, i.Size(), st.Mtim, st.Ctim))
		return nil
	}))
	for _, pattern := range []string{"*", "owners/*", "scratch/*", "void/*", "mask/*", "locks/*", "drydocks/*", "drydocks/*/*"} {
		names, err := filepath.Glob(filepath.Join(f.state, pattern))
		must(t, err)
		s.files = append(s.files, names...)
	}
	return s
}

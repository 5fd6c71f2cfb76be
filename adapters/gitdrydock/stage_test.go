//go:build linux

package gitdrydock

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// Some tests need another process: one that is another user, or one that dies.
// They run this test binary again with a stage, a function of the table below.
const stageEnv = "CYBERAGENT_TEST_STAGE"

// order is what a stage is told, as JSON in its environment.
type order struct {
	Stage  string
	Home   string
	Source string
	Die    string        // step at which to kill itself
	Place  drydock.Place // of a Drydock made before
	Last   int           // number of the last Checkpoint
	Next   int
	Target int
	Record drydock.Drydock
}

// answer is what a stage prints.
type answer struct {
	Place   drydock.Place
	Capture drydock.Capture
	Changes []drydock.Change
	Usage   drydock.Usage
	Source  drydock.Source
	Remains drydock.Remains
	Rewound drydock.Rewound
	Error   string // the code
	Remedy  string
	Message string
}

var stages = map[string]func(context.Context, *Drydocks, order) (answer, error){
	"create": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		var a answer
		var err error
		if a.Source, err = d.Inspect(ctx, o.Source); err == nil {
			a.Place, a.Capture, err = d.Create(ctx, drydockID(1), checkpointID(1), a.Source)
		}
		return a, err
	},
	"capture": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		c, err := d.Capture(ctx, o.Place, checkpointID(o.Last), checkpointID(o.Next))
		return answer{Capture: c}, err
	},
	"drift": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		c, _, err := d.Drift(ctx, o.Place, checkpointID(o.Last), 100)
		return answer{Changes: c}, err
	},
	"usage": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		u, err := d.Usage(ctx, o.Place.Root)
		return answer{Usage: u}, err
	},
	"clean": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		r, err := d.Clean(ctx, o.Record)
		return answer{Remains: r}, err
	},
	// The rewind's own ids are Next and, for what is unrecorded, the one after it.
	"rewind": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		p, err := d.Plan(ctx, o.Place, checkpointID(o.Last), checkpointID(o.Target), 10)
		if err != nil {
			return answer{}, err
		}
		w, err := d.Rewind(ctx, o.Place, rewindOrder(o, p.Digest), unheard)
		return answer{Rewound: w}, err
	},
	"deliver": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		_, err := d.Deliver(ctx, o.Place, checkpointID(o.Last))
		return answer{}, err
	},
	"verbs": func(ctx context.Context, d *Drydocks, o order) (answer, error) {
		return answer{}, everyVerb(ctx, d, o.Source)
	},
	"mounts": mountStage,
	"full":   fullStage,
	"hidden": hiddenStage,
}

func rewindOrder(o order, digest string) drydock.RewindOrder {
	return drydock.RewindOrder{
		Current: checkpointID(o.Last), Target: checkpointID(o.Target), Next: checkpointID(o.Next), Saved: checkpointID(o.Next + 1), Digest: digest,
	}
}

func TestMain(m *testing.M) {
	raw := os.Getenv(stageEnv)
	if raw == "" {
		code := m.Run()
		_ = os.RemoveAll(templates.root)
		_ = os.RemoveAll(stageBinary.dir)
		os.Exit(code)
	}
	var o order
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		panic(err)
	}
	_ = os.Unsetenv(stageEnv)
	d := New(Config{Home: o.Home})
	d.reached = func(step string) error {
		if step == o.Die {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return nil
	}
	a, err := stages[o.Stage](context.Background(), d, o)
	if err != nil {
		a.Error, a.Message, a.Remedy = codeOf(err), err.Error(), fault.From(err).Remedy
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// stageCommand prepares this test binary for a stage behind an optional prefix
// of other programs.
func stageCommand(t testing.TB, prefix []string, o order) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(o)
	mustDo(t, err)
	args := slices.Concat(prefix, []string{testBinary(t)})
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), stageEnv+"="+string(raw), "GOCOVERDIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	return cmd
}

func runStage(t testing.TB, prefix []string, o order) answer {
	t.Helper()
	out, err := stageCommand(t, prefix, o).Output()
	if err != nil {
		t.Fatalf("stage %s: %v %s", o.Stage, err, out)
	}
	var a answer
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("stage %s: %v in %q", o.Stage, err, out)
	}
	return a
}

// openTemp is a temporary directory that another user can reach.
func openTemp(t testing.TB, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drydock-test-*")
	mustDo(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	mustDo(t, os.Chmod(dir, 0o755))
	mustDo(t, os.Chown(dir, uid, uid))
	return dir
}

var stageBinary struct {
	sync.Once
	dir string
	err error
}

// testBinary is a copy of the running test binary that every user may run.
// Another program makes it: a file that this process had open for writing would
// be busy in a child that is forked meanwhile.
func testBinary(t testing.TB) string {
	t.Helper()
	stageBinary.Do(func() {
		self, err := os.Executable()
		if err == nil {
			stageBinary.dir, err = os.MkdirTemp("", "drydock-test-*")
		}
		if err == nil {
			err = os.Chmod(stageBinary.dir, 0o755)
		}
		if err == nil {
			err = exec.Command("cp", self, filepath.Join(stageBinary.dir, "stage")).Run()
		}
		stageBinary.err = err
	})
	mustDo(t, stageBinary.err)
	return filepath.Join(stageBinary.dir, "stage")
}

const operator = 1001

// asOperator is the prefix that runs a program as an ordinary user. Group 0
// lets it pass a root directory that is closed to others.
func asOperator(t testing.TB) []string { return asUser(t, operator) }

func asUser(t testing.TB, uid int) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test becomes other users: run it as root")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Fatal("this test needs setpriv: install util-linux")
	}
	id := fmt.Sprint(uid)
	return []string{setpriv, "--reuid", id, "--regid", id, "--groups", "0", "--"}
}

// inTree runs a shell script inside a Drydock as uid 65532 of a container
// would: the directory is entered before the user changes, for its parents are
// closed.
func inTree(t testing.TB, root, script string) {
	t.Helper()
	args := append([]string{"-c", `cd "$1" && shift && exec "$@"`, "sh", root}, append(asUser(t, 65532), "sh", "-euc", script)...)
	if out, err := exec.Command("sh", args...).CombinedOutput(); err != nil {
		t.Fatalf("as 65532: %v\n%s\n%s", err, script, strings.TrimSpace(string(out)))
	}
}

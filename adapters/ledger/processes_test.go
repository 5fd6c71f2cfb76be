package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/run"
	"cyberagent/ports"
)

// childVerb makes the test binary another process of the product: it does one
// of children and prints the code of its failure.
const childVerb = "LEDGER_TEST_CHILD"

// children are what another process can be asked to do to the ledger at path.
// n is the process's number.
var children = map[string]func(ctx context.Context, path string, n int) error{
	"open": func(ctx context.Context, path string, _ int) error {
		l, err := Open(ctx, Config{Path: path})
		if err != nil {
			return err
		}
		return l.Close()
	},
	"bump": func(ctx context.Context, path string, _ int) error {
		return inLedger(ctx, path, func(l *Ledger) error {
			for range bumps {
				if err := l.Write(ctx, func(r ports.Records) error { return bump(r, name[id.Run](id.KindRun, 1)) }); err != nil {
					return err
				}
			}
			return nil
		})
	},
	"pair for ever": func(ctx context.Context, path string, _ int) error {
		return inLedger(ctx, path, func(l *Ledger) error {
			for {
				if err := l.Write(ctx, pair); err != nil {
					return err
				}
			}
		})
	},
	"admit": func(ctx context.Context, path string, n int) error {
		return inLedger(ctx, path, func(l *Ledger) error {
			return l.Write(ctx, func(r ports.Records) error {
				a, err := r.Approval(name[id.Approval](id.KindApproval, 1))
				if err != nil {
					return err
				}
				p, err := r.Preparation(a.Preparation)
				if err != nil {
					return err
				}
				aid := name[id.Admission](id.KindAdmission, n)
				used, err := a.Consume(p.ID, aid, t0.Add(time.Minute))
				if err != nil {
					return err
				}
				return errors.Join(r.AddConsumption(used), r.AddAdmission(lifecycle.Admission{
					ID: aid, Run: p.Run, Preparation: p.ID, Approval: a.ID, Permission: run.WorkspaceAccess,
					ManifestSHA256: p.ManifestSHA256, CommandSHA256: p.CommandSHA256, Authority: p.Authority,
					ImageID: digest("e"), Stdin: a.Stdin, OperationKey: "k", CreatedAt: t0,
				}))
			})
		})
	},
	"prune": func(ctx context.Context, path string, _ int) error {
		return inLedger(ctx, path, func(l *Ledger) error {
			return l.Prune(ctx, func(r ports.Records) error {
				all, err := r.Histories(later)
				if err == nil && len(all) == 0 {
					err = fault.New(fault.NotFound, "nothing is over")
				}
				if err != nil {
					return err
				}
				return r.Prune(receipts(all))
			})
		})
	},
	"take the lease": func(ctx context.Context, path string, n int) error {
		return inLedger(ctx, path, func(l *Ledger) error {
			return l.Write(ctx, func(r ports.Records) error {
				_, err := r.TakeLease(name[id.Admission](id.KindAdmission, 1), name[id.Owner](id.KindOwner, 100+n), boot(time.Hour), false)
				return err
			})
		})
	},
}

const bumps = 200

func inLedger(ctx context.Context, path string, fn func(*Ledger) error) error {
	l, err := Open(ctx, Config{Path: path})
	if err != nil {
		return err
	}
	return errors.Join(fn(l), l.Close())
}

// pair writes two rows that belong together.
func pair(r ports.Records) error {
	rid := name[id.Run](id.KindRun, 1)
	v, err := r.Run(rid)
	if err != nil {
		return err
	}
	return errors.Join(bump(r, rid),
		r.AddPermission(rid, run.PermissionSnapshot{Revision: v.Permission.Revision + 1, Permission: run.Debug, At: t0}))
}

func TestMain(m *testing.M) {
	if verb := os.Getenv(childVerb); verb != "" {
		n, _ := strconv.Atoi(os.Getenv(childVerb + "_N"))
		// No child outlives a test that was itself killed for long.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		err := children[verb](ctx, os.Getenv(childVerb+"_PATH"), n)
		cancel()
		if err != nil {
			fmt.Printf("%s\n%v\n", fault.CodeOf(err), err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// process starts another process; out gets what it prints.
func process(t *testing.T, verb, path string, n int) (cmd *exec.Cmd, out *strings.Builder) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, out = exec.Command(exe), new(strings.Builder)
	cmd.Env = append(os.Environ(), childVerb+"="+verb, childVerb+"_PATH="+path, childVerb+"_N="+strconv.Itoa(n))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

// together runs n processes at once and counts the codes that they end with,
// "" for success.
func together(t *testing.T, n int, verb, path string) map[fault.Code]int {
	t.Helper()
	cmds, outs := make([]*exec.Cmd, n), make([]*strings.Builder, n)
	for i := range n {
		cmds[i], outs[i] = process(t, verb, path, i+1)
	}
	codes := map[fault.Code]int{}
	for i, cmd := range cmds {
		err := cmd.Wait()
		code, _, _ := strings.Cut(outs[i].String(), "\n")
		codes[fault.Code(code)]++
		if err != nil {
			t.Logf("process %d: %s", i+1, strings.TrimSpace(outs[i].String()))
		}
	}
	return codes
}

func TestFourProcessesLoseNothingAndSeeNoBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, c.prepared)
	began := time.Now()
	codes := together(t, 4, "bump", path)
	t.Logf("4 processes, %d transactions each: %s", bumps, time.Since(began).Round(time.Millisecond))
	same(t, "codes", codes, map[fault.Code]int{"": 4})
	got := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) })
	if got.Profile.Revision != 1+4*bumps {
		t.Errorf("revision %d, want %d", got.Profile.Revision, 1+4*bumps)
	}
}

func TestOnlyOneOfFourProcessesUsesAnApproval(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, c.approved)
	same(t, "codes", together(t, 4, "admit", path), map[fault.Code]int{"": 1, fault.ApprovalConsumed: 3})
	if n := len(read(t, l, func(r ports.Records) ([]lifecycle.Admission, error) { return r.ListAdmissions("") })); n != 1 {
		t.Errorf("%d admissions", n)
	}
}

func TestOnlyOneOfFourProcessesTakesALease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, c.admitted)
	same(t, "codes", together(t, 4, "take the lease", path), map[fault.Code]int{"": 1, fault.InProgress: 3})
	if got := read(t, l, func(r ports.Records) (lifecycle.Lease, error) { return r.Lease(c.admission.ID) }); got.Generation != 2 {
		t.Errorf("generation %d", got.Generation)
	}
}

func TestFourProcessesMigrateAtOnce(t *testing.T) {
	for what, path := range map[string]string{"a new file": filepath.Join(t.TempDir(), "d", "l.db"), "a baseline": baseline(t)} {
		t.Run(what, func(t *testing.T) {
			same(t, "codes", together(t, 4, "open", path), map[fault.Code]int{"": 4})
			db := raw(t, path)
			want, err := os.ReadFile("testdata/schema/" + history[len(history)-1] + ".sql")
			if err != nil || schemaOf(t, db) != string(want) {
				t.Errorf("another schema (%v)", err)
			}
			if n := count(t, db, "SELECT count(*) FROM bun_migrations"); n != len(history) {
				t.Errorf("%d marks", n)
			}
		})
	}
}

// A process that migrates is killed with SIGKILL at a random moment, again and
// again; whoever opens the ledger next finishes the work.
func TestAKilledMigrationIsFinishedByTheNext(t *testing.T) {
	rnd := rand.New(rand.NewPCG(127, 135))
	began := time.Now()
	together(t, 1, "open", baseline(t))
	whole := time.Since(began)
	killed := 0
	for range 6 {
		path := baseline(t)
		want := rowsIn(t, raw(t, path), "checkpoints", "*")
		for range 3 {
			cmd, _ := process(t, "open", path, 0)
			time.Sleep(time.Duration(rnd.Int64N(int64(whole))))
			_ = cmd.Process.Kill()
			if cmd.Wait() != nil {
				killed++
			}
		}
		open(t, path)
		db := raw(t, path)
		same(t, "rows", rowsIn(t, db, "checkpoints", "*"), want)
		if n := count(t, db, "SELECT count(*) FROM bun_migrations"); n != len(history) {
			t.Errorf("%d marks", n)
		}
	}
	t.Logf("%d of 18 processes were killed at work, which takes %s", killed, whole.Round(time.Millisecond))
}

func TestKilledWritersLeaveNothingHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, c.prepared)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		first, _ := process(t, "pair for ever", path, 1)
		second, _ := process(t, "pair for ever", path, 2)
		time.Sleep(time.Duration(50+rnd.IntN(80)) * time.Millisecond)
		_ = first.Process.Kill()
		write(t, l, pair) // with a survivor at work
		_ = second.Process.Kill()
		_, _ = first.Wait(), second.Wait()
		write(t, l, pair)
		v := read(t, l, func(r ports.Records) (run.Run, error) { return r.Run(c.run.ID) })
		if v.Profile.Revision != v.Permission.Revision {
			t.Fatalf("profile %d, permission %d", v.Profile.Revision, v.Permission.Revision)
		}
	}
	var ok string
	if err := raw(t, path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity: %q, %v", ok, err)
	}
}

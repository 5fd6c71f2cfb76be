package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// smallDisk mounts a tmpfs of its own, for which root is needed.
func smallDisk(t *testing.T, size string) (dir string, mounted bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("NOT ROOT: no small disk can be mounted; the tests with max_page_count stand alone")
		return "", false
	}
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}

// fillDisk takes what room there is, to the last page, again and again: what is
// freed meanwhile is taken as well.
func fillDisk(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for n := 1 << 20; n >= 4096; {
		if _, err := f.Write(make([]byte, n)); errors.Is(err, unix.ENOSPC) {
			n /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOnAFullDiskNothingBeginsAndEverythingBegunIsEnded(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t, "24m")
	if !mounted {
		return
	}
	l := open(t, filepath.Join(dir, "ledger.db"))
	const admissions = 30
	chains := make([]chain, admissions+1)
	for n := 1; n <= admissions; n++ {
		chains[n] = chainOf(t, n)
		c := &chains[n]
		write(t, l, func(r ports.Records) error {
			if err := c.admitted(r); err != nil {
				return err
			}
			for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone} {
				if err := r.Append(c.entry(e), boot(time.Minute)); err != nil {
					return err
				}
			}
			return nil
		})
	}

	fillDisk(t, dir)
	begun := 0
	for refusedOnce := false; !refusedOnce; begun++ {
		c := chainOf(t, admissions+1+begun)
		err := l.Write(t.Context(), c.prepared)
		if refusedOnce = errors.Is(err, fault.DiskFull); err != nil && !refusedOnce {
			t.Fatalf("begin: %v", err)
		}
		if begun > 5000 {
			t.Fatal("the disk is never full")
		}
	}
	for n := 1; n <= admissions; n++ {
		endOne(t, l, &chains[n])
	}
	// What the reserve gave is used up by others: now nothing begins at all.
	fillDisk(t, dir)
	c := chainOf(t, 9000)
	refused(t, l, fault.DiskFull, c.prepared)
	if open := read(t, l, func(r ports.Records) ([]lifecycle.Admission, error) { return r.OpenAdmissions("") }); len(open) != 0 {
		t.Errorf("%d admissions are still open", len(open))
	}

	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	write(t, l, c.prepared)
	if info, err := os.Stat(l.reservePath()); err != nil || info.Size() != reserveBytes {
		t.Errorf("the reserve is not back: %v", err)
	}
	var ok string
	if err := raw(t, l.path).QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Errorf("integrity: %q, %v", ok, err)
	}
}

// endOne ends a running admission as its owner does, one transaction a step.
func endOne(t *testing.T, l *Ledger, c *chain) {
	t.Helper()
	after := c.checkpoint
	after.ID = id.Checkpoint("ckpt_A" + string(c.checkpoint.ID)[6:])
	after.Receipt = id.Receipt("rcpt_A" + string(c.checkpoint.Receipt)[6:])
	after.Generation, after.Origin, after.Admission = 2, drydock.OriginCommand, c.admission.ID
	appendOne := func(e lifecycle.Event) func(ports.Records) error {
		return func(r ports.Records) error { return r.Append(c.entry(e), boot(time.Minute)) }
	}
	lease := lifecycle.Lease{Admission: c.admission.ID, Owner: c.owner, Generation: 1}
	for i, step := range []func(ports.Records) error{
		func(r ports.Records) error { _, err := r.RenewLease(lease, boot(time.Minute)); return err },
		appendOne(lifecycle.ExitDone), appendOne(lifecycle.RemoveIntent), appendOne(lifecycle.RemoveDone),
		func(r ports.Records) error {
			return errors.Join(r.AddCheckpoint(after), r.UpdateDrydock(c.drydock.Advance(after.ID, t0)))
		},
		func(r ports.Records) error {
			return errors.Join(
				r.AddReceipts(c.admission.ID, ports.Receipts{
					Terminal: lifecycle.Finalized, Result: make([]byte, 2048), EndedAt: t0,
					Verdict: result.Verdict{Status: result.Failed, Reason: result.Headroom},
				}),
				appendOne(lifecycle.FinalizeDone)(r), r.ReleaseLease(lease),
				r.AddEvent(ports.Event{Run: c.run.ID, Kind: "admission_finalized", Subject: string(c.admission.ID), At: t0}))
		},
	} {
		if err := l.Write(t.Context(), step); err != nil {
			t.Fatalf("%s step %d: %v", c.admission.ID, i, err)
		}
	}
}

// The disk is full at each entry of the log in turn.
func TestEveryAppendOnAFullDiskIsKeptOrDiskFull(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t, "8m")
	if !mounted {
		return
	}
	l, c := open(t, filepath.Join(dir, "ledger.db")), chainOf(t, 1)
	write(t, l, c.admitted)
	for i, e := range lifecycle.Events() {
		fillDisk(t, dir)
		if err := os.Remove(l.reservePath()); err == nil {
			fillDisk(t, dir) // no reserve either
		}
		err := l.Write(t.Context(), func(r ports.Records) error { return r.Append(c.entry(e), boot(time.Minute)) })
		if err != nil && !errors.Is(err, fault.DiskFull) {
			t.Fatalf("%s: %v", e, err)
		}
		log := read(t, l, func(r ports.Records) ([]lifecycle.Entry, error) { return r.Log(c.admission.ID) })
		if kept := len(log) == i+1; kept != (err == nil) {
			t.Fatalf("%s: kept %v, answered %v", e, kept, err)
		}
		if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			write(t, l, func(r ports.Records) error { return r.Append(c.entry(e), boot(time.Minute)) })
		}
	}
}

func TestANewLedgerOnAFullDiskIsDiskFull(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t, "256k")
	if !mounted {
		return
	}
	fillDisk(t, dir)
	if _, err := Open(t.Context(), Config{Path: filepath.Join(dir, "ledger.db")}); !errors.Is(err, fault.DiskFull) {
		t.Fatalf("got %v", err)
	}
}

func TestAReadOnlyFilesystemIsLedgerUnusable(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t, "16m")
	if !mounted {
		return
	}
	path := filepath.Join(dir, "ledger.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, "new.db"), filepath.Join(dir, "d", "new.db")} {
		if _, err := Open(t.Context(), Config{Path: p}); !errors.Is(err, fault.LedgerUnusable) || fault.From(err).Remedy == "" {
			t.Errorf("%s: %v", filepath.Base(p), err)
		}
	}
}

// The last process that used the ledger has closed it, the disk is full, and
// another one comes to clean up: opening alone needs room.
func TestOnAFullDiskALedgerIsOpenedAndWhatHasBegunIsEnded(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t, "16m")
	if !mounted {
		return
	}
	path := filepath.Join(dir, "ledger.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, func(r ports.Records) error {
		if err := c.admitted(r); err != nil {
			return err
		}
		for _, e := range []lifecycle.Event{lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone} {
			if err := r.Append(c.entry(e), boot(time.Minute)); err != nil {
				return err
			}
		}
		return nil
	})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	fillDisk(t, dir)
	l = open(t, path)
	endOne(t, l, &c)
	fillDisk(t, dir)
	other := chainOf(t, 2)
	refused(t, l, fault.DiskFull, other.prepared)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// Without the reserve and without room it cannot be opened, and says why.
	fillDisk(t, dir)
	if l, err := Open(t.Context(), Config{Path: path}); err == nil {
		_ = l.Close()
		t.Log("it opened with no room at all")
	} else if !errors.Is(err, fault.DiskFull) {
		t.Errorf("got %v", err)
	}
}

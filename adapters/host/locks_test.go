package host_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"cyberagent/adapters/host"
	"cyberagent/domain/id"
)

func owner() id.Owner { return id.Owner(host.IDs{}.New(id.KindOwner)) }

func TestLocks_AHeldOwnerIsNotDeadAndAReleasedOneIs(t *testing.T) {
	t.Parallel()
	l, o := host.NewLocks(t.TempDir()), owner()
	release, err := l.Hold(o)
	if err != nil {
		t.Fatal(err)
	}
	if l.Dead(o) {
		t.Fatal("a held owner is dead")
	}
	release()
	if !l.Dead(o) {
		t.Fatal("a released owner lives")
	}
}

func TestLocks_AnythingThatIsNotAnOwnerIsNeverDead(t *testing.T) {
	t.Parallel()
	l := host.NewLocks(t.TempDir())
	for _, o := range []id.Owner{"", "../x", "own_short"} {
		if l.Dead(o) {
			t.Errorf("%q is dead", o)
		}
		if _, err := l.Hold(o); err == nil {
			t.Errorf("%q was held", o)
		}
	}
}

// A killed process must be seen as dead at once, though its file stays.
func TestLocks_AKilledOwnerIsDeadAtOnce(t *testing.T) {
	if dir := os.Getenv("CYBERAGENT_TEST_HOLD"); dir != "" {
		release, err := host.NewLocks(dir).Hold(id.Owner(os.Getenv("CYBERAGENT_TEST_OWNER")))
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if os.Getenv("CYBERAGENT_TEST_CHILD") != "" {
			startWithEverythingOpen(t, dir)
		}
		_, _ = os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute) // until it is killed
	}
	// A program that it was just starting has all that it had open, for a moment.
	for _, child := range []string{"", "yes"} {
		killedOwner(t, child)
	}
}

func killedOwner(t *testing.T, child string) {
	t.Helper()
	dir, o := t.TempDir(), owner()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocks_AKilledOwnerIsDeadAtOnce$")
	cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_HOLD="+dir, "CYBERAGENT_TEST_OWNER="+string(o), "CYBERAGENT_TEST_CHILD="+child)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	l := host.NewLocks(dir)
	if l.Dead(o) {
		t.Error("a living owner is dead")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !l.Dead(o) {
		t.Errorf("a killed owner lives (child: %q)", child)
	}
}

// startWithEverythingOpen starts a program that keeps the lock's descriptor for a
// while.
func startWithEverythingOpen(t *testing.T, dir string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range fds {
		at, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || filepath.Dir(at) != dir {
			continue
		}
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "0.4")
		cmd.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), at)}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no descriptor of the lock")
}

func TestLocks_SweepRemovesWhatDeadOwnersLeftAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, held, dead, linked := host.NewLocks(dir), owner(), owner(), owner()
	release, err := l.Hold(held)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{string(dead), "notes.txt", "own_short"} {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("notes.txt", at(string(linked))), os.Mkdir(at(string(owner())), 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Sweep(); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) != 5 {
			t.Fatalf("left: %v, %v", left, err)
		}
		if _, err := os.Lstat(at(string(dead))); !os.IsNotExist(err) {
			t.Errorf("a dead owner's file is left: %v", err)
		}
		if l.Dead(held) || !l.Dead(dead) {
			t.Error("a sweep changes who is dead")
		}
	}
	if err := host.NewLocks(at("nothing")).Sweep(); err != nil {
		t.Errorf("without a directory: %v", err)
	}
}

// Sweeps and questions all the time, and owners that come and go: each of them
// gets its lock, keeps it, and is alive as long as it has it.
func TestLocks_NoSweepTakesALivingOwnersFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sweeper := host.NewLocks(dir)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := sweeper.Sweep(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var owners sync.WaitGroup
	for range 4 {
		owners.Go(func() {
			l := host.NewLocks(dir)
			for range 300 {
				o := owner()
				release, err := l.Hold(o)
				if err != nil {
					t.Error(err)
					return
				}
				if l.Dead(o) {
					t.Error("a held owner is dead")
				}
				release()
				if !l.Dead(o) {
					t.Error("a released owner lives")
				}
			}
		})
	}
	owners.Wait()
	close(stop)
	wait.Wait()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The moment between the making of a file and its lock, for certain: a sweep
// takes the file away, and the owner makes it again.
func TestLocks_AFileThatIsSweptBeforeItsLockIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sweeper, o := host.NewLocks(dir), owner()
	swept := 0
	l := host.NewLocksWith(dir, func() {
		if swept++; swept <= 3 {
			if err := sweeper.Sweep(); err != nil {
				t.Error(err)
			}
		}
	})
	release, err := l.Hold(o)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if swept != 4 {
		t.Errorf("it was made %d times, want 4", swept)
	}
	if _, err := os.Lstat(filepath.Join(dir, string(o))); err != nil || sweeper.Dead(o) {
		t.Errorf("the owner is dead: %v", err)
	}
}

// Whoever asks holds the lock for a moment. Nobody takes that for an owner.
func TestLocks_ThoseWhoAskDoNotTakeEachOtherForTheOwner(t *testing.T) {
	t.Parallel()
	dir, o := t.TempDir(), owner()
	if err := os.WriteFile(filepath.Join(dir, string(o)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			l := host.NewLocks(dir)
			for range 100 {
				if !l.Dead(o) {
					t.Error("a dead owner lives")
					return
				}
			}
		})
	}
	wait.Wait()
}

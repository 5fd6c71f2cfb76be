package host_test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

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
		if _, err := host.NewLocks(dir).Hold(id.Owner(os.Getenv("CYBERAGENT_TEST_OWNER"))); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("held\n")
		select {}
	}
	dir, o := t.TempDir(), owner()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLocks_AKilledOwnerIsDeadAtOnce$")
	cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_HOLD="+dir, "CYBERAGENT_TEST_OWNER="+string(o))
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
		t.Error("a killed owner lives")
	}
}

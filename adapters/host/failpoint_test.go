package host_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"cyberagent/adapters/host"
)

// The test runs itself as the process that dies.
func TestFailPoint_EndsTheProcessAtTheNthHitOfItsNameOnly(t *testing.T) {
	if v := os.Getenv("CYBERAGENT_TEST_HITS"); v != "" {
		hits, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		f := host.NewFailPoint("here", 2, 0)
		for range hits {
			f.Hit("here")
			f.Hit("there")
		}
		os.Exit(7)
	}
	t.Parallel()
	for hits, dies := range map[int]bool{1: false, 2: true, 3: true} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFailPoint_EndsTheProcessAtTheNthHitOfItsNameOnly$")
		cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_HITS="+strconv.Itoa(hits))
		_ = cmd.Run() // its state says everything
		ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if !ok {
			t.Fatal("no wait status")
		}
		if killed := ws.Signaled() && ws.Signal() == syscall.SIGKILL; killed != dies || (!dies && ws.ExitStatus() != 7) {
			t.Errorf("%d hits: %v", hits, cmd.ProcessState)
		}
	}
}

func TestFailPoint_WithADelayTheProcessGoesOnForAWhile(t *testing.T) {
	if os.Getenv("CYBERAGENT_TEST_DELAY") != "" {
		host.NewFailPoint("here", 1, 50*time.Millisecond).Hit("here")
		_, _ = os.Stdout.WriteString("going on")
		select {}
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFailPoint_WithADelayTheProcessGoesOnForAWhile$")
	cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_DELAY=1")
	out, _ := cmd.Output()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !ws.Signaled() || string(out) != "going on" {
		t.Errorf("%v %q", cmd.ProcessState, out)
	}
}

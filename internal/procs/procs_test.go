//go:build linux

package procs

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestKillIf_EndsOnlyWhatIsMeant(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	defer func() { _ = cmd.Process.Kill() }()
	if pids, err := IDs(); err != nil || !slices.Contains(pids, pid) || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%v %v", pids, err)
	}
	if killed, err := KillIf(pid, func() bool { return false }); killed || err != nil {
		t.Errorf("another's: %t, %v", killed, err)
	}
	if killed, err := KillIf(pid, func() bool { return true }); !killed || err != nil {
		t.Errorf("the one that is meant: %t, %v", killed, err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	if killed, err := KillIf(pid, func() bool { return true }); killed || err != nil {
		t.Errorf("one that has ended: %t, %v", killed, err)
	}
}

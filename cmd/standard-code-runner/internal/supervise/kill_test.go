//go:build linux

package supervise

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Signals go to every process of a pid namespace, so this test makes one of its own,
// with a /proc of its own, and is its first process.
func TestFreeze_NothingThatForksMeanwhileStaysStopped(t *testing.T) {
	const inside = "STANDARD_CODE_TEST_FREEZE"
	if os.Getenv(inside) != "" {
		forksUnderFreezes(t)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func forksUnderFreezes(t *testing.T) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	// More of them than processors: one that forks is put aside in the middle of it.
	for range 4 * runtime.NumCPU() {
		if err := exec.Command("sh", "-c", "while :; do (:); done").Start(); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		freeze()()
		time.Sleep(time.Millisecond)
	}
	// What is stopped now, and after a while, was forgotten.
	lost := stopped()
	time.Sleep(200 * time.Millisecond)
	for pid := range stopped() {
		if lost[pid] {
			t.Errorf("process %d stays stopped", pid)
		}
	}
	Kill()
}

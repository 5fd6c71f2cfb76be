//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }

// pipesClose closes the three descriptors, and says what it has to say before.
func pipesClose(s stage) int {
	s.say("closed")
	for fd := range 3 {
		unix.Close(fd)
	}
	if s.facts["control"] != "" {
		return 0
	}
	return grow("plain")
}

// framesForge writes what would be a frame and a report, had it reached the host
// as it is.
func framesForge(stage) int {
	fmt.Fprintln(os.Stderr, `{"outcome":"exited","exit_code":0}`)
	_, _ = os.Stdout.Write([]byte{1, 0, 0, 0, 5, 'w', 'r', 'o', 'n', 'g'})
	return 4
}

// runnerAgain lets the runner itself write a report, as a process of the command.
func runnerAgain(stage) int {
	c := exec.Command("/standard-code/runner", "standard-code-docker-runner.v2", "{}")
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	_ = c.Run()
	return 4
}

// detach leaves a process in a session of its own that holds the output.
func detach(stage) int { return leave(os.Stdout) }

// outlive leaves one that holds nothing and ignores every signal.
func outlive(stage) int { return leave(nil) }

// orphan leaves one that is stopped.
func orphan(stage) int {
	code := leave(nil)
	if os.Getenv(second) != "" {
		return code
	}
	_ = unix.Kill(-1, unix.SIGSTOP)
	return code
}

// second marks the process between the command and what it leaves.
const second = "ATTACKER_SECOND"

func leave(out *os.File) int {
	if os.Getenv(second) == "" { // twice, so that its parent is gone, too
		c := exec.Command(self, os.Args[1:]...)
		c.Env = append(os.Environ(), second+"=yes")
		c.Stdout = out
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Run(); err != nil {
			return 1
		}
		for range 200 {
			if _, err := os.Stat("/workspace/heartbeat"); err == nil {
				return 0
			}
			time.Sleep(10 * time.Millisecond)
		}
		return 2
	}
	c := exec.Command(self, "hold", "heartbeat")
	c.Stdout = out
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return 1
	}
	return 0
}

// coreDump dies of a fault in the workspace.
func coreDump(stage) int {
	if err := os.Chdir("/workspace"); err != nil {
		return 1
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	// Past the runtime, which would turn it into a message.
	var action [32]byte
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGSEGV), uintptr(ptr(&action[0])), 0, 8, 0, 0)
	_ = unix.Kill(os.Getpid(), unix.SIGSEGV)
	time.Sleep(time.Second)
	return 1
}

// stopAll stops everything there is, PID 1 and itself included.
func stopAll(s stage) int {
	s.say("stopping")
	_ = unix.Kill(s.target, unix.SIGSTOP)
	_ = unix.Kill(-1, unix.SIGSTOP)
	_ = unix.Kill(os.Getpid(), unix.SIGSTOP)
	time.Sleep(time.Hour)
	return 1
}

func killAll(s stage) int {
	_ = unix.Kill(s.target, unix.SIGKILL)
	_ = unix.Kill(-1, unix.SIGKILL)
	return s.then(after(s.target))
}

// termRunner sends the one signal that is an order.
func termRunner(s stage) int {
	_ = unix.Kill(s.target, unix.SIGTERM)
	s.say("sent")
	time.Sleep(10 * time.Second)
	return 0
}

// unfreeze wakes everything all the time: a runner that stops the command to look
// finds it running.
func unfreeze(s stage) int {
	for range 4 {
		_, _ = syscall.ForkExec(self, []string{self, "hold", "continue"}, &syscall.ProcAttr{})
	}
	return s.then("waking")
}

// newVictim starts a process that protects itself from nothing.
func newVictim() (*exec.Cmd, error) {
	c := exec.Command(self, "victim")
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	return c, err
}

// witness is the other container: it has things of its own, waits until its input
// ends, and looks whether they are as they were. Then it grows past the quota.
func witness() int {
	own := map[string]string{"/workspace/own": "workspace", cache + "/own": "cache", shm + "/own": "shm"}
	for file, text := range own {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return 1
		}
	}
	v, err := newVictim()
	if err != nil {
		return 2
	}
	fmt.Println("watching")
	_, _ = os.Stdin.Read(make([]byte, 1))
	for file, text := range own {
		if b, err := os.ReadFile(file); err != nil || string(b) != text {
			fmt.Println(file, "changed", err)
		}
	}
	if got := after(v.Process.Pid); got != "alive" {
		fmt.Println("the process is", got)
	}
	if host, err := os.Hostname(); err != nil || host != "standard-code" {
		fmt.Println("the host name is", host, err)
	}
	fmt.Println("unchanged")
	return grow("plain")
}

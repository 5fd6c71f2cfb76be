//go:build linux

package supervise

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// niceness of the command and everything that it starts. Inside the container's
// own CPU share this only says that the runner's watcher comes first: a hundred
// busy processes of the command cannot keep it from looking. Nothing without
// privilege can lower it again.
const niceness = 10

// oomScore makes the command the kernel's first choice within the container.
const oomScore = "1000"

// Command is what Start runs.
type Command struct {
	Path string // absolute; no shell, no search
	Args []string
	Env  []string
	Dir  int // descriptor of the working directory
	// Stdin is handed to the command and closed here.
	Stdin *os.File
}

// Process is a started command. Stdout and Stderr end when its last writer does.
type Process struct {
	PID    int
	Stdout *os.File
	Stderr *os.File
}

// Start starts the command in a session of its own. An error means that nothing
// runs.
//
// Stdin goes to the command as it is: were it pumped, bytes would be read that
// nobody may want, and the end of the input would come late or, with a reader
// that waits, never. A pipe's reading end gives no way to reach the host's end.
func (r *Runner) Start(c Command) (*Process, error) {
	defer c.Stdin.Close()
	<-r.ready // from here on no new thread may be needed
	// The directory was proven by descriptor; the child inherits it.
	if err := unix.Fchdir(c.Dir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	defer func() { _ = unix.Chdir("/") }()
	out, outW, err := pipe()
	if err != nil {
		return nil, err
	}
	errR, errW, err := pipe()
	if err != nil {
		unix.Close(outW)
		_ = out.Close()
		return nil, err
	}
	attr := &syscall.ProcAttr{
		Env:   c.Env,
		Files: []uintptr{c.Stdin.Fd(), uintptr(outW), uintptr(errW)},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	pid, err := r.fork(c.Path, append([]string{c.Path}, c.Args...), attr)
	unix.Close(outW)
	unix.Close(errW)
	if err != nil {
		_ = out.Close()
		_ = errR.Close()
		return nil, err
	}
	return &Process{PID: pid, Stdout: out, Stderr: errR}, nil
}

// fork starts the program on a thread that is niced for it and then thrown away,
// for a thread cannot take its niceness back. The memory killer's score is raised
// before and lowered again, so that there is no moment in which the child has the
// runner's.
func (r *Runner) fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	type result struct {
		pid int
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		// Best effort: the command is worse off, never the runner.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
		old, raised := r.adjustOOM(oomScore)
		pid, err := syscall.ForkExec(path, argv, attr)
		if raised {
			r.adjustOOM(old)
		}
		done <- result{pid, err}
	}()
	got := <-done
	return got.pid, got.err
}

// pipe makes a pipe whose reading end the runtime polls, so that a reader holds
// no thread and obeys deadlines. The writing end blocks, as programs expect.
func pipe() (*os.File, int, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, fmt.Errorf("pipe: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		unix.Close(p[0])
		unix.Close(p[1])
		return nil, -1, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(p[0]), "pipe"), p[1], nil
}

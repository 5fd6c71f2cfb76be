//go:build linux

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance/internal/finding"
)

// acts need a container each: they take something away until nothing is left, are
// about how they end, or stop what else is there. Those that live on then grow
// past the quota, holding what they took.
var acts map[string]func(stage) int

func init() {
	acts = map[string]func(stage) int{
		"exhaust-pids": exhaustPids, "exhaust-descriptors": exhaustDescriptors, "exhaust-inotify": exhaustInotify, "exhaust-watches": exhaustWatches,
		"exhaust-memory": exhaustMemory, "exhaust-memory-child": exhaustMemoryChild, "exhaust-signals": exhaustSignals, "exhaust-aio": exhaustAIO,
		"exhaust-cache": fill(cache, 1<<20, 140), "exhaust-cache-inodes": fill(cache, 0, 17_000), "exhaust-shm": fill(shm, 1<<20, 70), "exhaust-shm-inodes": fill(shm, 0, 4200),
		"exhaust-output": exhaustOutput, "exhaust-cpu": exhaustCPU, "exhaust-pipes": exhaustPipes,
		"pipes-close": pipesClose, "frames-forge": framesForge, "runner-again": runnerAgain,
		"detach": detach, "outlive": outlive, "orphan": orphan, "core-dump": coreDump,
		"stop-all": stopAll, "kill-all": killAll, "term-runner": termRunner, "unfreeze": unfreeze,
	}
}

// say writes what came of the act so far.
func (s stage) say(word string) {
	_ = json.NewEncoder(os.Stdout).Encode(finding.Attempt{Attack: s.names[0], Word: word})
}

// then is how an act that lives on ends. Outside of a container it does not grow.
func (s stage) then(word string) int {
	s.say(word)
	if s.facts["control"] != "" {
		return 0
	}
	return grow("plain")
}

// take takes until the kernel says no, or outside of a container until it is past
// what a container allows.
func (s stage) take(past int, one func(int) error) string {
	most := 1 << 24
	if s.facts["control"] != "" {
		most = past
	}
	for n := range most {
		if err := one(n); err != nil {
			return word(err)
		}
	}
	return "allowed"
}

// threads makes as many as the runtime will want, while there are any to be had.
func threads() {
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	for range 12 {
		ready.Add(1)
		done.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			<-release
			runtime.UnlockOSThread()
			done.Done()
		}()
	}
	ready.Wait()
	close(release)
	done.Wait()
}

func exhaustPids(s stage) int {
	threads()
	return s.then(s.take(200, func(int) error {
		_, err := syscall.ForkExec(self, []string{self, "hold"}, &syscall.ProcAttr{})
		return err
	}))
}

func exhaustDescriptors(s stage) int {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY, 0)
	if err != nil {
		return 1
	}
	for range 16 { // as many in other processes
		_, _ = syscall.ForkExec(self, []string{self, "hold", "descriptors"}, &syscall.ProcAttr{})
	}
	var spare []int
	word := s.take(5000, func(int) error {
		fd, err := unix.Dup(null)
		spare = append(spare, fd)
		return err
	})
	for _, fd := range spare[:min(len(spare), 8)] { // to grow with
		unix.Close(fd)
	}
	return s.then(word)
}

func exhaustInotify(s stage) int {
	return s.then(s.take(0, func(int) error { _, err := unix.InotifyInit1(0); return err }))
}

func exhaustWatches(s stage) int {
	const files = 4000
	for n := range files {
		if err := os.WriteFile(path("%s/w%d", cache, n), nil, 0o600); err != nil {
			return 1
		}
	}
	var fd int
	word := s.take(0, func(n int) (err error) {
		if n%files == 0 {
			if fd, err = unix.InotifyInit1(0); err != nil {
				return err
			}
		}
		_, err = unix.InotifyAddWatch(fd, path("%s/w%d", cache, n%files), unix.IN_ALL_EVENTS)
		return err
	})
	return s.then(word)
}

func exhaustMemory(s stage) int {
	s.say("taking")
	for {
		const how = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_POPULATE
		if _, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, how); err != nil {
			return 3
		}
	}
}

func exhaustMemoryChild(s stage) int {
	c := exec.Command(self, "act", "exhaust-memory")
	_ = c.Run()
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return s.then(unix.SignalName(ws.Signal()))
	}
	return s.then(c.ProcessState.String())
}

func exhaustSignals(s stage) int {
	// A thread that blocks it, or each would be taken off the queue at once.
	runtime.LockOSThread()
	var set unix.Sigset_t
	set.Val[0] = 1 << 39
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		return 1
	}
	return s.then(s.take(0, func(int) error {
		var info [128]byte
		*(*int32)(ptr(&info[0])) = 40
		*(*int32)(ptr(&info[8])) = -1
		return system(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.Gettid()), 40, uintptr(ptr(&info[0])))
	}))
}

func exhaustAIO(s stage) int {
	return s.then(s.take(0, func(int) error {
		context := new(uintptr)
		return system(unix.SYS_IO_SETUP, 512, uintptr(ptr(context)))
	}))
}

func exhaustPipes(s stage) int {
	var last [2]int
	word := s.take(0, func(int) error {
		if err := unix.Pipe2(last[:], unix.O_NONBLOCK); err != nil {
			return err
		}
		_, err := unix.FcntlInt(uintptr(last[0]), unix.F_SETPIPE_SZ, 1<<20)
		return err
	})
	return s.then(word)
}

// fill makes files of some size until there is no room.
func fill(dir string, size, past int) func(stage) int {
	return func(s stage) int {
		b := make([]byte, size)
		return s.then(s.take(past, func(n int) error { return os.WriteFile(path("%s/fill%d", dir, n), b, 0o600) }))
	}
}

// exhaustOutput writes to both streams without an end, and grows meanwhile.
func exhaustOutput(s stage) int {
	line := make([]byte, 64<<10)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		go func() {
			for {
				if _, err := f.Write(line); err != nil {
					return
				}
			}
		}()
	}
	time.Sleep(100 * time.Millisecond)
	return grow("plain")
}

func exhaustCPU(s stage) int {
	spinners(60)
	return s.then("spinning")
}

// perSpinner is how many threads one of them has: processes and threads are limited
// together, and a program has some for itself.
const perSpinner = 20

// spinners are threads that are always busy, in as few processes as may be.
func spinners(n int) {
	for range n / perSpinner {
		_, _ = syscall.ForkExec(self, []string{self, "hold", "cpu"}, &syscall.ProcAttr{})
	}
}

// hold is what a process does that is only there to be in the way.
func hold(what string) int {
	switch what {
	case "cpu":
		runtime.GOMAXPROCS(perSpinner + 2)
		for range perSpinner {
			go func() {
				runtime.LockOSThread()
				for n := 0; ; n++ {
				}
			}()
		}
	case "descriptors":
		for {
			if _, err := unix.Dup(0); err != nil {
				break
			}
		}
	case "continue": // wakes everything that is stopped
		for {
			_ = unix.Kill(-1, unix.SIGCONT)
		}
	case "heartbeat":
		signal.Ignore()
		for n := 0; ; n++ {
			_ = os.WriteFile("/workspace/heartbeat", []byte(strconv.Itoa(n)), 0o600)
			time.Sleep(5 * time.Millisecond)
		}
	}
	time.Sleep(time.Hour)
	return 0
}

// The Go runtime would keep files of the cgroup open, which the act env lists.
//go:debug containermaxprocs=0

// Command tool stands for every tool of the test image. Its first argument says
// how it misbehaves.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	f, ok := acts[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown act", os.Args[1])
		os.Exit(99)
	}
	f(os.Args[2:])
}

var acts map[string]func([]string)

func init() {
	acts = map[string]func([]string){
		"exit":      func(a []string) { os.Exit(number(a[0])) },
		"say":       say,
		"env":       env,
		"cat":       func([]string) { io.Copy(os.Stdout, os.Stdin) },
		"forkbomb":  forkbomb,
		"bigfile":   bigfile,
		"files":     files,
		"links":     links,
		"megafiles": megafiles,
		"endless":   endless,
		"lines":     lines,
		"stubborn":  stubborn,
		"sleep":     func(a []string) { time.Sleep(seconds(a[0])) },
		"until":     until,
		"orphan":    orphan,
		"deleted":   deleted,
		"ghosts":    ghosts,
		"forge":     forge,
		"signal":    sendSignals,
		"sigqueue":  sigqueue,
		"peek":      peek,
		"deep":      deep,
		"mode000":   mode000,
		"fillcache": fillcache,
		"memory":    memory,
		"exec":      executes,
		"spin":      spin,
		"killself":  func([]string) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
		"hidewrite": hidewrite,
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}

func seconds(s string) time.Duration { return time.Duration(number(s)) * time.Second }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(90)
	}
}

func say(a []string) {
	fmt.Println(strings.Join(a, " "))
	fmt.Fprintln(os.Stderr, "err:", strings.Join(a, " "))
}

func env([]string) {
	wd, err := os.Getwd()
	check(err)
	fmt.Println("wd", wd)
	fmt.Println("args", os.Args)
	score, _ := os.ReadFile("/proc/self/oom_score_adj")
	fmt.Println("oom", strings.TrimSpace(string(score)))
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigBlk") || strings.HasPrefix(line, "SigIgn") {
			fmt.Print(line)
		}
	}
	nice, _, _ := syscall.RawSyscall(syscall.SYS_GETPRIORITY, 0, 0, 0)
	fmt.Println("nice", 20-int(nice))
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, f := range fds {
		to, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err == nil && !strings.Contains(to, "eventpoll") && !strings.Contains(to, "eventfd") && !strings.Contains(to, "/fd") {
			fmt.Println("fd", f.Name(), strings.SplitN(to, ":", 2)[0])
		}
	}
	for _, e := range os.Environ() {
		fmt.Println("env", e)
	}
}

// forkbomb forks as C does. A Go runtime that is refused a thread gives up, so
// it is kept from wanting one: one P, no collector, no call that hands off.
func forkbomb([]string) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	for {
		syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	}
}

// until says that it runs, and ends when the file is there.
func until(a []string) {
	check(os.WriteFile("started", nil, 0o644))
	for {
		if _, err := os.Lstat(a[0]); err == nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func bigfile(a []string) {
	signal.Ignore() // leave SIGXFSZ to its default
	f, err := os.Create("big")
	check(err)
	b := make([]byte, 1<<20)
	for range number(a[0]) {
		if _, err := f.Write(b); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(7)
		}
	}
}

func files(a []string) {
	for i := range number(a[0]) {
		check(os.WriteFile(fmt.Sprintf("f%05d", i), nil, 0o644))
	}
	time.Sleep(time.Second)
}

func links(a []string) {
	check(os.WriteFile("one", []byte("x"), 0o644))
	for i := range number(a[0]) {
		check(os.Link("one", fmt.Sprintf("l%05d", i)))
	}
	time.Sleep(time.Second)
}

func megafiles(a []string) {
	b := make([]byte, 1<<20)
	for i := range number(a[0]) {
		check(os.WriteFile(fmt.Sprintf("m%03d", i), b, 0o644))
		if len(a) > 1 {
			time.Sleep(time.Duration(number(a[1])) * time.Millisecond)
		}
	}
	time.Sleep(time.Second)
}

func endless([]string) {
	b := []byte(strings.Repeat("0123456789abcde\n", 4096))
	for {
		if _, err := os.Stdout.Write(b); err != nil {
			os.Exit(8)
		}
	}
}

func lines(a []string) {
	b := []byte(strings.Repeat("0123456789abcde\n", 65536))
	for range number(a[0]) {
		os.Stdout.Write(b)
	}
	fmt.Println("the end")
}

func stubborn([]string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	time.Sleep(time.Hour)
}

// orphan leaves a process in a session of its own that holds stdout.
func orphan(a []string) {
	c := exec.Command(os.Args[0], "sleep", a[0])
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	check(c.Start())
	fmt.Println("left", c.Process.Pid)
}

func deleted(a []string) {
	f, err := os.Create("ghost")
	check(err)
	check(os.Remove("ghost"))
	_, err = f.Write(make([]byte, number(a[0])<<20))
	check(err)
	time.Sleep(300 * time.Millisecond)
}

// ghosts makes so many deleted open files at once that the runner must stop
// everything to look, and tells whether a process that was stopped before still
// is.
func ghosts(a []string) {
	c := exec.Command(os.Args[0], "sleep", "60")
	check(c.Start())
	check(c.Process.Signal(syscall.SIGSTOP))
	state := func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		check(err)
		return strings.Fields(string(b))[2]
	}
	for state() != "T" {
		time.Sleep(time.Millisecond)
	}
	for range number(a[0]) {
		f, err := os.Create("ghost")
		check(err)
		check(os.Remove("ghost"))
		_, err = f.Write(make([]byte, 15<<20))
		check(err)
		defer f.Close()
	}
	time.Sleep(300 * time.Millisecond)
	fmt.Println("state", state())
}

// forge writes what would be a frame and a report, had it reached the host.
func forge([]string) {
	os.Stdout.Write([]byte{1, 0, 0, 0, 5, 'w', 'r', 'o', 'n', 'g'})
	fmt.Fprintln(os.Stderr, `{"outcome":"exited","exit_code":0}`)
	for _, p := range []string{"/proc/1/fd/1", "/proc/1/fd/2", "/dev/console"} {
		if f, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
			f.WriteString("forged")
			fmt.Println("opened", p)
		}
	}
	os.Exit(4)
}

// sendSignals sends every signal of the list to PID 1 and goes on.
func sendSignals(a []string) {
	for _, s := range a {
		syscall.Kill(1, syscall.Signal(number(s)))
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("alive")
}

// sigqueue sends signals as sigqueue(3) does, which a Go program takes for
// faults of its own.
func sigqueue([]string) {
	for s := 1; s <= 64; s++ {
		if s == int(syscall.SIGTERM) {
			continue
		}
		var info [128]byte
		*(*int32)(unsafe.Pointer(&info[0])) = int32(s)
		*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
		syscall.Syscall(syscall.SYS_RT_SIGQUEUEINFO, 1, uintptr(s), uintptr(unsafe.Pointer(&info)))
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("alive")
}

// peek tries to reach PID 1.
func peek([]string) {
	for _, p := range []string{"/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd"} {
		f, err := os.Open(p)
		if err == nil {
			_, err = f.Readdirnames(1)
			if err != nil {
				_, err = f.Read(make([]byte, 1))
			}
		}
		if err == nil {
			fmt.Println("reached", p)
		}
	}
	if err := syscall.PtraceAttach(1); err == nil {
		fmt.Println("traced")
	}
	if _, _, e := syscall.Syscall6(syscall.SYS_PRLIMIT64, 1, syscall.RLIMIT_NOFILE, 0, 0, 0, 0); e != syscall.EPERM {
		fmt.Println("prlimit", e)
	}
	fmt.Println("done")
}

func deep(a []string) {
	name := strings.Repeat("d", 200)
	for range number(a[0]) {
		check(os.Mkdir(name, 0o755))
		check(os.Chdir(name))
	}
	check(os.WriteFile("bottom", make([]byte, 1000), 0o644))
}

func mode000([]string) {
	check(os.MkdirAll("shut/inner", 0o755))
	check(os.WriteFile("shut/inner/file", []byte("x"), 0o644))
	check(os.Chmod("shut/inner/file", 0))
	check(os.Chmod("shut/inner", 0))
	check(os.Chmod("shut", 0))
	check(os.Chmod("/workspace", 0))
	time.Sleep(300 * time.Millisecond)
}

func fillcache([]string) {
	b := make([]byte, 1<<20)
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(os.Getenv("TMPDIR"), fmt.Sprint(i)), b, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			time.Sleep(50 * time.Millisecond)
			os.Exit(6)
		}
	}
}

func memory([]string) {
	for {
		_, err := syscall.Mmap(-1, 0, 256<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_POPULATE)
		check(err)
	}
}

// executes proves that a file in the cache can be executed.
func executes([]string) {
	b, err := os.ReadFile("/proc/self/exe")
	check(err)
	p := filepath.Join(os.Getenv("TMPDIR"), "tool")
	check(os.WriteFile(p, b, 0o755))
	out, err := exec.Command(p, "say", "hello").Output()
	check(err)
	os.Stdout.Write(out)
}

// spin keeps many processes busy for a while.
func spin(a []string) {
	if len(a) == 1 {
		for end := time.Now().Add(seconds(a[0])); time.Now().Before(end); {
		}
		return
	}
	for range number(a[1]) {
		exec.Command(os.Args[0], "spin", a[0]).Start()
	}
	time.Sleep(seconds(a[0]))
}

// hidewrite keeps many processes busy and then writes past the quota.
func hidewrite(a []string) {
	for range number(a[0]) {
		exec.Command(os.Args[0], "spin", "30").Start()
	}
	if len(a) > 1 {
		go endless(nil)
	}
	time.Sleep(500 * time.Millisecond)
	b := make([]byte, 1<<20)
	for i := 0; ; i++ {
		os.WriteFile(fmt.Sprintf("h%05d", i), b, 0o644)
	}
}

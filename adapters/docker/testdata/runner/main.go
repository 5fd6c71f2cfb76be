// Command runner stands in for the product's runner in the adapter's tests. Its
// second argument says what to do.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	words := strings.Fields(os.Args[2])
	number := func(i int) int {
		n, err := strconv.Atoi(words[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch words[0] {
	case "exit":
		os.Exit(number(1))
	case "out": // bytes on stdout, bytes on stderr
		fill(os.Stdout, number(1))
		fill(os.Stderr, number(2))
	case "spam":
		for line := bytes.Repeat([]byte("spam "), 4096); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				os.Exit(3)
			}
		}
	case "sleep":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		select {
		case <-c:
			os.Exit(15)
		case <-time.After(time.Duration(number(1)) * time.Millisecond):
		}
	case "stdin":
		n, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintf(os.Stderr, "%d %v", n, err)
	case "noread":
		fmt.Println("ready")
		time.Sleep(time.Duration(number(1)) * time.Millisecond)
	case "eat": // until the memory limit
		for {
			const anonymous = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_POPULATE
			if _, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_READ|syscall.PROT_WRITE, anonymous); err != nil {
				os.Exit(4)
			}
		}
	case "look":
		look()
	default:
		os.Exit(99)
	}
}

func fill(w io.Writer, n int) {
	b := bufio.NewWriterSize(w, 32<<10)
	for i := range n {
		b.WriteByte(byte('a' + i%26))
	}
	b.Flush()
}

// look prints what the container is from inside.
func look() {
	for _, e := range os.Environ() {
		fmt.Println("env", e)
	}
	host, _ := os.Hostname()
	wd, _ := os.Getwd()
	groups, _ := os.Getgroups()
	fmt.Println("hostname", host)
	fmt.Println("wd", wd)
	fmt.Println("id", os.Getuid(), os.Getgid(), groups)
	for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"} {
		link, _ := os.Readlink("/proc/self/ns/" + ns)
		fmt.Println("ns", link)
	}
	show("status", "/proc/self/status")
	show("mount", "/proc/self/mountinfo")
	show("limit", "/proc/self/limits")
	show("mask", "/workspace/.git")
	show("hosts", "/etc/hosts")
	for _, path := range []string{"/standard-code/cache", "/dev/shm"} {
		var s syscall.Statfs_t
		err := syscall.Statfs(path, &s)
		fmt.Println("statfs", path, int64(s.Blocks)*s.Bsize, s.Files, err)
	}
	for _, path := range []string{"/probe", "/workspace/probe", "/standard-code/cache/probe", "/dev/shm/probe", "/dev/probe", "/sys/fs/cgroup/probe"} {
		err := os.WriteFile(path, []byte("#!"), 0o700)
		fmt.Println("write", path, err == nil)
	}
}

func show(word, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		fmt.Println(word, err)
		return
	}
	for line := range strings.Lines(string(b)) {
		fmt.Println(word, strings.TrimRight(line, "\n"))
	}
}

//go:build linux

// What is counted is what was inherited: the runtime must open nothing by itself.
//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command probe stands at a tool's place in the suite's image. Its first argument
// says what to do. It is static and needs nothing of its surroundings.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(98)
	}
	os.Exit(do(os.Args[1], os.Args[2:]))
}

func do(verb string, args []string) int {
	number := func(i int) int {
		if i >= len(args) {
			return 0
		}
		n, err := strconv.Atoi(args[i])
		if err != nil {
			return 0
		}
		return n
	}
	switch verb {
	case "look":
		if err := json.NewEncoder(os.Stdout).Encode(look(args)); err != nil {
			return 97
		}
	case "exit":
		return number(0)
	case "say": // the same on both streams
		_, _ = fmt.Fprintln(os.Stdout, "out", args)
		_, _ = fmt.Fprintln(os.Stderr, "err", args)
	case "fill": // bytes on stdout, bytes on stderr
		fill(os.Stdout, number(0))
		fill(os.Stderr, number(1))
	case "cat":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "count": // leaves one line in the workspace for each time that it runs
		return count(number(0))
	case "sleep": // milliseconds, without a look at stdin; TERM ends it with 15
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("ready")
		select {
		case <-term:
			return 15
		case <-time.After(time.Duration(number(0)) * time.Millisecond):
		}
	case "die": // by a signal
		_ = syscall.Kill(os.Getpid(), syscall.Signal(number(0)))
		time.Sleep(time.Minute)
	case "spam": // until nobody takes it
		for line := make([]byte, 32<<10); ; {
			if _, err := os.Stdout.Write(line); err != nil {
				return 3
			}
		}
	default:
		return consume(verb)
	}
	return 0
}

func fill(w io.Writer, n int) {
	b := bufio.NewWriterSize(w, 32<<10)
	for i := range n {
		_ = b.WriteByte(byte('a' + i%26))
	}
	_ = b.Flush()
}

func count(ms int) int {
	f, err := os.OpenFile("/workspace/count", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, "ran"); err != nil {
		return 1
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	return 0
}

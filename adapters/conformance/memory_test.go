package conformance_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cyberagent/adapters/conformance"
	"cyberagent/adapters/memory"
	"cyberagent/domain/isolation"
)

// memoryEngine is the engine without processes.
func memoryEngine() conformance.Factory {
	host := memory.NewHost(isolation.Docker, memory.Runner{Command: pretend}.Run)
	return conformance.Factory{
		Name:     "in memory",
		Open:     func() (conformance.Engine, error) { return host.Client(), nil },
		NoKernel: "it has no processes and no kernel of its own; what it is for is faults in unit tests of the use cases",
	}
}

// pretend does what the probe does, as far as no kernel is needed.
func pretend(c *memory.Command) int {
	number := func(i int) int {
		if i >= len(c.Args) {
			return 0
		}
		n, _ := strconv.Atoi(c.Args[i])
		return n
	}
	switch c.Args[0] {
	case "exit":
		return number(1)
	case "say":
		_, _ = fmt.Fprintln(c.Stdout, "out", c.Args[1:])
		_, _ = fmt.Fprintln(c.Stderr, "err", c.Args[1:])
	case "fill":
		for to, n := range map[io.Writer]int{c.Stdout: number(1), c.Stderr: number(2)} {
			letters := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)
			_, _ = to.Write(letters[:n])
		}
	case "cat":
		_, _ = io.Copy(c.Stdout, c.Stdin)
	case "count":
		f, err := os.OpenFile(filepath.Join(c.Root, "count"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 1
		}
		_, _ = fmt.Fprintln(f, "ran")
		_ = f.Close()
		return pretend(&memory.Command{Args: []string{"sleep", strconv.Itoa(number(1))}, Stdout: io.Discard, Term: c.Term, Killed: c.Killed})
	case "sleep":
		_, _ = fmt.Fprintln(c.Stdout, "ready")
		select {
		case <-c.Term:
			return 15
		case <-c.Killed:
		case <-time.After(time.Duration(number(1)) * time.Millisecond):
		}
	default:
		return 99
	}
	return 0
}

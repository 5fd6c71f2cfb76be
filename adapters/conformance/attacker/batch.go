//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cyberagent/adapters/conformance/internal/finding"
)

// patience ends an attack that does not end by itself.
const patience = time.Minute

// batch tries attacks one after the other, each in a process of its own, and
// writes one line for each. With the fact "then" it goes on to grow.
func batch(s stage) int {
	names := s.names
	if slices.Equal(names, []string{"all"}) {
		names = nil
		for _, a := range catalogue() {
			names = append(names, a.name)
		}
	}
	out := json.NewEncoder(os.Stdout)
	for _, n := range names {
		if err := out.Encode(finding.Attempt{Attack: n, Word: try(s, n)}); err != nil {
			return 97
		}
	}
	if w := s.facts["then"]; w != "" {
		return grow(w)
	}
	return 0
}

func try(s stage, name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, self, append([]string{"one"}, s.args(name)...)...)
	c.WaitDelay = time.Second // what it leaves behind may hold its output
	word, err := c.Output()
	switch {
	case ctx.Err() != nil:
		return "hangs"
	case c.ProcessState == nil:
		return err.Error()
	case !c.ProcessState.Success():
		return c.ProcessState.String()
	}
	return string(word)
}

// self is this program, also after a change of the root.
const self = "/proc/self/exe"

// state is the letter of a process in its stat file: "R", "S", "T"; empty when it
// is gone or only its exit status is left.
func state(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	if rest == "" || rest[0] == 'Z' || rest[0] == 'X' {
		return ""
	}
	return rest[:1]
}

// after is the word for what a signal did to a process: it is given time to act.
func after(pid int) string {
	for range 20 {
		switch state(pid) {
		case "":
			return "gone"
		case "T":
			return "stopped"
		}
		time.Sleep(5 * time.Millisecond)
	}
	return "alive"
}

// child starts a process with such attributes, and ends it.
func child(attr *syscall.SysProcAttr) error {
	c := exec.Command(self, "victim")
	c.SysProcAttr = attr
	if err := c.Start(); err != nil {
		return err
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	return nil
}

func path(format string, a ...any) string { return fmt.Sprintf(format, a...) }

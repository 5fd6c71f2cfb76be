//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance/internal/finding"
)

// control is PID 1 of new namespaces, root with every capability and without any
// filter. It builds a place with the container's paths below the fact "place", and
// tries every attack that is named there: as root, or as the user that the fact
// "user" gives.
func control(s stage) int {
	if err := build(s.facts["place"], s.facts["group"]); err != nil {
		fmt.Fprintln(os.Stderr, "control:", err)
		return 1
	}
	// Most of the time is waiting for what a signal does.
	lanes := make(chan struct{}, 8)
	var mu sync.Mutex
	var running sync.WaitGroup
	out := json.NewEncoder(os.Stdout)
	for _, n := range s.names {
		lanes <- struct{}{}
		running.Go(func() {
			defer func() { <-lanes }()
			word := apart(s, n)
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(finding.Attempt{Attack: n, Word: word})
		})
	}
	running.Wait()
	return 0
}

// build makes the place and moves there.
func build(place, group string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("none", place, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{"workspace", "standard-code/bin", "standard-code/cache", "dev", "proc", "sys", "etc", "old"} {
		if err := os.MkdirAll(filepath.Join(place, d), 0o755); err != nil {
			return err
		}
	}
	mounts := []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"/dev", "dev", "", unix.MS_BIND | unix.MS_REC, ""},
		{"none", "dev/shm", "tmpfs", 0, "mode=1777"},
		{"none", "proc", "proc", 0, ""},
		{"none", "sys", "sysfs", 0, ""},
		{"none", "sys/fs/cgroup", "tmpfs", 0, ""},
	}
	for _, m := range mounts {
		if err := unix.Mount(m.source, filepath.Join(place, m.target), m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("%s: %w", m.target, err)
		}
	}
	if err := groups(filepath.Join(place, "sys/fs/cgroup"), group); err != nil {
		return err
	}
	if err := unix.PivotRoot(place, filepath.Join(place, "old")); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return unix.Unmount("/old", unix.MNT_DETACH)
}

// groups shows the suite's own control group, as an engine would. A hierarchy would
// be the whole machine's, whatever namespace mounts it.
func groups(at, group string) error {
	for i, dir := range strings.Split(group, ":") {
		target := filepath.Join(at, strconv.Itoa(i))
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(dir, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// apart tries one attack with mounts of its own, and with a victim.
func apart(s stage, name string) string {
	const own = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWNET
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, self, append([]string{"apart"}, s.args(name)...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: own}
	c.Stderr = os.Stderr
	b, err := c.Output()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// inside is PID 1 of one attack's own namespaces.
func inside(s stage) int {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return 1
	}
	if err := unix.Mount("none", "/proc", "proc", 0, ""); err != nil {
		return 2
	}
	name := s.names[0]
	if err := furnish(name); err != nil {
		fmt.Print(err)
		return 0
	}
	user := uint32(s.number("user"))
	as := func(args ...string) *exec.Cmd {
		c := exec.Command(self, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if user != 0 {
			c.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
		}
		return c
	}
	v := as("victim")
	if err := v.Start(); err != nil {
		return 3
	}
	s.target = v.Process.Pid
	go func() { _ = v.Wait() }()
	time.Sleep(20 * time.Millisecond)
	if _, act := acts[name]; act {
		fmt.Print(acted(s, name, as))
		return 0
	}
	b, err := as(append([]string{"one"}, s.args(name)...)...).Output()
	if err != nil {
		fmt.Print(err)
		return 0
	}
	fmt.Print(string(b))
	return 0
}

// furnish gives one attack files of its own.
func furnish(name string) error {
	for _, d := range []string{"/workspace", "/standard-code"} {
		if err := unix.Mount("none", d, "tmpfs", 0, "mode=755,uid=65532,gid=65532"); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Chown("/standard-code", 0, 0), os.Mkdir("/standard-code/bin", 0o755), os.Mkdir(cache, 0o700)); err != nil {
		return err
	}
	if err := unix.Mount("none", cache, "tmpfs", 0, "mode=700,uid=65532,gid=65532"); err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	for file, content := range map[string][]byte{
		"/standard-code/runner": program, "/standard-code/bin/go": program, "/etc/passwd": nil, "/etc/hosts": nil, git: []byte("gitdir: /elsewhere\n"),
	} {
		if err := os.WriteFile(file, content, 0o755); err != nil {
			return err
		}
	}
	if name == "mask-unmount" { // else nothing is there to unmount
		return unix.Mount(git, git, "", unix.MS_BIND, "")
	}
	return os.Chown(git, 65532, 65532)
}

// acted is what an act did to others, or the limit that it did not meet.
func acted(s stage, name string, as func(...string) *exec.Cmd) string {
	s.facts["control"] = "yes"
	c := as(append([]string{"act"}, s.args(name)...)...)
	lines, err := c.StdoutPipe()
	if err != nil {
		return err.Error()
	}
	if err := c.Start(); err != nil {
		return err.Error()
	}
	said := make(chan finding.Attempt, 1)
	go func() {
		var a finding.Attempt
		if json.NewDecoder(lines).Decode(&a) == nil {
			said <- a
		}
	}()
	wait := time.Second // some say nothing, or not before their end
	if strings.HasPrefix(name, "exhaust-") {
		wait = patience / 2
	}
	select {
	case a := <-said:
		if strings.HasPrefix(name, "exhaust-") {
			return a.Word
		}
		rest()
	case <-time.After(wait):
	}
	if cores, _ := filepath.Glob("/workspace/core*"); len(cores) > 0 {
		return "core written"
	}
	if beat() {
		return "lives on"
	}
	return after(s.target)
}

// beat says whether something still writes.
func beat() bool {
	read := func() string { b, _ := os.ReadFile("/workspace/heartbeat"); return string(b) }
	first := read()
	rest()
	return first != "" && read() != first
}

// rest is for what happens by itself.
func rest() { time.Sleep(150 * time.Millisecond) }

//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// What the quota allows; the contract's numbers.
const (
	quotaBytes   = 16 << 20
	quotaEntries = 4096
	mib          = 1 << 20
	largest      = 15 * mib // below the ceiling of one file
	ws           = "/workspace"
)

// tally counts what the writers of a process made, and says when it passes the
// quota. Both are as the writer knows it, so at most one step of each late.
type tally struct {
	bytes, entries atomic.Int64
	once           sync.Once
}

func (t *tally) add(bytes, entries int64) {
	if t.bytes.Add(bytes) > quotaBytes || t.entries.Add(entries) > quotaEntries {
		t.once.Do(func() { fmt.Println("crossed", time.Now().UnixNano()) })
	}
}

// writers are the ways to grow. Each is called from several goroutines at once,
// with a number of its own, and does not return but for an error.
var writers = map[string]func(t *tally, id int) error{
	"plain":      func(t *tally, id int) error { return files(t, ws, id, mib, buffered) },
	"parallel":   func(t *tally, id int) error { return files(t, ws, id, largest, buffered) },
	"direct":     func(t *tally, id int) error { return files(t, ws, id, largest, direct) },
	"mmap":       func(t *tally, id int) error { return files(t, ws, id, largest, byMemory) },
	"copy-range": func(t *tally, id int) error { return files(t, ws, id, largest, copied) },
	"sparse":     func(t *tally, id int) error { return files(t, ws, id, largest, sparse) },
	"small":      func(t *tally, id int) error { return files(t, ws, id, 512, buffered) },
	"empty":      func(t *tally, id int) error { return files(t, ws, id, 0, sparse) },
	"links":      links,
	"deep":       deep,
	"rename-in":  renameIn,
	"shut":       shut,
}

// grow writes until it is stopped.
func grow(writer string) int {
	name, lanes, spinning := writer, 4, 0
	if name == "plain" {
		lanes = 1
	}
	if rest, ok := strings.CutPrefix(name, "starved-"); ok {
		name, spinning = rest, 60
	}
	write, ok := writers[name]
	if !ok {
		return 99
	}
	if spinning > 0 {
		starve(spinning)
	}
	var t tally
	var lane sync.WaitGroup
	for id := 1; id < lanes; id++ {
		lane.Add(1)
		go func() { defer lane.Done(); say(write(&t, id)) }()
	}
	say(write(&t, 0))
	lane.Wait()
	return 5
}

func say(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// starve takes all the processor it can, and asks for the runner's share.
func starve(n int) {
	spinners(n)
	go func() {
		for {
			_ = system(unix.SYS_SCHED_SETSCHEDULER, 1, 5, zeros())
			_ = system(unix.SYS_SETPRIORITY, 0, 1, 19)
			_ = system(unix.SYS_PRLIMIT64, 1, unix.RLIMIT_NOFILE, zeros())
			_ = unix.Kill(1, unix.SIGURG)
			_ = unix.Kill(1, unix.SIGCHLD)
		}
	}()
	time.Sleep(300 * time.Millisecond)
}

// files makes one after the other.
func files(t *tally, dir string, id int, size int64, how func(*tally, *os.File, int64) error) error {
	for n := 0; ; n++ {
		f, err := os.OpenFile(path("%s/%d-%d", dir, id, n), os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		t.add(0, 1)
		err = how(t, f, size)
		_ = f.Close()
		if err != nil {
			return err
		}
	}
}

var block = make([]byte, mib)

func buffered(t *tally, f *os.File, size int64) error {
	for done := int64(0); done < size; {
		n, err := f.Write(block[:min(size-done, mib)])
		if err != nil {
			return err
		}
		done += int64(n)
		t.add(int64(n), 0)
	}
	return nil
}

func direct(t *tally, f *os.File, size int64) error {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFL, unix.O_DIRECT); err != nil {
		return err
	}
	page, err := unix.Mmap(-1, 0, mib, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(page) }()
	for done := int64(0); done < size; {
		n, err := f.Write(page)
		if err != nil {
			return err
		}
		done += int64(n)
		t.add(int64(n), 0)
	}
	return nil
}

func sparse(t *tally, f *os.File, size int64) error {
	err := f.Truncate(size)
	t.add(size, 0)
	return err
}

func byMemory(t *tally, f *os.File, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	t.add(size, 0)
	m, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	for at := 0; at < len(m); at += 4096 {
		m[at] = 1
	}
	return unix.Munmap(m)
}

// copied lets the kernel copy the first file, which is a source and counts itself.
func copied(t *tally, f *os.File, size int64) error {
	source, err := os.OpenFile(f.Name()+"-source", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer source.Close()
	if err := buffered(t, source, mib); err != nil {
		return err
	}
	for done := int64(0); done < size; {
		from := int64(0)
		n, err := unix.CopyFileRange(int(source.Fd()), &from, int(f.Fd()), nil, mib, 0)
		if err != nil {
			return err
		}
		done += int64(n)
		t.add(int64(n), 0)
	}
	return nil
}

func links(t *tally, id int) error {
	source := path("%s/link-%d", ws, id)
	if err := os.WriteFile(source, []byte("x"), 0o600); err != nil {
		return err
	}
	for n := 0; ; n++ {
		if err := os.Link(source, path("%s-%d", source, n)); err != nil {
			return err
		}
		t.add(0, 1)
	}
}

// deep makes chains of directories.
func deep(t *tally, id int) error {
	for n := 0; ; n++ {
		fd, err := unix.Open(ws, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		for level := range 60 {
			name := path("%d-%d-%d-%s", id, n, level, strings.Repeat("d", 100))
			if err := unix.Mkdirat(fd, name, 0o700); err != nil {
				return err
			}
			t.add(4096, 1) // a directory has a block
			next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			unix.Close(fd)
			if err != nil {
				return err
			}
			fd = next
		}
		unix.Close(fd)
	}
}

// renameIn prepares files without a name and gives them all one at once.
func renameIn(t *tally, id int) error {
	for n := 0; ; n++ {
		var made []int
		for range 3 {
			fd, err := unix.Open(ws, unix.O_TMPFILE|unix.O_RDWR, 0o600)
			if err != nil {
				return err
			}
			for range 5 {
				if _, err := unix.Write(fd, block); err != nil {
					return err
				}
			}
			made = append(made, fd)
		}
		for i, fd := range made {
			if err := unix.Linkat(unix.AT_FDCWD, path("/proc/self/fd/%d", fd), unix.AT_FDCWD, path("%s/in-%d-%d-%d", ws, id, n, i), unix.AT_SYMLINK_FOLLOW); err != nil {
				return err
			}
			t.add(5*mib, 1)
			unix.Close(fd)
		}
	}
}

// shut grows behind closed doors.
func shut(t *tally, id int) error {
	dir := path("%s/shut-%d", ws, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for n := 0; ; n++ {
		if err := unix.Fchmod(fd, 0o700); err != nil {
			return err
		}
		f, err := unix.Openat(fd, path("%d", n), unix.O_CREAT|unix.O_RDWR, 0)
		if err != nil {
			return err
		}
		_ = unix.Fchmod(fd, 0)
		if _, err := unix.Write(f, block); err != nil {
			return err
		}
		unix.Close(f)
		t.add(mib, 1)
	}
}

package procs

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNameless_CountsEachOpenFileWithoutANameOnce(t *testing.T) {
	dir := t.TempDir()
	var at unix.Stat_t
	if err := unix.Stat(dir, &at); err != nil {
		t.Fatal(err)
	}
	sum := func() int64 { return Nameless([]int{os.Getpid()}, at.Dev, math.MaxInt64) }
	before := sum()
	path := filepath.Join(dir, "f")
	for range 2 {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		again, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(again) }()
		if got := sum() - before; got%(1<<20) != 0 {
			t.Errorf("a file with a name counts %d", got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := sum() - before; got < 2<<20 || got > 2<<20+64<<10 {
		t.Errorf("two files of 1 MiB are %d", got)
	}
	if got := Nameless([]int{os.Getpid()}, at.Dev, before+1<<19); got <= before+1<<19 {
		t.Errorf("%d is not more than the most", got)
	}
	if got := Nameless([]int{os.Getpid()}, at.Dev+1, math.MaxInt64); got != 0 {
		t.Errorf("another device holds %d", got)
	}
	if got := Nameless([]int{math.MaxInt32}, at.Dev, math.MaxInt64); got != 0 {
		t.Errorf("a process that is not there holds %d", got)
	}
}

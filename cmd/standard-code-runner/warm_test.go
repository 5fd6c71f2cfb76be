//go:build linux

package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWarm_LinksWhatTheIndexNamesAndNothingElse(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	hash := "ab" + strings.Repeat("0", 62)
	index := strings.Join([]string{"ab/" + hash + "-a", "ab/" + hash + "-d", "../x", "ab/../../etc/passwd", "cd/" + hash + "-a", "ab/" + hash + "-x", ""}, "\n")
	if err := os.WriteFile(filepath.Join(from, "index"), []byte(index), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := warm(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(p string, d os.DirEntry, err error) error {
		if !d.IsDir() {
			rel, _ := filepath.Rel(to, p)
			got = append(got, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "ab/" + hash + "-a ab/" + hash + "-d trim.txt"; strings.Join(got, " ") != want {
		t.Errorf("made %q, want %q", got, want)
	}
	if l, err := os.Readlink(filepath.Join(to, "ab", hash+"-a")); err != nil || l != from+"/ab/"+hash+"-a" {
		t.Errorf("links to %q, %v", l, err)
	}
}

func TestWarm_AnImageWithoutAWarmCacheIsFine(t *testing.T) {
	to := t.TempDir()
	if err := warm(filepath.Join(to, "absent"), to); err != nil {
		t.Fatal(err)
	}
	if all, _ := os.ReadDir(to); len(all) != 0 {
		t.Errorf("made %v", all)
	}
}

// BenchmarkWarm makes as many links as an image's standard library has entries, in a
// tmpfs, as the runner does before each go command.
func BenchmarkWarm(b *testing.B) {
	var index []string
	for i := range 2969 {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		index = append(index, sum[:2]+"/"+sum+"-d\n")
	}
	slices.Sort(index)
	from := b.TempDir()
	if err := os.WriteFile(from+"/index", []byte(strings.Join(index, "")), 0o600); err != nil {
		b.Fatal(err)
	}
	var spent time.Duration
	for b.Loop() {
		b.StopTimer()
		to, err := os.MkdirTemp("/dev/shm", "warm-")
		if err != nil {
			b.Fatal(err)
		}
		before := processorTime(b)
		b.StartTimer()
		if err := warm(from, to); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		spent += processorTime(b) - before
		if err := os.RemoveAll(to); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

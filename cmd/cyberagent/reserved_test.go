package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestDeliver_AFileThatCannotBeMadeIsRefusedBeforeAnythingIsRecorded(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	before := y.status()
	there, link := filepath.Join(t.TempDir(), "there.patch"), filepath.Join(t.TempDir(), "link")
	y.write(filepath.Dir(there), map[string]string{"there.patch": "mine"})
	for _, to := range []string{there, filepath.Join(filepath.Dir(there), "nowhere")} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if e := y.must(2, "drydock", "deliver", y.run, "--out", link); e["field"] != "out" {
			t.Errorf("through a link: %v", e)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for out, remedy := range map[string]string{
		there:                                  "rm " + there,
		filepath.Dir(there):                    "does not exist",
		filepath.Join(there, "below.patch"):    "directory",
		filepath.Join(root, "no", "fix.patch"): "make the directory",
		filepath.Join(root, "a", "fix.patch"):  "outside of the Drydocks",
		filepath.Join(link, "fix.patch"):       "outside of the Drydocks",
	} {
		e := y.must(2, "drydock", "deliver", y.run, "--out", out)
		if e["field"] != "out" || !strings.Contains(e["remediation"].(string), remedy) {
			t.Errorf("%s: %v", out, e)
		}
	}
	after := y.status()
	if after["status"] != "ready" || after["generation"] != before["generation"] || len(after["drift"].([]any)) != 0 {
		t.Errorf("a refused delivery left %v", after)
	}
	if b, err := os.ReadFile(there); err != nil || string(b) != "mine" {
		t.Errorf("%v %q", err, b)
	}
	if got := names(t, filepath.Dir(there)); got != "there.patch" {
		t.Errorf("beside it: %s", got)
	}

	// A delivery that is refused for another reason leaves no file.
	y.write(root, map[string]string{"loose": "x"})
	out := filepath.Join(t.TempDir(), "fix.patch")
	y.must(3, "drydock", "deliver", y.run, "--out", out)
	if got := names(t, filepath.Dir(out)); got != "" {
		t.Errorf("a refused delivery left %s", got)
	}
	y.must(0, "drydock", "checkpoint", y.run)
	d := y.must(0, "drydock", "deliver", y.run, "--out", out)
	copied, err := os.ReadFile(out)
	own, err2 := os.ReadFile(d["file"].(string))
	if err != nil || err2 != nil || string(copied) != string(own) || len(own) == 0 {
		t.Errorf("the copy: %v %v %q %q", err, err2, copied, own)
	}
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// names are all that a directory holds.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.Name()
	}
	return strings.Join(all, " ")
}

// mustHold reads a file that has to be there with these bytes.
func mustHold(t *testing.T, path, want string) {
	t.Helper()
	if b, err := os.ReadFile(path); err != nil || string(b) != want {
		t.Errorf("%s: %v, %d bytes, want %d", path, err, len(b), len(want))
	}
}

// changed is a Drydock whose patch is written in several pieces.
func (y *yard) changed() {
	y.t.Helper()
	var b strings.Builder
	for n := range 20_000 {
		_, _ = fmt.Fprintf(&b, "line %d\n", n)
	}
	y.write(y.create(), map[string]string{"more": b.String()})
	y.must(0, "drydock", "checkpoint", y.run)
}

func TestDeliver_AKillLeavesTheWholeFileOrNoneAndTheSameCallCompletesIt(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	y.changed()
	patch := ""
	for i, c := range []struct {
		moment string
		named  bool // the file has its name when the process dies
		hidden int  // files under another name
	}{
		{"out.reserved", false, 1}, {"deliver.published", false, 1}, {"out.writing", false, 1}, {"out.written", false, 1}, {"out.placed", true, 0},
	} {
		dir := t.TempDir()
		out := filepath.Join(dir, "fix.patch")
		args := []string{"drydock", "deliver", y.run, "--out", out, "--operation-key", fmt.Sprint("key-", i)}
		y.crash(c.moment, args...)
		if patch == "" {
			own := y.must(0, "drydock", "deliver", y.run)["file"].(string)
			b, err := os.ReadFile(own)
			if err != nil || len(b) < 100_000 {
				t.Fatalf("%v, %d bytes", err, len(b))
			}
			patch = string(b)
		}
		left := strings.Fields(names(t, dir))
		if len(left) != c.hidden && !c.named || c.named && (len(left) != 1 || left[0] != "fix.patch") {
			t.Errorf("%s left %v", c.moment, left)
		}
		for _, name := range left {
			if c.named {
				mustHold(t, out, patch)
			} else if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !isHidden(name, out) ||
				c.moment == "out.writing" && (info.Size() == 0 || info.Size() >= int64(len(patch))) {
				t.Errorf("%s left %s: %v, %v", c.moment, name, info, err)
			}
		}
		for range 2 {
			y.must(0, args...)
			mustHold(t, out, patch)
			if got := names(t, dir); got != "fix.patch" {
				t.Errorf("after %s and the same call there are %s", c.moment, got)
			}
		}
	}
}

func TestDeliver_TheSameCallRefusesAFileThatIsNotThePatchAndSaysWhatIsTrue(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	y.changed()
	dir := t.TempDir()
	out := filepath.Join(dir, "fix.patch")
	args := []string{"drydock", "deliver", y.run, "--out", out, "--operation-key", "the-key"}
	own := y.must(0, args...)["file"].(string)
	patch, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func() error{
		"a part":      func() error { return os.WriteFile(out, patch[:1<<16], 0o600) },
		"nothing":     func() error { return os.WriteFile(out, nil, 0o600) },
		"more":        func() error { return os.WriteFile(out, append(patch[:len(patch):len(patch)], 'x'), 0o600) },
		"a directory": func() error { return os.Mkdir(out, 0o700) },
		"a link":      func() error { return os.Symlink(own, out) },
	} {
		if err := errors.Join(os.RemoveAll(out), make()); err != nil {
			t.Fatal(err)
		}
		before, err := os.Lstat(out)
		if err != nil {
			t.Fatal(err)
		}
		e := y.must(2, args...)
		text := fmt.Sprint(e["message"])
		if e["field"] != "out" || strings.Contains(text, "nothing was done") || !strings.Contains(text, "made and recorded") || !strings.Contains(fmt.Sprint(e["remediation"]), "--operation-key the-key") {
			t.Errorf("%s: %v", what, e)
		}
		if after, err := os.Lstat(out); err != nil || !os.SameFile(before, after) || before.Size() != after.Size() || before.Mode() != after.Mode() {
			t.Errorf("%s was replaced: %v", what, err)
		}
		if got := names(t, dir); got != "fix.patch" {
			t.Errorf("beside %s: %s", what, got)
		}
	}
	// The remedy helps.
	other := filepath.Join(dir, "other.patch")
	y.must(0, "drydock", "deliver", y.run, "--out", other, "--operation-key", "the-key")
	mustHold(t, other, string(patch))
}

// mustReserve takes room in a home without anything.
func mustReserve(t *testing.T, name string) reserved {
	t.Helper()
	home := t.TempDir()
	s := &session{process: process{lookup: func(string) (string, bool) { return "", false }}, flags: map[string]string{"home": home}}
	r, err := s.reserve(name, "the-key", func() (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReserved_WhatAppearsMeanwhileIsNotReplaced(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, []byte("a patch"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ there, problem string }{
		"another file":   {"mine", "is not replaced"},
		"the same bytes": {"a patch", ""},
	} {
		dir := t.TempDir()
		out := filepath.Join(dir, "fix.patch")
		r := mustReserve(t, out)
		if got := names(t, dir); got == "" || got == "fix.patch" {
			t.Errorf("%s: the room is %q", what, got)
		}
		if err := os.WriteFile(out, []byte(c.there), 0o600); err != nil {
			t.Fatal(err)
		}
		err := r.fill(own, digestOf("a patch"))
		if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %v", what, err)
		}
		mustHold(t, out, c.there)
		if got := names(t, dir); got != "fix.patch" {
			t.Errorf("%s: beside it: %s", what, got)
		}
	}
}

func TestReserved_BytesThatWereNotRecordedAreNotHandedOut(t *testing.T) {
	t.Parallel()
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, []byte("a pat"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := mustReserve(t, filepath.Join(dir, "fix.patch"))
	if err := r.fill(own, digestOf("a patch")); err == nil || !strings.Contains(err.Error(), "other bytes") {
		t.Error(err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("it left %s", got)
	}
}

func TestReserved_OnlyWhatDeadCallsLeftIsSwept(t *testing.T) {
	t.Parallel()
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	at := func(name string) string { return filepath.Join(dir, name) }
	living := mustReserve(t, at("fix.patch"))
	r := mustReserve(t, at("fix.patch"))
	stay := []string{".fix.patch.cyberagent-", ".fix.patch.cyberagent-1x", ".other.patch.cyberagent-1", ".fix.patch", "fix.patch.cyberagent-1"}
	for _, name := range append(stay, ".fix.patch.cyberagent-1") {
		if err := os.WriteFile(at(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(own, []byte("a patch"), 0o600), os.WriteFile(at(".fix.patch.cyberagent-2"), nil, 0o644),
		os.Symlink(own, at(".fix.patch.cyberagent-3")), os.Mkdir(at(".fix.patch.cyberagent-4"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := r.fill(own, digestOf("a patch")); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(stay, ".fix.patch.cyberagent-2", ".fix.patch.cyberagent-3", ".fix.patch.cyberagent-4", filepath.Base(living.tmp), "fix.patch") {
		if _, err := os.Lstat(at(name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{".fix.patch.cyberagent-1", filepath.Base(r.tmp)} {
		if _, err := os.Lstat(at(name)); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", name, err)
		}
	}
	if err := living.drop(); err != nil {
		t.Error(err)
	}
}

// Sweeps all the time, and calls that come and go: each keeps its file.
func TestReserved_NoSweepTakesALivingCallsFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := filepath.Join(dir, "fix.patch")
	var calls, sweeps sync.WaitGroup
	stop := make(chan struct{})
	sweeps.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				sweep(out)
			}
		}
	})
	for range 4 {
		calls.Go(func() {
			for range 200 {
				tmp, f, err := makeHidden(out)
				if err != nil {
					t.Error(err)
					return
				}
				sweep(out)
				if !named(f, tmp) {
					t.Error("a living call's file was taken")
				}
				if err := (reserved{tmp: tmp, f: f}).drop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
	close(stop)
	sweeps.Wait()
	// A program that is just being started has all that was open, and its locks.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		sweep(out)
		got := names(t, dir)
		if got == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left: %s", got)
		}
	}
}

func TestReserved_TheLongestNamesHaveRoom(t *testing.T) {
	t.Parallel()
	own := filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, []byte("a patch"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{strings.Repeat("n", 255), strings.Repeat("€", 85), "a*b", "-"} {
		out := filepath.Join(t.TempDir(), name)
		r := mustReserve(t, out)
		if !isHidden(filepath.Base(r.tmp), out) {
			t.Errorf("nobody sweeps %s", r.tmp)
		}
		if err := r.fill(own, digestOf("a patch")); err != nil {
			t.Error(err)
		}
		mustHold(t, out, "a patch")
	}
}

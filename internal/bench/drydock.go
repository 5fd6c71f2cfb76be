package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

// rewound is how many files a rewind changes.
const rewound = 1000

// yard is one Drydock, driven by the adapter.
type yard struct {
	d     *gitdrydock.Drydocks
	place drydock.Place
	last  id.Checkpoint
	made  int
}

func newYard(ctx context.Context, home, source string) (*yard, error) {
	y := &yard{d: gitdrydock.New(gitdrydock.Config{Home: home})}
	src, err := y.d.Inspect(ctx, source)
	if err != nil {
		return nil, err
	}
	y.last = y.next(1)
	y.place, _, err = y.d.Create(ctx, id.Drydock(id.Format(id.KindDrydock, fmt.Sprintf("%026d", 1))), y.last, src)
	return y, err
}

// next is the id after so many.
func (y *yard) next(n int) id.Checkpoint {
	return id.Checkpoint(id.Format(id.KindCheckpoint, fmt.Sprintf("%026d", y.made+n)))
}

func (y *yard) capture(ctx context.Context) error {
	next := y.next(2)
	_, err := y.d.Capture(ctx, y.place, y.last, next)
	y.last, y.made = next, y.made+1
	return err
}

func (y *yard) drift(ctx context.Context) error {
	found, _, err := y.d.Drift(ctx, y.place, y.last, 10)
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("the Drydock drifted: %v", found)
	}
	return err
}

// preview compares the files with a Checkpoint, as a person sees it before a rewind.
func (y *yard) preview(ctx context.Context, target id.Checkpoint) (drydock.RewindOrder, error) {
	plan, err := y.d.Plan(ctx, y.place, y.last, target, 10)
	return drydock.RewindOrder{Current: y.last, Target: target, Saved: y.next(2), Next: y.next(3), Digest: plan.Digest}, err
}

// rewind does what was previewed. It compares anew.
func (y *yard) rewind(ctx context.Context, o drydock.RewindOrder) error {
	_, err := y.d.Rewind(ctx, y.place, o, func(drydock.Capture) error { return nil })
	y.last, y.made = o.Next, y.made+2
	return err
}

// drydocks measures the Drydock on Go's own source beside what git does for the
// same in a clone of it.
func drydocks(ctx context.Context, l *lab) ([]Table, error) {
	source, entries, err := l.goSource()
	if err != nil {
		return nil, err
	}
	y, err := newYard(ctx, filepath.Join(l.dir, "drydock"), source)
	if err != nil {
		return nil, err
	}
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(l.dir, "index")}
	add := func() error {
		if err := git(source, index, "add", "-A"); err != nil {
			return err
		}
		return git(source, index, "write-tree")
	}
	status := func() error { return git(source, nil, "status", "--porcelain") }
	var capture, itsAdd, drift, itsStatus, preview, rewind, itsCheckout Sample
	for round := range l.rounds + 1 {
		for _, root := range []string{y.place.Root, source} {
			text := fmt.Sprintf("package http // %d\n", round)
			if err := os.WriteFile(filepath.Join(root, "net/http/server.go"), []byte(text), 0o644); err != nil { //nolint:gosec // as it was
				return nil, err
			}
		}
		if err := inTurn(round, func() error { return capture.timed(func() error { return y.capture(ctx) }) },
			func() error { return itsAdd.timed(add) }); err != nil {
			return nil, err
		}
		if err := inTurn(round, func() error { return drift.timed(func() error { return y.drift(ctx) }) },
			func() error { return itsStatus.timed(status) }); err != nil {
			return nil, err
		}
	}
	first, second, err := l.twoStates(ctx, y, source)
	if err != nil {
		return nil, err
	}
	for round := range l.rounds + 1 {
		target, branch := first, "first"
		if round%2 == 1 {
			target, branch = second, "second"
		}
		var o drydock.RewindOrder
		if err := preview.timed(func() (err error) { o, err = y.preview(ctx, target); return err }); err != nil {
			return nil, err
		}
		if err := inTurn(round/2, func() error { return rewind.timed(func() error { return y.rewind(ctx, o) }) },
			func() error {
				return itsCheckout.timed(func() error { return git(source, nil, "checkout", "-q", branch) })
			}); err != nil {
			return nil, err
		}
	}
	return []Table{{Title: fmt.Sprintf("A Drydock of %d entries, Go's own source", entries), Unit: "ms", Lines: []Line{
		{What: "Checkpoint with one changed file", Ours: capture[1:], Peer: itsAdd[1:], PeerName: "`git add -A` and `write-tree`", MostRatio: 0.7},
		{What: "drift check before a command", Ours: drift[1:], Peer: itsStatus[1:], PeerName: "`git status`", MostRatio: 0.7},
		{What: fmt.Sprintf("preview of a rewind of %d files", rewound), Ours: preview[1:]},
		{What: fmt.Sprintf("rewind of %d files, compared again, written, read back and recorded", rewound), Ours: rewind[1:], Peer: itsCheckout[1:], PeerName: "`git checkout`", MostRatio: 1.0},
	}}}, nil
}

// goSource makes a repository of Go's own source.
func (l *lab) goSource() (dir string, entries int, err error) {
	cmd := exec.Command("go", "env", "GOROOT")
	root, err := cmd.Output()
	if err != nil {
		return "", 0, failed(cmd, err)
	}
	dir = filepath.Join(l.dir, "go")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(strings.TrimSpace(string(root)), "src"))); err != nil {
		return "", 0, err
	}
	err = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { entries++; return nil })
	if err == nil {
		err = commit(dir)
	}
	return dir, entries, err
}

// twoStates makes two Checkpoints and two branches that differ in a thousand files.
func (l *lab) twoStates(ctx context.Context, y *yard, source string) (first, second id.Checkpoint, err error) {
	for _, args := range [][]string{{"checkout", "-q", "--", "."}, {"checkout", "-q", "-b", "first"}, {"checkout", "-q", "-b", "second"}} {
		if err := git(source, nil, args...); err != nil {
			return "", "", err
		}
	}
	first = y.last
	for _, root := range []string{y.place.Root, source} {
		if err := change(root, rewound); err != nil {
			return "", "", err
		}
	}
	if err := y.capture(ctx); err != nil {
		return "", "", err
	}
	err = git(source, nil, "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "commit", "-q", "-a", "-m", "second")
	return first, y.last, err
}

// change appends a line to the first most Go files below root.
func change(root string, most int) error {
	n := 0
	return filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(p, ".go") || n == most {
			return err
		}
		n++
		f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // a file of our own copy
		if err != nil {
			return err
		}
		_, err = f.WriteString("// changed\n")
		if e := f.Close(); err == nil {
			err = e
		}
		return err
	})
}

const (
	manyCheckpoints = 1000
	window          = 100
)

// history makes a thousand Checkpoints: the last hundred must cost what the first
// hundred cost.
func history(ctx context.Context, l *lab) ([]Table, error) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("f%02d.go", i)] = fmt.Sprintf("package f // %d\n", i)
	}
	source, err := l.source("source-history", files)
	if err != nil {
		return nil, err
	}
	y, err := newYard(ctx, filepath.Join(l.dir, "history"), source)
	if err != nil {
		return nil, err
	}
	n, part := l.size(manyCheckpoints, 20), l.size(window, 5)
	var captures, drifts Sample
	for i := range n {
		if err := os.WriteFile(filepath.Join(y.place.Root, "f00.go"), fmt.Appendf(nil, "package f // %d\n", -i), 0o644); err != nil { //nolint:gosec // as it was
			return nil, err
		}
		if err := captures.timed(func() error { return y.capture(ctx) }); err != nil {
			return nil, err
		}
		if err := drifts.timed(func() error { return y.drift(ctx) }); err != nil {
			return nil, err
		}
	}
	grown, err := y.d.History(ctx, y.place)
	if err != nil {
		return nil, err
	}
	_, compact, err := y.d.Compact(ctx, y.place)
	if err != nil {
		return nil, err
	}
	beside := fmt.Sprintf("the first %d", part)
	return []Table{{Title: fmt.Sprintf("%d Checkpoints of one Drydock", n), Unit: "ms", Lines: []Line{
		{What: fmt.Sprintf("Checkpoint, the last %d", part), Ours: captures[n-part:], Peer: captures[:part], PeerName: beside, MostRatio: 1.25},
		{What: fmt.Sprintf("drift check, the last %d", part), Ours: drifts[n-part:], Peer: drifts[:part], PeerName: beside, MostRatio: 1.25},
	}, Notes: []string{fmt.Sprintf("The repository has %d KiB in %d packs, %d KiB in %d after compaction.",
		grown.Bytes/1024, grown.Packs, compact.Bytes/1024, compact.Packs)}}}, nil
}

//go:build linux

package gitdrydock

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/id"
)

// treesEnv asks for more random trees than the quick default, and seedEnv for
// the one that failed.
const (
	treesEnv = "CYBERAGENT_TEST_TREES"
	seedEnv  = "CYBERAGENT_TEST_SEED"
)

func envNumber(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	mustDo(t, err)
	return n
}

// TestProperty_EveryCheckpointIsTheTree makes random trees and mutates them at
// random. What git reads back from each Checkpoint is the tree as it was, byte
// for byte; the changes it reports are the differences; and at the end every
// Checkpoint still reads back the same, and a rewind to any of them, with or
// without unrecorded changes, restores it byte for byte.
func TestProperty_EveryCheckpointIsTheTree(t *testing.T) {
	t.Parallel()
	const rounds = 20 // trees a Drydock
	trees := int(envNumber(t, treesEnv, 60))
	seed := envNumber(t, seedEnv, uint64(time.Now().UnixNano()))
	for n := range (trees + rounds - 1) / rounds {
		seed := seed + uint64(n)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			g := &gardener{t: t, r: rand.New(rand.NewPCG(seed, 0))}
			g.root = filepath.Join(t.TempDir(), "plants")
			mustDo(t, os.Mkdir(g.root, 0o755))
			for range 40 {
				g.grow()
			}
			args := []string{}
			if n%2 == 1 {
				args = append(args, "--object-format=sha256")
			}
			dir := mustRepo(t, nil, args...)
			if g.r.IntN(2) == 0 { // else the source is empty and everything is added
				mustDo(t, os.Rename(filepath.Join(dir, ".git"), filepath.Join(g.root, ".git")))
				dir = g.root
				mustGit(t, dir, "-c", "core.protectNTFS=false", "add", "-A", "-f")
				mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "plants")
			}
			y := mustDock(t, dir)
			g.root = y.place.Root
			was := readBack(t, y, y.first.Commit)
			type shot struct {
				commit string
				tree   string
				name   id.Checkpoint
				files  map[string]string
				index  string
			}
			var shots []shot
			index := func() string {
				regs, _ := filepath.Glob(filepath.Join(y.src.CommonDir, "worktrees", "*", "index"))
				b, err := os.ReadFile(regs[0])
				mustDo(t, err)
				return string(b)
			}
			for range rounds {
				for range g.r.IntN(12) {
					if g.r.IntN(3) > 0 {
						g.grow()
					} else {
						g.prune()
					}
				}
				want := snapshot(t, g.root)
				from := y.last
				drift := y.drift()
				c := y.capture()
				changed := difference(leaves(was), leaves(want))
				if got := y.changes(from, y.last); !slices.Equal(sorted(got), changed) {
					t.Fatalf("Changes are %q, want %q", got, changed)
				}
				if !slices.Equal(sorted(drift), changed) {
					t.Fatalf("Drift was %q, want %q", drift, changed)
				}
				if c.Changed.Total() != int64(len(changed)) {
					t.Fatalf("Changed is %+v, want %d", c.Changed, len(changed))
				}
				if t.Failed() {
					return
				}
				shots, was = append(shots, shot{c.Commit, c.Tree, y.last, want, index()}), want
			}
			for _, s := range shots {
				checkSame(t, s.files, readBack(t, y, s.commit))
			}
			for _, i := range g.r.Perm(len(shots)) {
				var unrecorded map[string]string
				if g.r.IntN(3) == 0 {
					for range g.r.IntN(6) {
						g.grow()
						g.prune()
					}
					unrecorded = snapshot(t, g.root)
				}
				w := y.rewind(shots[i].name)
				checkSame(t, shots[i].files, snapshot(t, g.root))
				if w.Result.Tree != shots[i].tree { // git read that one back before
					t.Errorf("the tree is %s, the Checkpoint had %s", w.Result.Tree, shots[i].tree)
				}
				if index() != shots[i].index {
					t.Errorf("the index is not the one of %s", shots[i].name)
				}
				if w.Saved != nil {
					checkSame(t, unrecorded, readBack(t, y, w.Saved.Commit))
				}
				if d := y.drift(); len(d) > 0 {
					t.Errorf("after a rewind the files drift: %q", d)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// leaves are what git and the list of empty directories record: a directory
// only when nothing is in it.
func leaves(tree map[string]string) map[string]string {
	out := maps.Clone(tree)
	for p := range tree {
		for d := filepath.Dir(strings.TrimSuffix(p, "/")); d != "."; d = filepath.Dir(d) {
			delete(out, d+"/")
		}
	}
	return out
}

// difference lists changes as Changes and Drift do.
func difference(was, now map[string]string) []string {
	out := []string{}
	for p, c := range now {
		if old, ok := was[p]; !ok {
			out = append(out, "A "+show(p))
		} else if old != c {
			out = append(out, "M "+show(p))
		}
	}
	for p := range was {
		if _, ok := now[p]; !ok {
			out = append(out, "D "+show(p))
		}
	}
	return sorted(out)
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// gardener changes a tree at random: names, kinds, modes, sizes, nesting.
type gardener struct {
	t    *testing.T
	r    *rand.Rand
	root string
}

var names = []string{
	"a", "b", "c", "a.b", "a-b", "a0", "A", "漢字", "two words", "new\nline", "\xff\xfe", "-rf", "--", "\"q\"", "tab\t", "ü",
	".hidden", ".gitignore", ".gitattributes", "git", ".gitx", "#x", "~", "$HOME", "*", "?", "[x]", "\\", "x\\y", ":!x", "con", "\x01",
}

// spot picks a directory that exists and a name in it.
func (g *gardener) spot() string {
	dir := g.root
	for g.r.IntN(3) > 0 {
		subs := g.list(dir, true)
		if len(subs) == 0 {
			break
		}
		dir = filepath.Join(dir, subs[g.r.IntN(len(subs))])
	}
	name := names[g.r.IntN(len(names))]
	if g.r.IntN(8) == 0 {
		name = strings.Repeat(name, 60/len(name))
	}
	return dir + "/" + name
}

func (g *gardener) list(dir string, dirsOnly bool) []string {
	var out []string
	all, err := os.ReadDir(dir)
	mustDo(g.t, err)
	for _, e := range all {
		if e.Name() != ".git" && (!dirsOnly || e.IsDir()) {
			out = append(out, e.Name())
		}
	}
	return out
}

// grow makes or replaces one entry.
func (g *gardener) grow() {
	p := g.spot()
	if g.r.IntN(6) > 0 {
		if info, err := os.Lstat(p); err == nil && info.IsDir() {
			return
		}
	}
	mustDo(g.t, os.RemoveAll(p))
	switch g.r.IntN(10) {
	case 0:
		mustDo(g.t, os.Symlink([]string{"/etc/passwd", "../..", "a", "\xff", "nowhere"}[g.r.IntN(5)], p))
	case 1, 2, 3:
		mustDo(g.t, os.MkdirAll(p+strings.Repeat("/d", g.r.IntN(3)), 0o755))
	default:
		b := make([]byte, []int{0, 1, 7, 100, 5000, 200_000}[g.r.IntN(6)])
		for i := range b {
			b[i] = byte(g.r.IntN(256))
			if i > 5000 {
				b[i] = b[i-5000]
			}
		}
		mustDo(g.t, os.WriteFile(p, b, []os.FileMode{0o644, 0o755, 0o600, 0o444}[g.r.IntN(4)]))
	}
}

// prune removes, renames, chmods or rewrites an entry that is there.
func (g *gardener) prune() {
	p := filepath.Dir(g.spot())
	here := g.list(p, false)
	if len(here) == 0 {
		return
	}
	p += "/" + here[g.r.IntN(len(here))]
	info, err := os.Lstat(p)
	mustDo(g.t, err)
	switch g.r.IntN(4) {
	case 0:
		mustDo(g.t, os.RemoveAll(p))
	case 1:
		to := g.spot()
		if _, err := os.Lstat(to); err != nil && !strings.HasPrefix(to, p+"/") {
			mustDo(g.t, os.Rename(p, to))
		}
	case 2:
		if info.Mode().IsRegular() {
			mustDo(g.t, os.Chmod(p, info.Mode().Perm()^0o100))
		}
	case 3:
		if info.Mode().IsRegular() && info.Size() > 0 { // same size, same inode, forged time
			f, err := os.OpenFile(p, os.O_RDWR, 0)
			mustDo(g.t, err)
			_, err = f.WriteAt([]byte{byte(g.r.IntN(256))}, g.r.Int64N(info.Size()))
			mustDo(g.t, err)
			mustDo(g.t, f.Close())
			mustDo(g.t, os.Chtimes(p, info.ModTime(), info.ModTime()))
		}
	}
}

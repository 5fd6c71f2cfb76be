//go:build linux

package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

func (y *dockyard) deliver() drydock.Delivery {
	y.t.Helper()
	d, err := y.d.Deliver(context.Background(), y.place, y.last)
	if err != nil {
		y.t.Fatalf("Deliver: %v", err)
	}
	return d
}

// hostilePatch is content that makes patches wrong when anything is left to
// configuration or attributes.
var hostilePatch = map[string]string{
	".gitattributes": "* -diff\n*.txt text eol=crlf\n", "crlf.txt": "a\r\nb\n", "trailing": "x  \n\t \n", "no-newline": "x",
	"binary": "a\x00b\xff", "漢字 two": "1\n", "new\nline": "2\n", "\xff\xfe": "3\n", "-rf": "4\n", "\"q\"": "5\n", "tab\t": "6\n",
	"dir/ deep/x": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "empty-file": "",
}

func TestDeliver_APlainGitApplyOnTheBaseGivesTheSameTree(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			source := mustRepo(t, someFiles, "--object-format="+format)
			mustDo(t, os.Symlink("README.md", filepath.Join(source, "link")))
			mustWrite(t, source, map[string]string{"big": strings.Repeat("\x00\x01line\n", 3000)})
			mustGit(t, source, "add", "-A")
			mustGit(t, source, "commit", "-q", "-m", "more")
			before := snapshot(t, filepath.Join(source, ".git"))
			y := mustDock(t, source)
			mustWrite(t, y.place.Root, hostilePatch)
			mustDo(t, os.Chmod(y.path("a/b/c.go"), 0o755))
			mustDo(t, os.Remove(y.path("z")))
			mustWrite(t, y.place.Root, map[string]string{"z/now/a/dir": "x"})
			mustDo(t, os.Remove(y.path("link")))
			mustWrite(t, y.place.Root, map[string]string{"link": "a file now", "big": strings.Repeat("\x00\x01line\n", 3000) + "more"})
			mustDo(t, os.Symlink("../\xff", y.path("newlink")))
			mustDo(t, os.Mkdir(y.path("hollow"), 0o755))
			c := y.capture()
			d := y.deliver()
			if d.Tree != c.Tree || d.EmptyDirectories != 1 || d.BaseCommit != y.src.HeadCommit {
				t.Errorf("the delivery is %+v", d)
			}
			if again := y.deliver(); again.SHA256 != d.SHA256 || again.File != d.File {
				t.Errorf("again: %+v", again)
			}
			clone := filepath.Join(t.TempDir(), "clone")
			mustGit(t, source, "clone", "-q", source, clone)
			mustGit(t, clone, "apply", d.File)
			checkSame(t, without(snapshot(t, y.place.Root), "hollow/"), snapshot(t, clone))
			// In an index too, and the tree is the same.
			index := filepath.Join(t.TempDir(), "clone2")
			mustGit(t, source, "clone", "-q", source, index)
			mustGit(t, index, "apply", "--cached", d.File)
			if tree := mustGit(t, index, "write-tree"); tree != c.Tree {
				t.Errorf("the tree is %s, want %s", tree, c.Tree)
			}
			after := snapshot(t, filepath.Join(source, ".git"))
			for p, content := range before {
				if !strings.HasSuffix(p, "/") && after[p] != content {
					t.Errorf("the source's %s changed", p)
				}
			}
		})
	}
}

func without(tree map[string]string, names ...string) map[string]string {
	for _, n := range names {
		delete(tree, n)
	}
	return tree
}

func TestDeliver_RefusesWhatPlainGitWouldNotApply(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	if _, err := y.d.Deliver(context.Background(), y.place, y.last); fault.CodeOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "nothing to deliver") {
		t.Errorf("nothing: %v", err)
	}
	mustWrite(t, y.place.Root, map[string]string{"git~1": "a name that git keeps for itself"})
	y.capture()
	_, err := y.d.Deliver(context.Background(), y.place, y.last)
	if fault.CodeOf(err) != fault.Unsupported || !strings.Contains(err.Error(), "git~1") {
		t.Errorf("a name that git refuses: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(y.d.cfg.Home, "deliveries"))
	if err != nil || len(left) != 0 {
		t.Errorf("an unproven patch was left: %v %v", left, err)
	}
}

func TestDeliver_NeverReplacesAFile(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"x": "1\n"})
	y.capture()
	d := y.deliver()
	mustDo(t, os.Remove(d.File))
	mustDo(t, os.WriteFile(d.File, []byte("mine"), 0o600))
	if _, err := y.d.Deliver(context.Background(), y.place, y.last); fault.CodeOf(err) != fault.OperationConflict {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(d.File); string(b) != "mine" {
		t.Errorf("the file is %q", b)
	}
}

// Crash selftest, 2026-11-30: one kill in a thousand left a half-written record.
func TestWhatAKilledProcessLeftHalfWrittenGoesWithTheNextVisit(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"README.md": "two\n"})
	y.capture()
	l, err := y.d.open()
	mustDo(t, err)
	k, err := l.dockOf(y.place)
	mustDo(t, err)
	mustDo(t, os.MkdirAll(l.deliveries(), 0o700))
	other := filepath.Join(l.deliveries(), ".new-dry_00000000000000000000000009-1")
	record, patch := k.file(".new-123"), filepath.Join(l.deliveries(), ".new-"+string(k.id)+"-1")
	for _, f := range []string{record, patch, other} {
		mustDo(t, os.WriteFile(f, []byte("half"), 0o600))
	}
	y.drift()
	if _, err := os.Lstat(record); !os.IsNotExist(err) {
		t.Errorf("a half-written record is left: %v", err)
	}
	_, err = y.d.Deliver(t.Context(), y.place, y.last)
	mustDo(t, err)
	if _, err := os.Lstat(patch); !os.IsNotExist(err) {
		t.Errorf("a half-written patch is left: %v", err)
	}
	if _, err := os.Lstat(other); err != nil {
		t.Errorf("another Drydock's was taken: %v", err)
	}
}

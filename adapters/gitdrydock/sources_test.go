//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// checkSame compares two directory trees without their .git: names, kinds,
// bytes, link texts and the executable bit.
func checkSame(t testing.TB, want, got map[string]string) {
	t.Helper()
	for p, w := range want {
		if g, ok := got[p]; !ok {
			t.Errorf("%q is missing", p)
		} else if g != w {
			t.Errorf("%q is %.80q, want %.80q", p, g, w)
		}
	}
	for p := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("%q is there and should not be", p)
		}
	}
}

// snapshot reads a directory tree: each path with its kind and content. Names
// in any case of .git are left out, with what is below them.
func snapshot(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	mustDo(t, filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		if strings.EqualFold(e.Name(), ".git") {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		rel, _ := filepath.Rel(root, p)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			out[rel+"/"] = "dir"
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			out[rel] = "link " + to
			return err
		case info.Mode().IsRegular():
			b, err := os.ReadFile(p)
			kind := "file "
			if info.Mode()&0o100 != 0 {
				kind = "exec "
			}
			out[rel] = kind + string(b)
			return err
		}
		return nil
	}))
	return out
}

// readBack is what a Checkpoint records, read with git alone: the content that
// a rewind would write.
func readBack(t testing.TB, y *dockyard, commit string) map[string]string {
	t.Helper()
	shadow := y.place.Shadow
	out := map[string]string{}
	parents := func(p string) {
		for d := filepath.Dir(p); d != "."; d = filepath.Dir(d) {
			out[d+"/"] = "dir"
		}
	}
	l, err := y.d.open()
	mustDo(t, err)
	f, err := parseFormat(y.src.ObjectFormat)
	mustDo(t, err)
	var leaves []leaf
	var names []string
	mustDo(t, l.lsTree(context.Background(), shadow, f, commit, false, func(x leaf) error {
		if p, ok := strings.CutPrefix(x.path, "tree/"); ok && x.mode != modeTree {
			x.path = p
			leaves = append(leaves, x)
			if x.mode != modeSubmodule {
				names = append(names, x.oid.String())
			}
		}
		return nil
	}))
	contents, err := l.readObjects(context.Background(), shadow, append(names, commit+":meta/dirs"))
	mustDo(t, err)
	for _, d := range splitNUL(contents[len(names)].content) {
		out[d+"/"] = "dir"
		parents(d)
	}
	for _, x := range leaves {
		parents(x.path)
		if x.mode == modeSubmodule {
			out[x.path+"/"] = "dir"
			continue
		}
		kind := map[uint32]string{modeFile: "file ", modeExecutable: "exec ", modeSymlink: "link "}[plainMode(x.mode)]
		if contents[0].name == "" {
			t.Fatalf("%q has no content in the shadow repository", x.path)
		}
		out[x.path] = kind + string(contents[0].content)
		contents = contents[1:]
	}
	return out
}

func TestDrydocks_Sources(t *testing.T) {
	t.Parallel()
	type result struct {
		dir     string
		notices []string // each must be part of one notice
		dirty   drydock.Dirty
		want    map[string]string // the Drydock's files, when not the source's own
	}
	tests := []struct {
		name string
		make func(t *testing.T) result
	}{
		{"ACleanRepositoryIsCopiedExactly", func(t *testing.T) result {
			return result{dir: mustRepo(t, someFiles)}
		}},
		{"AnEmptyTreeMakesAnEmptyDrydock", func(t *testing.T) result {
			return result{dir: mustRepo(t, nil)}
		}},
		{"ALaterDirectoryOfTheSourceNamesTheSameSource", func(t *testing.T) result {
			return result{dir: filepath.Join(mustRepo(t, someFiles), "a", "b")}
		}},
		{"DirtyContentIsReportedAndNotCopied", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			want := snapshot(t, dir)
			mustWrite(t, dir, map[string]string{"README.md": "changed\n", "new.txt": "x", "ignored.o": "x", ".gitignore": "*.o\n"})
			mustWrite(t, dir, map[string]string{"staged": "x"})
			mustGit(t, dir, "add", "staged")
			mustDo(t, os.Remove(filepath.Join(dir, "z")))
			return result{dir: dir, want: want, dirty: drydock.Dirty{
				Modified: 3, Untracked: 2, Paths: []string{"README.md", "staged", "z", ".gitignore", "new.txt"},
			}}
		}},
		{"ADetachedHeadHasNoBranch", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "checkout", "-q", "--detach")
			return result{dir: dir}
		}},
		{"ABareRepositoryWithACommitWorks", func(t *testing.T) result {
			src := mustRepo(t, someFiles)
			dir := filepath.Join(t.TempDir(), "bare.git")
			mustGit(t, src, "clone", "-q", "--bare", src, dir)
			return result{dir: dir, want: snapshot(t, src)}
		}},
		{"AShallowCloneWorksAndSaysSo", func(t *testing.T) result {
			src := mustRepo(t, someFiles)
			mustGit(t, src, "commit", "-q", "--allow-empty", "-m", "second")
			dir := filepath.Join(t.TempDir(), "shallow")
			mustGit(t, src, "clone", "-q", "--depth=1", "file://"+src, dir)
			return result{dir: dir, notices: []string{"shallow clone"}}
		}},
		{"ASubmoduleStaysAnEmptyDirectory", func(t *testing.T) result {
			sub := mustRepo(t, map[string]string{"inner": "x"})
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "submodule", "--quiet", "add", sub, "libs/sub")
			mustGit(t, dir, "commit", "-q", "-m", "submodule")
			want := snapshot(t, dir)
			delete(want, "libs/sub/inner")
			return result{dir: dir, want: want, notices: []string{"1 submodule stays an empty directory: libs/sub"}}
		}},
		{"LFSFilesAreWrittenAsPointers", func(t *testing.T) result {
			pointer := "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("a", 64) + "\nsize 5\n"
			dir := mustRepo(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "big.bin": pointer})
			return result{dir: dir, notices: []string{"filters are not applied", "1 LFS file is written as the pointer"}}
		}},
		{"CRLFRulesConvertNothing", func(t *testing.T) result {
			dir := mustRepo(t, map[string]string{".gitattributes": "*.txt text eol=crlf\n*.id ident\n", "a.txt": "one\ntwo\n", "b.id": "$Id$\n"})
			want := snapshot(t, dir)
			mustDo(t, os.Remove(filepath.Join(dir, "a.txt")))
			mustGit(t, dir, "checkout", "-q", "--", "a.txt") // now with CRLF on disk
			time.Sleep(20 * time.Millisecond)
			mustGit(t, dir, "status") // now the index is newer than the file
			return result{dir: dir, want: want, notices: []string{"line ends are not converted", "ident and working-tree-encoding"}}
		}},
		{"SHA256ObjectsWork", func(t *testing.T) result {
			return result{dir: mustRepo(t, someFiles, "--object-format=sha256")}
		}},
		{"NamesAreBytes", func(t *testing.T) result {
			return result{dir: mustRepo(t, map[string]string{
				"漢字/かな 한글": "1", "two words": "2", "new\nline": "3", "bad\xff\xfe": "4", "-rf": "5", "--help/-x": "6",
				"tab\tand\"quote\\": "7", "a\x01b": "8", "{a,b}*?[c]": "9", ":(top)x": "10", ".gitmodules.x": "11",
			})}
		}},
		{"ModesLinksAndPrefixNamesAreKept", func(t *testing.T) result {
			dir := mustRepo(t, map[string]string{"run.sh": "#!/bin/sh\n", "foo": "x", "foo.d/a": "y", "foo-bar": "z"})
			mustDo(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
			mustDo(t, os.Symlink("/etc/passwd", filepath.Join(dir, "abs")))
			mustDo(t, os.Symlink("../../outside", filepath.Join(dir, "foo.d", "up")))
			mustDo(t, os.Symlink("foo", filepath.Join(dir, "in")))
			mustGit(t, dir, "add", "-A")
			mustGit(t, dir, "commit", "-q", "-m", "more")
			return result{dir: dir}
		}},
		{"AWorktreeOfAWorktreeWorks", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			one := filepath.Join(t.TempDir(), "one")
			mustGit(t, dir, "worktree", "add", "-q", "-b", "one", one)
			mustWrite(t, one, map[string]string{"only-here": "x"})
			mustGit(t, one, "add", "-A")
			mustGit(t, one, "commit", "-q", "-m", "one")
			two := filepath.Join(t.TempDir(), "two")
			mustGit(t, one, "worktree", "add", "-q", "-b", "two", two)
			return result{dir: two}
		}},
		{"ASparseCheckoutGivesEverything", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			want := snapshot(t, dir)
			mustGit(t, dir, "sparse-checkout", "set", "--no-cone", "/README.md")
			return result{dir: dir, want: want, notices: []string{"sparse checkout"}}
		}},
		{"AnIndexOfVersion4IsRead", func(t *testing.T) result {
			dir := mustRepo(t, map[string]string{"a/one": "1", "a/two": "2", "b": "3"})
			mustGit(t, dir, "update-index", "--index-version=4")
			mustWrite(t, dir, map[string]string{"a/two": "22"})
			return result{dir: dir, want: map[string]string{"a/": "dir", "a/one": "file 1", "a/two": "file 2", "b": "file 3"},
				dirty: drydock.Dirty{Modified: 1, Paths: []string{"a/two"}}}
		}},
		{"IndexFlagsHideNoEdit", func(t *testing.T) result {
			dir := mustRepo(t, map[string]string{"a": "1"})
			mustGit(t, dir, "update-index", "--assume-unchanged", "a")
			mustWrite(t, dir, map[string]string{"a": "2"})
			return result{dir: dir, want: map[string]string{"a": "file 1"}, dirty: drydock.Dirty{Modified: 1, Paths: []string{"a"}}}
		}},
		{"ASplitIndexIsSaidToBeUnread", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "update-index", "--split-index")
			return result{dir: dir, notices: []string{"index has a form that is not read"}}
		}},
		{"ReplaceRefsAndGraftsChangeNothing", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			want := snapshot(t, dir)
			other := mustGit(t, dir, "commit-tree", "-m", "other", mustGit(t, dir, "mktree"))
			mustGit(t, dir, "replace", "HEAD", other)
			mustGit(t, dir, "config", "core.useReplaceRefs", "true")
			return result{dir: dir, want: want}
		}},
		{"BorrowedObjectsAreFound", func(t *testing.T) result {
			src := mustRepo(t, someFiles)
			one := filepath.Join(t.TempDir(), "one")
			mustGit(t, src, "clone", "-q", "--shared", src, one)
			two := filepath.Join(t.TempDir(), "two \"quoted\" 漢字")
			mustGit(t, src, "clone", "-q", "--shared", one, two)
			return result{dir: two}
		}},
		{"ASourceOnAnotherFileSystemWorks", func(t *testing.T) result {
			var here, there unix.Stat_t
			mustDo(t, unix.Stat(os.TempDir(), &here))
			if err := unix.Stat("/dev/shm", &there); err != nil || here.Dev == there.Dev {
				t.Fatalf("this test needs a second file system at /dev/shm, beside %s: %v", os.TempDir(), err)
			}
			base, err := os.MkdirTemp("/dev/shm", "drydock-test-*")
			mustDo(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(base) })
			dir := filepath.Join(base, "source")
			mustGit(t, "/", "clone", "-q", mustRepo(t, someFiles), dir)
			return result{dir: dir}
		}},
		{"PackedObjectsAndRefsAreRead", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "gc", "-q")
			return result{dir: dir}
		}},
		{"AnotherWorktreeNamedTreeIsNoConflict", func(t *testing.T) result {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "tree"))
			return result{dir: dir}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := tt.make(t)
			before := sourceState(t, r.dir)
			y := mustDock(t, r.dir)
			want := r.want
			if want == nil {
				want = snapshot(t, y.src.TopLevel)
			}
			checkSame(t, want, snapshot(t, y.place.Root))
			checkSame(t, want, readBack(t, y, y.first.Commit))
			if r.dirty.Paths == nil {
				r.dirty.Paths = []string{}
			}
			if !slices.Equal(y.src.Dirty.Paths, r.dirty.Paths) || y.src.Dirty.Modified != r.dirty.Modified || y.src.Dirty.Untracked != r.dirty.Untracked {
				t.Errorf("Dirty is %+v, want %+v", y.src.Dirty, r.dirty)
			}
			for _, n := range r.notices {
				if !strings.Contains(strings.Join(y.src.Notices, "\n"), n) {
					t.Errorf("no notice says %q: %q", n, y.src.Notices)
				}
			}
			if len(r.notices) == 0 && len(y.src.Notices) > 0 {
				t.Errorf("unexpected notices %q", y.src.Notices)
			}
			if d := y.drift(); len(d) > 0 {
				t.Errorf("a fresh Drydock drifted: %q", d)
			}
			if c := y.changes("", y.last); len(c) > 0 {
				t.Errorf("a fresh Drydock differs from its base: %q", c)
			}
			if err := y.d.Verify(context.Background(), y.place); err != nil {
				t.Errorf("Verify: %v", err)
			}
			mustDo(t, os.WriteFile(y.path("added by a test"), []byte("x"), 0o644))
			c := y.capture()
			if c.Changed != (drydock.Counts{Added: 1}) {
				t.Errorf("Changed is %+v, want one added", c.Changed)
			}
			want["added by a test"] = "file x"
			checkSame(t, want, readBack(t, y, c.Commit))
			checkSourceKept(t, r.dir, before)
			again, err := y.d.Inspect(context.Background(), r.dir)
			if err != nil || again.TrustDigest() != y.src.TrustDigest() {
				t.Errorf("a second Inspect has another digest: %v\n%+v\n%+v", err, again, y.src)
			}
			checkRestOfLife(t, y, c)
			checkSourceKept(t, r.dir, before)
		})
	}
}

// checkRestOfLife goes on with a Drydock of any source: back to its base and
// forth, a proven delivery, a fork, and the end of both without a trace.
func checkRestOfLife(t *testing.T, y *dockyard, c drydock.Capture) {
	t.Helper()
	ctx := context.Background()
	second := y.last
	if w := y.rewind(checkpointID(1)); w.Result.Tree != y.first.Tree {
		t.Errorf("the rewind gave %s, the base has %s", w.Result.Tree, y.first.Tree)
	}
	if w := y.rewind(second); w.Result.Tree != c.Tree {
		t.Errorf("the second rewind gave %s, the Checkpoint has %s", w.Result.Tree, c.Tree)
	}
	if d := y.deliver(); d.Tree != c.Tree || d.Changed != (drydock.Counts{Added: 1}) {
		t.Errorf("the delivery is %+v", d)
	}
	child, _, err := y.d.Create(ctx, drydockID(2), checkpointID(101), y.src)
	mustDo(t, err)
	if f, err := y.d.Adopt(ctx, child, checkpointID(101), checkpointID(102), y.place, second); err != nil || f.Tree != c.Tree {
		t.Errorf("the fork: %v %+v", err, f)
	}
	for _, d := range []drydock.Drydock{y.record(), {ID: drydockID(2), Source: y.src, Place: child}} {
		if r, err := y.d.Clean(ctx, d); err != nil || r.Pending || len(r.Kept) > 0 {
			t.Errorf("Clean of %s: %v %+v", d.ID, err, r)
		}
	}
	refs, err := tryGit(y.src.CommonDir, "--git-dir="+y.src.CommonDir, "for-each-ref", "--format=%(refname)")
	if err != nil || strings.Contains(refs, "cyberagent") {
		t.Errorf("refs are left: %v %s", err, refs)
	}
}

// sourceState is what Create must not change in a source.
func sourceState(t testing.TB, dir string) map[string]string {
	t.Helper()
	facts := strings.Split(mustGit(t, dir, "rev-parse", "HEAD", "--is-bare-repository", "--path-format=absolute", "--git-dir", "--show-cdup"), "\n")
	state := map[string]string{"head": facts[0]}
	if facts[1] == "false" {
		for p, c := range snapshot(t, filepath.Join(dir, facts[3])) {
			state["file "+p] = c
		}
	}
	git := facts[2]
	for _, name := range []string{"config", "index", "HEAD"} {
		b, _ := os.ReadFile(filepath.Join(git, name))
		state[name] = string(b)
	}
	return state
}

func checkSourceKept(t testing.TB, dir string, before map[string]string) {
	t.Helper()
	after := sourceState(t, dir)
	for k, v := range before {
		if after[k] != v {
			t.Errorf("the source's %s changed: %.200q, was %.200q", k, after[k], v)
		}
	}
	if len(after) != len(before) {
		t.Errorf("the source has %d files, had %d", len(after), len(before))
	}
}

func TestDrydocks_RefusedSources(t *testing.T) {
	t.Parallel()
	// plant commits a tree that git's own commands would not make.
	plant := func(t *testing.T, lines string) string {
		dir := mustRepo(t, someFiles)
		blob := mustGit(t, dir, "hash-object", "-w", "README.md")
		lines = strings.ReplaceAll(lines, "BLOB", blob)
		raw := bytes.Buffer{}
		for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
			mode, name, _ := strings.Cut(l, " ")
			f := format("sha1")
			o, err := f.parse(blob)
			mustDo(t, err)
			if mode == "40000" {
				o, err = f.parse(mustGit(t, dir, "rev-parse", "HEAD^{tree}"))
				mustDo(t, err)
			}
			raw.WriteString(mode + " " + name + "\x00" + string(o))
		}
		mustDo(t, os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o644))
		file := filepath.Join(t.TempDir(), "tree")
		mustDo(t, os.WriteFile(file, raw.Bytes(), 0o644))
		tree := mustGit(t, dir, "hash-object", "-t", "tree", "-w", "--literally", file)
		commit := mustGit(t, dir, "commit-tree", "-m", "planted", tree)
		mustGit(t, dir, "update-ref", "refs/heads/main", commit)
		return dir
	}
	tests := []struct {
		name string
		make func(t *testing.T) string
		code fault.Code
		says string
	}{
		{"APathOutsideOfAnyRepository", func(t *testing.T) string { return t.TempDir() }, fault.NotFound, "not in a git repository"},
		{"AMissingPath", func(t *testing.T) string { return "/nonexistent/x" }, fault.NotFound, "cannot be found"},
		{"ARepositoryWithoutCommits", func(t *testing.T) string {
			dir := t.TempDir()
			mustGit(t, dir, "init", "-q")
			return dir
		}, fault.SourceUnsupported, "no commit"},
		{"APartialCloneWithMissingObjects", func(t *testing.T) string {
			src := mustRepo(t, someFiles)
			mustGit(t, src, "config", "uploadpack.allowFilter", "true")
			dir := filepath.Join(t.TempDir(), "partial")
			mustGit(t, src, "clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+src, dir)
			return dir
		}, fault.SourceUnsupported, "lacks the content of"},
		{"ATreelessPartialClone", func(t *testing.T) string {
			src := mustRepo(t, someFiles)
			mustGit(t, src, "config", "uploadpack.allowFilter", "true")
			dir := filepath.Join(t.TempDir(), "treeless")
			mustGit(t, src, "clone", "-q", "--no-checkout", "--filter=tree:0", "file://"+src, dir)
			return dir
		}, fault.SourceUnsupported, "cannot be read"},
		{"ATreeWithDotGit", func(t *testing.T) string { return plant(t, "100644 .git\n100644 a") }, fault.SourceUnsupported, `".git"`},
		{"ATreeWithDotGitInCapitals", func(t *testing.T) string { return plant(t, "40000 .GiT\n100644 a") }, fault.SourceUnsupported, `".GiT"`},
		{"ATreeWithDotDot", func(t *testing.T) string { return plant(t, "40000 ..") }, fault.SourceUnsupported, `".."`},
		{"ATreeWithASlashInAName", func(t *testing.T) string { return plant(t, "100644 a/../../x") }, fault.SourceUnsupported, `a/../../x`},
		{"ATreeWithAnAbsoluteName", func(t *testing.T) string { return plant(t, "100644 /etc/x") }, fault.SourceUnsupported, `/etc/x`},
		{"ATreeWithOneNameTwice", func(t *testing.T) string { return plant(t, "120000 a\n40000 a") }, fault.SourceUnsupported, "damaged at a"},
		{"ANameTooLongForAFile", func(t *testing.T) string { return plant(t, "100644 "+strings.Repeat("n", 256)) }, fault.SourceUnsupported, "256 bytes"},
		{"ALinkNamedGitmodules", func(t *testing.T) string { return plant(t, "120000 .gitmodules\n100644 a") }, fault.SourceUnsupported, ".gitmodules as a link"},
		{"AHookInTheConfiguration", func(t *testing.T) string {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "config", "hook.Lint.command", "touch /tmp/x")
			return dir
		}, fault.SourceUnsupported, "hook.Lint.command"},
		{"ADamagedConfiguration", func(t *testing.T) string {
			dir := mustRepo(t, someFiles)
			mustWrite(t, dir, map[string]string{".git/config": "[core\n"})
			return dir
		}, fault.SourceUnsupported, "configuration"},
		{"ADotGitFileThatLeadsNowhere", func(t *testing.T) string {
			dir := t.TempDir()
			mustWrite(t, dir, map[string]string{".git": "gitdir: /nonexistent\n"})
			return dir
		}, fault.SourceUnsupported, "no git directory"},
		{"ARegistrationInsteadOfItsWorktree", func(t *testing.T) string {
			dir := mustRepo(t, someFiles)
			mustGit(t, dir, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "w"))
			return filepath.Join(dir, ".git", "worktrees", "w")
		}, fault.SourceUnsupported, "registration of a worktree"},
		{"APathWithANewline", func(t *testing.T) string {
			dir := filepath.Join(t.TempDir(), "a\nb")
			mustDo(t, os.Rename(mustRepo(t, someFiles), dir))
			return dir
		}, fault.SourceUnsupported, "control character"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := filepath.Join(t.TempDir(), "home")
			_, err := New(Config{Home: home}).Inspect(context.Background(), tt.make(t))
			if fault.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("Inspect: %s %v, want %s saying %q", fault.CodeOf(err), err, tt.code, tt.says)
			}
			if e := fault.From(err); e.Remedy == "" || e.Field == "" {
				t.Errorf("nothing says what to do, or where: %+v", e)
			}
			left, _ := filepath.Glob(filepath.Join(home, "*", "*"))
			if len(left) > 0 {
				t.Errorf("Inspect left %q", left)
			}
		})
	}
}

func TestDrydocks_InspectRefusesASourceAroundTheHome(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, below := range map[string]string{"in the worktree": "a/home", "in .git": ".git/cyberagent", "in a directory that is ignored": "ignored/home"} {
		src := mustRepo(t, someFiles)
		_, err := New(Config{Home: filepath.Join(src, below)}).Inspect(ctx, src)
		if e := fault.From(err); !errors.Is(err, fault.SourceUnsupported) || !strings.Contains(e.Error(), "home") || !strings.Contains(e.Remedy, "CYBERAGENT_HOME") {
			t.Errorf("%s: %v", name, err)
		}
		linked := filepath.Join(t.TempDir(), "w")
		mustGit(t, src, "worktree", "add", "-q", "--detach", linked)
		if _, err := New(Config{Home: filepath.Join(src, below)}).Inspect(ctx, linked); !errors.Is(err, fault.SourceUnsupported) {
			t.Errorf("%s, of another worktree: %v", name, err)
		}
	}
	// A name that only begins alike is another directory.
	src := mustRepo(t, someFiles)
	if _, err := New(Config{Home: src + "-home"}).Inspect(ctx, src); err != nil {
		t.Errorf("beside the source: %v", err)
	}
}

func TestDrydocks_InspectSaysWhatHoldsGitUp(t *testing.T) {
	t.Parallel()
	e := fault.From(late(gitCall{gitDir: "/src/.git", timeout: quickDeadline, args: []string{"config"}}))
	if e.Code != fault.SourceUnsupported || !strings.Contains(e.Remedy, "/src/.git") {
		t.Errorf("%+v", e)
	}
	if e = fault.From(late(gitCall{args: []string{"fast-import"}})); e.Code != fault.Internal || e.Remedy == "" {
		t.Errorf("%+v", e)
	}
}

func TestDrydocks_InspectSaysNothingAboutLFSFilesThatAreNotThere(t *testing.T) {
	t.Parallel()
	src := mustRepo(t, map[string]string{".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "small.txt": "x\n"})
	s, err := New(Config{Home: filepath.Join(t.TempDir(), "home")}).Inspect(context.Background(), src)
	if err != nil || strings.Contains(strings.Join(s.Notices, "\n"), "LFS") {
		t.Errorf("%v, %q", err, s.Notices)
	}
}

func TestDrydocks_InspectRefusesADrydock(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	_, err := y.d.Inspect(context.Background(), y.place.Root)
	if !errors.Is(err, fault.SourceUnsupported) || !strings.Contains(err.Error(), "product's own directory") {
		t.Fatalf("Inspect of a Drydock: %v", err)
	}
}

func TestCheckMagic_RefusesRemoteFileSystems(t *testing.T) {
	t.Parallel()
	for _, magic := range []uint32{0x6969, 0xFF534D42, 0xFE534D42, 0x01021997, 0x65735546} {
		if err := checkMagic(magic, "/x"); err == nil {
			t.Errorf("%#x is accepted", magic)
		}
	}
	for _, magic := range []uint32{0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630} {
		if err := checkMagic(magic, "/x"); err != nil {
			t.Errorf("%#x: %v", magic, err)
		}
	}
}

func TestDrydocks_CreateLeavesALockedWorktreeAndTwoRefs(t *testing.T) {
	t.Parallel()
	dir := mustRepo(t, someFiles)
	y := mustDock(t, dir)
	list := mustGit(t, dir, "worktree", "list", "--porcelain")
	for _, want := range []string{
		"worktree " + y.place.Root, "branch refs/heads/cyberagent/drydock/dry_00000000000000000000000001",
		"locked cyberagent drydock dry_00000000000000000000000001",
	} {
		if !strings.Contains(list, want+"\n") && !strings.HasSuffix(list, want) {
			t.Errorf("git worktree list lacks %q:\n%s", want, list)
		}
	}
	if got := mustGit(t, dir, "rev-parse", "refs/cyberagent/drydock/dry_00000000000000000000000001/base"); got != y.src.HeadCommit {
		t.Errorf("the base ref is %s, want %s", got, y.src.HeadCommit)
	}
	// git in the worktree, run by an operator who trusts it, finds it clean.
	if got := mustGit(t, y.place.Root, "-c", "safe.directory=*", "status", "--porcelain"); got != "" {
		t.Errorf("git status in the worktree: %q", got)
	}
	mustGit(t, dir, "worktree", "prune")
	if err := y.d.Verify(context.Background(), y.place); err != nil {
		t.Error(err)
	}
	if y.place.Access != drydock.AccessOwner && os.Geteuid() == 0 {
		t.Errorf("Access is %q", y.place.Access)
	}
	if y.place.RootID == (isolation.FileID{}) || y.place.ControlID == (isolation.FileID{}) {
		t.Error("the Place has no file ids")
	}
}

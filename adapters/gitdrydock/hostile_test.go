//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

func TestDrydocks_HostileTrees(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("this test makes devices and mounts: run it as root")
	}
	tests := []struct {
		name     string
		mutate   func(t *testing.T, y *dockyard)
		changed  drydock.Counts
		changes  []string
		excluded []drydock.Excluded
	}{
		{"NestedRepositoriesAreListedAndNotEntered", func(t *testing.T, y *dockyard) {
			for _, dir := range []string{"n1/.git", "n2/deep/er/.GIT", ".Git"} {
				mustWrite(t, y.path(dir), map[string]string{"HEAD": "ref: refs/heads/x\n", "config": "[core]\n\tfsmonitor = /bin/false\n"})
			}
			mustWrite(t, y.path("n3"), map[string]string{".gIt": "gitdir: /etc\n", "file": "x"})
		}, drydock.Counts{Added: 3}, []string{"A n1/", "A n2/deep/er/", "A n3/file"}, []drydock.Excluded{
			{Path: ".Git", Reason: "nested_repository"}, {Path: "n1/.git", Reason: "nested_repository"},
			{Path: "n2/deep/er/.GIT", Reason: "nested_repository"}, {Path: "n3/.gIt", Reason: "nested_repository"},
		}},
		{"ABareLayoutIsPlainFiles", func(t *testing.T, y *dockyard) {
			mustWrite(t, y.path("bare"), map[string]string{"HEAD": "ref: x\n", "config": "[core]\n\tbare = true\n", "objects/x": "", "refs/x": ""})
		}, drydock.Counts{Added: 4}, []string{"A bare/HEAD", "A bare/config", "A bare/objects/x", "A bare/refs/x"}, nil},
		{"WhatGitCannotRepresentIsListed", func(t *testing.T, y *dockyard) {
			mustDo(t, unix.Mkfifo(y.path("fifo"), 0o666))
			mustDo(t, unix.Mknod(y.path("null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
			mustDo(t, unix.Mknod(y.path("sock"), unix.S_IFSOCK|0o666, 0))
			mustDo(t, os.Remove(y.path("z")))
			mustDo(t, unix.Mkfifo(y.path("z"), 0o666))
			mustDo(t, os.Symlink("README.md", y.path("a/.GitModules")))
		}, drydock.Counts{Deleted: 1}, []string{"D z"}, []drydock.Excluded{
			{Path: "a/.GitModules", Reason: "gitmodules_link"},
			{Path: "fifo", Reason: "fifo"}, {Path: "null", Reason: "device"}, {Path: "sock", Reason: "socket"}, {Path: "z", Reason: "fifo"},
		}},
		{"ADirectorySwappedForALinkIsALink", func(t *testing.T, y *dockyard) {
			mustDo(t, os.RemoveAll(y.path("a")))
			mustDo(t, os.Symlink("/etc", y.path("a")))
		}, drydock.Counts{Added: 1, Deleted: 2}, []string{"A a", "D a/b/c.go", "D a/b/d.go"}, nil},
		{"AFileSwappedForADirectoryIsADirectory", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Remove(y.path("README.md")))
			mustWrite(t, y.path("README.md"), map[string]string{"x": "1"})
		}, drydock.Counts{Added: 1, Deleted: 1}, []string{"A README.md/x", "D README.md"}, nil},
		{"AFileSwappedForALinkIsModified", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Remove(y.path("README.md")))
			mustDo(t, os.Symlink("/etc/shadow", y.path("README.md")))
		}, drydock.Counts{Modified: 1}, []string{"M README.md"}, nil},
		{"AHardLinkIsAFileOfItsOwn", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Link(y.path("README.md"), y.path("again")))
		}, drydock.Counts{Added: 1}, []string{"A again"}, nil},
		{"AForgedTimeHidesNoChange", func(t *testing.T, y *dockyard) {
			before, err := os.Stat(y.path("README.md"))
			mustDo(t, err)
			time.Sleep(80 * time.Millisecond)
			y.drift() // every stat is trusted now
			f, err := os.OpenFile(y.path("README.md"), os.O_WRONLY, 0)
			mustDo(t, err)
			_, err = f.WriteString("HELLO\n") // the same size, the same inode
			mustDo(t, err)
			mustDo(t, f.Close())
			mustDo(t, os.Chtimes(y.path("README.md"), before.ModTime(), before.ModTime()))
		}, drydock.Counts{Modified: 1}, []string{"M README.md"}, nil},
		{"IgnoreRulesAndAttributesDecideNothing", func(t *testing.T, y *dockyard) {
			mustWrite(t, y.place.Root, map[string]string{
				".gitignore": "*\n", ".gitattributes": "* -diff export-ignore filter=evil text eol=crlf ident\n",
				".gitmodules": "[submodule \"x\"]\n\tpath = a\n\turl = ext::sh -c x\n", "ignored/x.o": "a\r\nb\r\n$Id$\n",
			})
		}, drydock.Counts{Added: 4}, []string{"A .gitattributes", "A .gitignore", "A .gitmodules", "A ignored/x.o"}, nil},
		{"ModesAndEmptyDirectoriesAreChanges", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Chmod(y.path("README.md"), 0o755))
			mustDo(t, os.Chmod(y.path("z"), 0o600)) // no mode that git records
			mustDo(t, os.MkdirAll(y.path("empty/er/est"), 0o700))
			mustDo(t, os.Remove(y.path("a/b/c.go")))
			mustDo(t, os.Remove(y.path("a/b/d.go")))
		}, drydock.Counts{Added: 2, Modified: 1, Deleted: 2},
			[]string{"A a/b/", "A empty/er/est/", "D a/b/c.go", "D a/b/d.go", "M README.md"}, nil},
		{"ModeZeroIsReadByRoot", func(t *testing.T, y *dockyard) {
			mustWrite(t, y.path("dark"), map[string]string{"x": "1"})
			mustDo(t, os.Chmod(y.path("dark/x"), 0))
			mustDo(t, os.Chmod(y.path("dark"), 0))
		}, drydock.Counts{Added: 1}, []string{"A dark/x"}, nil},
		{"SixtyLevelsOfLongNamesAreRecorded", func(t *testing.T, y *dockyard) {
			deep := strings.Repeat("/"+strings.Repeat("d", 60), 60)
			mustWrite(t, y.path(deep), map[string]string{"leaf": "x"})
		}, drydock.Counts{Added: 1}, []string{"A " + strings.Repeat(strings.Repeat("d", 60)+"/", 60) + "leaf"}, nil},
		{"NamesThatGitWouldRefuseAreRecorded", func(t *testing.T, y *dockyard) {
			mustWrite(t, y.place.Root, map[string]string{"git~1": "1", ".git ": "2", "a\\b": "3", "con": "4", ".g\u200cit": "5", "x\n\xff": "6"})
		}, drydock.Counts{Added: 6}, []string{`A ".g\u200cit"`, `A "a\\b"`, `A "x\n\xff"`, "A .git ", "A con", "A git~1"}, nil},
		{"NothingAtAllIsRecordedAsNothing", func(t *testing.T, y *dockyard) {
			for _, n := range []string{"README.md", "a", "z"} {
				mustDo(t, os.RemoveAll(y.path(n)))
			}
		}, drydock.Counts{Deleted: 4}, []string{"D README.md", "D a/b/c.go", "D a/b/d.go", "D z"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			from := y.last
			tt.mutate(t, y)
			want := snapshot(t, y.place.Root)
			drifted := y.drift()
			c := y.capture()
			if c.Changed != tt.changed {
				t.Errorf("Changed is %+v, want %+v", c.Changed, tt.changed)
			}
			if !slices.Equal(c.Excluded, tt.excluded) && len(c.Excluded)+len(tt.excluded) > 0 {
				t.Errorf("Excluded is %+v, want %+v", c.Excluded, tt.excluded)
			}
			got := y.changes(from, y.last)
			slices.Sort(got)
			if !slices.Equal(got, tt.changes) {
				t.Errorf("Changes are %q, want %q", got, tt.changes)
			}
			all := slices.Clone(tt.changes)
			for _, x := range tt.excluded {
				all = append(all, "A "+x.Path)
			}
			slices.Sort(all)
			slices.Sort(drifted)
			if !slices.Equal(drifted, all) {
				t.Errorf("Drift was %q, want %q", drifted, all)
			}
			delete(want, "a/.GitModules")
			checkSame(t, want, readBack(t, y, c.Commit))
			if d := y.drift(); len(d) > 0 {
				t.Errorf("after the Checkpoint: %q", d)
			}
		})
	}
}

func TestDrydocks_LimitsRefuseByName(t *testing.T) {
	t.Parallel()
	sparse := func(name string, size int64) func(*testing.T, *dockyard) {
		return func(t *testing.T, y *dockyard) {
			f, err := os.Create(y.path(name))
			mustDo(t, err)
			mustDo(t, f.Truncate(size))
			mustDo(t, f.Close())
		}
	}
	tests := []struct {
		name   string
		mutate func(t *testing.T, y *dockyard)
		limit  string
		path   string
	}{
		{"ASparseFileOfTwoGigabytes", sparse("big", 2<<30), "checkpoint_file_bytes", "big"},
		{"APathOfTooManyBytes", func(t *testing.T, y *dockyard) { deepTree(t, y.place.Root, 20, 220) }, "path_bytes", "dddd"},
		{"APathOfTooManyLevels", func(t *testing.T, y *dockyard) { deepTree(t, y.place.Root, 140, 3) }, "path_levels", "ddd/ddd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			tt.mutate(t, y)
			_, err := y.tryCapture()
			f := fault.From(err)
			if f == nil || f.Code != fault.RecoveryRequired || f.Details["limit"] != tt.limit || !strings.HasPrefix(f.Details["path"], tt.path) {
				t.Fatalf("Capture: %v %+v", err, f)
			}
			if _, err := y.d.Usage(context.Background(), y.place.Root); err != nil {
				t.Errorf("Usage must count it all the same: %v", err)
			}
		})
	}
}

// deepTree makes a chain of directories whose whole path no system call takes,
// and takes it down again, which os.RemoveAll can do too.
func deepTree(t *testing.T, root string, levels, size int) {
	t.Helper()
	name := strings.Repeat("d", size)
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	mustDo(t, err)
	for range levels {
		mustDo(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		mustDo(t, err)
		mustDo(t, unix.Close(fd))
		fd = next
	}
	mustDo(t, unix.Close(fd))
}

func TestDrydocks_AFileThatNeverRestsIsNamed(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	turns := 0
	restless := func(step string) error {
		turns++
		return os.WriteFile(y.path("restless"), bytes.Repeat([]byte{byte(turns)}, 1000), 0o644)
	}
	mustDo(t, restless(""))
	y.d.reached = restless // between the walk and the commit, each time
	_, err := y.tryCapture()
	f := fault.From(err)
	if f == nil || f.Code != fault.RecoveryRequired || f.Details["path"] != "restless" || turns < 3 {
		t.Fatalf("Capture beside a writer, %d turns: %v", turns, err)
	}
	y.d.reached = nil
	if c := y.capture(); c.Changed.Added != 1 { // at rest it works
		t.Errorf("Changed is %+v", c.Changed)
	}
}

func TestReadFile_SeesEveryChangeWhileItReads(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		during func(path string) error
	}{
		{"Longer", func(p string) error { return os.Truncate(p, 400_000) }},
		{"Shorter", func(p string) error { return os.Truncate(p, 10) }},
		{"OtherBytes", func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write([]byte("x"))
			return errors.Join(err, f.Close())
		}},
		{"AnotherMode", func(p string) error { return os.Chmod(p, 0o700) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			mustDo(t, os.WriteFile(path, make([]byte, 300_000), 0o600))
			time.Sleep(20 * time.Millisecond) // a change has another time stamp
			fd, err := unix.Open(dir, unix.O_RDONLY, 0)
			mustDo(t, err)
			defer unix.Close(fd)
			st, err := lstatAt(fd, "file")
			mustDo(t, err)
			buf := make([]byte, 64<<10)
			if _, _, err := readFile(fd, "file", "file", st, formatSHA1, nil, buf); err != nil {
				t.Fatalf("at rest: %v", err)
			}
			once := meddler(func() error { return tt.during(path) })
			var moved *errChanged
			if _, _, err := readFile(fd, "file", "file", st, formatSHA1, &once, buf); !errors.As(err, &moved) {
				t.Errorf("meddled with: %v", err)
			}
			if _, _, err := readFile(fd, "file", "file", st, formatSHA1, nil, buf); !errors.As(err, &moved) {
				t.Errorf("changed since its stat: %v", err)
			}
		})
	}
}

// meddler changes the file that is being read, at the first bytes of it.
type meddler func() error

func (m *meddler) Write(p []byte) (int, error) {
	if f := *m; f != nil {
		*m = nil
		return len(p), f()
	}
	return len(p), nil
}

func TestDrydocks_ASubmoduleThatIsFilledBecomesFiles(t *testing.T) {
	t.Parallel()
	sub := mustRepo(t, map[string]string{"inner": "x"})
	dir := mustRepo(t, someFiles)
	mustGit(t, dir, "submodule", "--quiet", "add", sub, "sub")
	mustGit(t, dir, "commit", "-q", "-m", "submodule")
	y := mustDock(t, dir)
	first := y.last
	mustWrite(t, y.path("sub"), map[string]string{"mine": "1"})
	c := y.capture()
	if got := y.changes(first, y.last); !slices.Equal(got, []string{"D sub", "A sub/mine"}) {
		t.Errorf("Changes are %q", got)
	}
	checkSame(t, snapshot(t, y.place.Root), readBack(t, y, c.Commit))
	mustDo(t, os.Remove(y.path("sub/mine")))
	c = y.capture()
	if got := y.changes(first, y.last); len(got) > 0 {
		t.Errorf("emptied again, Changes are %q", got)
	}
	if c.Tree != y.first.Tree {
		t.Errorf("emptied again, the tree is %s, was %s", c.Tree, y.first.Tree)
	}
	mustDo(t, os.Remove(y.path("sub")))
	y.capture()
	if got := y.changes(first, y.last); !slices.Equal(got, []string{"D sub"}) {
		t.Errorf("removed, Changes are %q", got)
	}
}

func TestDrydocks_DiffShowsContentWhateverAttributesSay(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, map[string]string{"f.txt": "one\n", ".gitattributes": "* -diff\n"}))
	mustWrite(t, y.place.Root, map[string]string{"f.txt": "two\n", ".gitattributes": "* -diff -text binary diff=evil\n", "bin": "a\x00b"})
	mustDo(t, os.Chmod(y.path("f.txt"), 0o755))
	y.capture()
	var out bytes.Buffer
	mustDo(t, y.d.Diff(context.Background(), y.place, "", y.last, &out))
	for _, want := range []string{
		"diff --git a/f.txt b/f.txt\nold mode 100644\nnew mode 100755\n", "\n-one\n+two\n", "Binary files /dev/null and b/bin differ\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the diff lacks %q:\n%s", want, out.String())
		}
	}
}

func TestDrydocks_CaptureIsRepeatable(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	ctx := context.Background()
	mustWrite(t, y.place.Root, map[string]string{"new": "1"})
	mustDo(t, unix.Mkfifo(y.path("fifo"), 0o600))
	first, next := y.last, checkpointID(2)
	one, err := y.d.Capture(ctx, y.place, first, next)
	mustDo(t, err)
	two, err := y.d.Capture(ctx, y.place, first, next)
	mustDo(t, err)
	if one.Commit != two.Commit || one.Changed != two.Changed || !slices.Equal(one.Excluded, two.Excluded) || one.Entries != two.Entries || one.Tree != two.Tree {
		t.Errorf("the repeated Capture is %+v, was %+v", two, one)
	}
	mustWrite(t, y.place.Root, map[string]string{"new": "2"})
	if _, err := y.d.Capture(ctx, y.place, first, next); fault.CodeOf(err) != fault.OperationConflict {
		t.Errorf("the same id with other files: %v", err)
	}
	if _, err := y.d.Capture(ctx, y.place, checkpointID(9), checkpointID(3)); fault.CodeOf(err) != fault.RecoveryRequired {
		t.Errorf("an unknown parent: %v", err)
	}
}

func TestDrydocks_CapturesOfOneDrydockAreSerialised(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	errs := make(chan error)
	for i := range 6 {
		go func() {
			d := New(Config{Home: y.d.cfg.Home}) // as another process would
			_, err := d.Capture(context.Background(), y.place, y.last, checkpointID(100+i))
			errs <- err
		}()
	}
	for range 6 {
		mustDo(t, <-errs)
	}
}

func TestDrydocks_DriftIsNeverSilent(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"a/new": "1", "new": "2"})
	for most, want := range map[int]int{-1: 1, 0: 1, 1: 1, 2: 2, 9: 2} {
		list, _, err := y.d.Drift(context.Background(), y.place, y.last, most)
		if err != nil || len(list) != want {
			t.Errorf("at most %d: %v, %v", most, list, err)
		}
	}
}

func TestDrydocks_AnEndedContextIsNoVerdictOnTheDrydock(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	mustDo(t, os.Remove(filepath.Join(filepath.Dir(y.place.Root), "cache")))
	_, inspect := y.d.Inspect(ctx, y.src.TopLevel)
	_, _, drift := y.d.Drift(ctx, y.place, y.last, 1)
	_, capture := y.d.Capture(ctx, y.place, y.last, checkpointID(2))
	_, changes := y.d.Changes(ctx, y.place, "", y.last)
	diff := y.d.Diff(ctx, y.place, "", y.last, &bytes.Buffer{})
	_, usage := y.d.Usage(ctx, y.place.Root)
	_, _, create := y.d.Create(ctx, drydockID(2), checkpointID(2), y.src)
	for verb, err := range map[string]error{
		"Inspect": inspect, "Drift": drift, "Capture": capture, "Changes": changes, "Diff": diff, "Usage": usage, "Create": create,
	} {
		if code := fault.CodeOf(err); !errors.Is(err, context.Canceled) || code != fault.Internal && code != fault.InProgress {
			t.Errorf("%s: %s %v", verb, code, err)
		}
	}
	y.capture() // nothing was broken
}

func TestDrydocks_ALockedDrydockAnswersInTime(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	lock, err := lockFile(context.Background(), filepath.Join(filepath.Dir(y.place.Root), "lock"))
	mustDo(t, err)
	defer lock.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, _, err := y.d.Drift(ctx, y.place, y.last, 1); fault.CodeOf(err) != fault.InProgress {
		t.Fatalf("Drift of a locked Drydock: %v", err)
	}
}

func TestDrydocks_ABrokenCacheIsIgnored(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	cache := filepath.Join(filepath.Dir(y.place.Root), "cache")
	good, err := os.ReadFile(cache)
	mustDo(t, err)
	other := mustDock(t, mustRepo(t, map[string]string{"x": "1"}))
	foreign, err := os.ReadFile(filepath.Join(filepath.Dir(other.place.Root), "cache"))
	mustDo(t, err)
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, content := range map[string][]byte{"empty": {}, "short": good[:len(good)/2], "flipped": flipped, "foreign": foreign} {
		mustDo(t, os.WriteFile(cache, content, 0o600))
		if d := y.drift(); len(d) > 0 {
			t.Errorf("with a cache that is %s: %q", name, d)
		}
	}
	mustDo(t, os.Remove(cache))
	mustWrite(t, y.place.Root, map[string]string{"README.md": "other\n"})
	if d := y.drift(); !slices.Equal(d, []string{"M README.md"}) {
		t.Errorf("without a cache: %q", d)
	}
	if c := y.capture(); c.Changed != (drydock.Counts{Modified: 1}) {
		t.Errorf("without a cache: %+v", c.Changed)
	}
}

func TestDrydocks_CheckpointsOutliveTheSourcesGarbageCollection(t *testing.T) {
	t.Parallel()
	dir := mustRepo(t, someFiles)
	y := mustDock(t, dir)
	// A file with the content of an object that the source will forget.
	mustWrite(t, dir, map[string]string{"doomed/file": "the same bytes\n"})
	mustGit(t, dir, "add", "-A")
	mustGit(t, dir, "commit", "-q", "-m", "doomed")
	mustGit(t, dir, "repack", "-q", "-a", "-d")
	mustWrite(t, y.place.Root, map[string]string{"doomed/file": "the same bytes\n"})
	c := y.capture()
	mustGit(t, dir, "checkout", "-q", "--orphan", "empty")
	mustGit(t, dir, "rm", "-rfq", ".")
	mustGit(t, dir, "commit", "-q", "--allow-empty", "-m", "nothing")
	mustGit(t, dir, "branch", "-qD", "main")
	mustGit(t, dir, "reflog", "expire", "--expire=now", "--all")
	mustGit(t, dir, "gc", "-q", "--prune=now")
	checkSame(t, snapshot(t, y.place.Root), readBack(t, y, c.Commit))
	mustGit(t, y.place.Shadow, "fsck", "--strict", "--no-dangling")
}

func TestDrydocks_ADamagedShadowRepositoryIsSaidToBe(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustWrite(t, y.place.Root, map[string]string{"a/new": "1"})
	y.capture()
	mustDo(t, os.Remove(filepath.Join(filepath.Dir(y.place.Root), "cache")))
	packs, err := filepath.Glob(filepath.Join(y.place.Shadow, "store", "pack", "*.pack"))
	mustDo(t, err)
	if len(packs) != 3 { // the base commit's trees and two Checkpoints
		t.Fatalf("the store has the packs %q", packs)
	}
	for _, pack := range packs {
		object := strings.TrimSuffix(pack, ".pack") + ".idx"
		hidden := object + ".hidden"
		mustDo(t, os.Rename(object, hidden))
		list, _, err := y.d.Drift(context.Background(), y.place, y.last, 9)
		_, changesErr := y.d.Changes(context.Background(), y.place, y.last, y.last)
		mustDo(t, os.Rename(hidden, object))
		for _, err := range []error{err, changesErr} {
			if err != nil && fault.CodeOf(err) != fault.RecoveryRequired {
				t.Errorf("without %s: %v", filepath.Base(object), err)
			}
		}
		if err == nil && len(list) > 0 {
			t.Errorf("without %s the files seem to have changed: %v", filepath.Base(object), list)
		}
		_ = os.Remove(filepath.Join(filepath.Dir(y.place.Root), "cache"))
	}
}

func TestDrydocks_ManyCheckpointsStayFewPacks(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	commits := map[string]string{}
	for n := range mostPacks + 8 {
		content := fmt.Sprint(n)
		mustWrite(t, y.place.Root, map[string]string{"a/b/c.go": content})
		commits[y.capture().Commit] = content
	}
	packs, err := filepath.Glob(filepath.Join(y.place.Shadow, "store", "pack", "*.pack"))
	mustDo(t, err)
	if len(packs) > mostPacks {
		t.Errorf("the store has %d packs after %d Checkpoints", len(packs), len(commits))
	}
	mustGit(t, y.place.Shadow, "fsck", "--strict", "--no-dangling")
	n := 0
	for commit, content := range commits {
		if n++; n%8 == 0 {
			if got := readBack(t, y, commit)["a/b/c.go"]; got != "file "+content {
				t.Errorf("Checkpoint %s has %q, want %q", commit, got, content)
			}
		}
	}
	if d := y.drift(); len(d) > 0 {
		t.Errorf("drift %q", d)
	}
}

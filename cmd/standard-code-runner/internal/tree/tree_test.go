//go:build linux

package tree

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, dir string) *Tree {
	t.Helper()
	tr, err := Open(dir, ".git", uint32(os.Getuid()), 1<<20)
	must(t, err)
	t.Cleanup(func() { tr.Close() })
	return tr
}

func mustScan(t *testing.T, tr *Tree) Found {
	t.Helper()
	f, err := tr.Scan()
	must(t, err)
	return f
}

// grown is what an act in an empty directory adds.
func grown(t *testing.T, act func(dir string)) (Usage, Found) {
	t.Helper()
	dir := t.TempDir()
	tr := mustOpen(t, dir)
	base := mustScan(t, tr)
	act(dir)
	f := mustScan(t, tr)
	return f.Minus(base.Usage), f
}

func TestAHardLinkCountsItsNameOnly(t *testing.T) {
	g, _ := grown(t, func(dir string) {
		must(t, os.WriteFile(filepath.Join(dir, "a"), make([]byte, 40_960), 0o644))
		for i := range 50 {
			must(t, os.Link(filepath.Join(dir, "a"), filepath.Join(dir, fmt.Sprint(i))))
		}
	})
	if g.Entries != 51 || g.Bytes != 40_960 {
		t.Errorf("%+v", g)
	}
}

func TestASparseFileCountsItsSize(t *testing.T) {
	g, f := grown(t, func(dir string) {
		must(t, os.WriteFile(filepath.Join(dir, "sparse"), nil, 0o644))
		must(t, os.Truncate(filepath.Join(dir, "sparse"), 5<<30))
		must(t, os.WriteFile(filepath.Join(dir, "exact"), nil, 0o644))
		must(t, os.Truncate(filepath.Join(dir, "exact"), 1<<20))
	})
	if g.Entries != 2 || g.Bytes != 5<<30+1<<20 {
		t.Errorf("%+v", g)
	}
	if len(f.Exact) != 1 {
		t.Errorf("files of the exact size: %v", f.Exact)
	}
	for _, p := range f.Exact {
		if p != "exact" {
			t.Errorf("%q", p)
		}
	}
}

func TestASmallFileCountsWhatIsAllocated(t *testing.T) {
	g, _ := grown(t, func(dir string) {
		f, err := os.Create(filepath.Join(dir, "small"))
		must(t, err)
		_, err = f.Write([]byte("x"))
		must(t, err)
		must(t, f.Sync()) // allocated for sure
		must(t, f.Close())
	})
	if g.Entries != 1 || g.Bytes < 512 {
		t.Errorf("%+v", g)
	}
}

func TestLinksFIFOsAndSocketsAreEntriesAndAreNotOpened(t *testing.T) {
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "big"), make([]byte, 1<<20), 0o644))
	g, _ := grown(t, func(dir string) {
		must(t, os.Symlink(outside, filepath.Join(dir, "out")))
		must(t, os.Symlink("/proc/self/fd/0", filepath.Join(dir, "fd")))
		must(t, unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	})
	if g.Entries != 3 || g.Bytes > 8192 {
		t.Errorf("%+v", g)
	}
}

func TestTheMasksBytesDoNotCountButItsNameDoes(t *testing.T) {
	g, _ := grown(t, func(dir string) {
		must(t, os.WriteFile(filepath.Join(dir, ".git"), make([]byte, 1<<16), 0o644))
		must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "sub/.git"), make([]byte, 1<<16), 0o644))
	})
	if g.Entries != 3 || g.Bytes < 1<<16 || g.Bytes > 1<<16+8192 {
		t.Errorf("%+v", g)
	}
}

func TestNamesAreBytes(t *testing.T) {
	g, f := grown(t, func(dir string) {
		must(t, os.WriteFile(dir+"/-rf\n\xff\xfe", nil, 0o644))
		must(t, os.Truncate(dir+"/-rf\n\xff\xfe", 1<<20))
	})
	if g.Entries != 1 || len(f.Exact) != 1 {
		t.Errorf("%+v %v", g, f.Exact)
	}
	for _, p := range f.Exact {
		if p != "-rf\n\uFFFD" {
			t.Errorf("%q", p)
		}
	}
}

// chain makes n directories within each other, by descriptors.
func chain(t *testing.T, dir, name string, n int) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	must(t, err)
	for range n {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
}

func TestSixtyLevelsOfLongNamesAreCounted(t *testing.T) {
	g, _ := grown(t, func(dir string) { chain(t, dir, strings.Repeat("d", 255), 60) })
	if g.Entries != 60 {
		t.Errorf("%+v", g)
	}
}

func TestATreeDeeperThanTheLimitIsAnError(t *testing.T) {
	dir := t.TempDir()
	chain(t, dir, "d", maxDepth+5)
	if f, err := mustOpen(t, dir).Scan(); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("%+v %v", f.Usage, err)
	}
	unix.Sync() // nothing depends on it; the removal of deep trees is slow without
}

func TestWideTreesAreCountedWhole(t *testing.T) {
	g, _ := grown(t, func(dir string) {
		for i := range 30 {
			sub := filepath.Join(dir, fmt.Sprint(i), "s")
			must(t, os.MkdirAll(sub, 0o755))
			for j := range 40 {
				must(t, os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o644))
			}
		}
	})
	if g.Entries != 30*42 {
		t.Errorf("%+v", g)
	}
}

func TestEntriesThatVanishDuringAScanAreNoError(t *testing.T) {
	dir := t.TempDir()
	tr := mustOpen(t, dir)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			sub := filepath.Join(dir, fmt.Sprint(i%7))
			os.MkdirAll(filepath.Join(sub, "x/y"), 0o755)
			os.WriteFile(filepath.Join(sub, "x/f"), nil, 0o644)
			os.Rename(filepath.Join(sub, "x"), filepath.Join(dir, "moved"))
			os.RemoveAll(filepath.Join(dir, "moved"))
			os.RemoveAll(sub)
			os.Symlink("/", sub)
			os.Remove(sub)
		}
	}()
	for range 300 {
		if _, err := tr.Scan(); err != nil {
			t.Error(err)
			break
		}
	}
	stop.Store(true)
	<-done
}

func TestADescriptorShortageIsAnError(t *testing.T) {
	dir := t.TempDir()
	tr := mustOpen(t, dir)
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	var old unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	low := old
	low.Cur = 0
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &low))
	f, err := tr.Scan()
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	if err == nil {
		t.Errorf("%+v", f)
	}
}

// acl is an access ACL: owner rwx, user 12345 rwx, group r-x, mask rwx, other r-x.
func acl() []byte {
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, ^uint32(0)}, {2, 7, 12345}, {4, 5, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 5, ^uint32(0)}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func TestRestoreGivesTheOwnerAccess(t *testing.T) {
	for _, withACL := range []bool{false, true} {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o755))
		if withACL {
			if err := unix.Setxattr(dir, "system.posix_acl_access", acl(), 0); err != nil {
				t.Fatalf("the filesystem of %s has no ACLs: %v", dir, err)
			}
		}
		for name, mode := range map[string]os.FileMode{"plain": 0o644, "run": 0o755, "shut": 0, "read": 0o444} {
			must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			must(t, os.Chmod(filepath.Join(dir, name), mode))
		}
		must(t, os.MkdirAll(filepath.Join(dir, "d/e"), 0o755))
		must(t, os.Chmod(filepath.Join(dir, "d/e"), 0o500))
		must(t, os.Chmod(filepath.Join(dir, "d"), 0))
		must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
		tr := mustOpen(t, dir)
		if f := mustScan(t, tr); f.Shut == 0 {
			t.Error("the scan did not see that there is something to restore")
		}
		lost, err := tr.Restore()
		must(t, err)
		if len(lost) != 0 {
			t.Errorf("lost: %v", lost)
		}
		want := map[string]os.FileMode{"plain": 0o644, "run": 0o755, "shut": 0o600, "read": 0o644, "d": 0o700 | os.ModeDir, "d/e": 0o700 | os.ModeDir}
		if withACL {
			want = map[string]os.FileMode{"plain": 0o664, "run": 0o775, "shut": 0o660, "read": 0o664, "d": 0o770 | os.ModeDir, "d/e": 0o770 | os.ModeDir}
		}
		for name, mode := range want {
			info, err := os.Lstat(filepath.Join(dir, name))
			must(t, err)
			if info.Mode() != mode {
				t.Errorf("ACL %v: %s has %v, want %v", withACL, name, info.Mode(), mode)
			}
		}
		if f := mustScan(t, tr); f.Shut != 0 {
			t.Errorf("%d entries are still to restore", f.Shut)
		}
	}
}

func TestRestoreLeavesOthersEntriesAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "theirs")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, os.Chmod(path, 0o040))
	tr, err := Open(dir, ".git", uint32(os.Getuid())+1, 0)
	must(t, err)
	defer tr.Close()
	if _, err := tr.Restore(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o040 {
		t.Errorf("%v %v", info, err)
	}
}

func TestTheRootIsNoLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink("/", link))
	if tr, err := Open(link, "", 0, 0); err == nil {
		tr.Close()
		t.Error("a link was opened as a root")
	}
}

func BenchmarkScan12800Entries(b *testing.B) {
	dir := b.TempDir()
	for i := range 200 {
		sub := filepath.Join(dir, fmt.Sprint(i))
		os.Mkdir(sub, 0o755)
		for j := range 63 {
			os.WriteFile(filepath.Join(sub, fmt.Sprint(j)), nil, 0o644)
		}
	}
	tr, err := Open(dir, ".git", 0, 1)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if f, err := tr.Scan(); err != nil || f.Entries != 12_800 {
			b.Fatal(f.Entries, err)
		}
	}
}

func TestACountEndsWhereItIsWanted(t *testing.T) {
	dir := t.TempDir()
	for i := range 200 {
		must(t, os.MkdirAll(filepath.Join(dir, fmt.Sprint(i), "inner"), 0o755))
	}
	f, err := mustOpen(t, dir).ScanUntil(Usage{Bytes: 1 << 40, Entries: 250})
	must(t, err)
	if f.Entries <= 250 || f.Entries > 250+2*workers {
		t.Errorf("%d entries of 400 were counted", f.Entries)
	}
}

func TestNamesThatAppearAreCounted(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "before"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "one"), nil, 0o644))
	tr := mustOpen(t, dir)
	names := tr.WatchNames()
	mustScan(t, tr)
	for i := range 30 {
		must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "before", fmt.Sprint(i))))
	}
	must(t, os.Mkdir(filepath.Join(dir, "later"), 0o755))
	if n := names.New(); n != 31 {
		t.Errorf("%d names, want 31", n)
	}
	mustScan(t, tr)
	must(t, os.WriteFile(filepath.Join(dir, "later", "x"), nil, 0o644))
	must(t, os.Rename(filepath.Join(dir, "one"), filepath.Join(dir, "later", "y")))
	must(t, os.RemoveAll(filepath.Join(dir, "before")))
	if n := names.New(); n != 2 {
		t.Errorf("%d names, want 2: made, and moved in", n)
	}
	if n := (*Names)(nil).New(); n != 0 {
		t.Errorf("without inotify there are %d", n)
	}
}

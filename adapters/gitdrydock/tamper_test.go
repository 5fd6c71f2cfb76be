//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

func TestDrydocks_VerifyFindsWhatWasTamperedWith(t *testing.T) {
	t.Parallel()
	control := func(y *dockyard) []byte {
		b, err := os.ReadFile(y.path(".git"))
		mustDo(y.t, err)
		return b
	}
	tests := []struct {
		name   string
		tamper func(t *testing.T, y *dockyard)
		says   string
	}{
		{"AnotherFileOfTheSameBytes", func(t *testing.T, y *dockyard) {
			mustDo(t, os.WriteFile(y.path("x"), control(y), 0o644))
			mustDo(t, os.Rename(y.path("x"), y.path(".git")))
		}, "recorded was"},
		{"OtherBytesOfTheSameLength", func(t *testing.T, y *dockyard) {
			mustDo(t, os.WriteFile(y.path(".git"), bytes.ToUpper(control(y)), 0o644))
		}, "other content"},
		{"ALink", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Rename(y.path(".git"), y.path("x")))
			mustDo(t, os.Symlink("x", y.path(".git")))
		}, "is a symlink"},
		{"ADirectory", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Remove(y.path(".git")))
			mustDo(t, os.Mkdir(y.path(".git"), 0o755))
		}, "is a directory"},
		{"AFIFO", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Remove(y.path(".git")))
			mustDo(t, unix.Mkfifo(y.path(".git"), 0o644))
		}, "is a other"},
		{"ASecondName", func(t *testing.T, y *dockyard) { mustDo(t, os.Link(y.path(".git"), y.path("x"))) }, "2 links"},
		{"NoControlFile", func(t *testing.T, y *dockyard) { mustDo(t, os.Remove(y.path(".git"))) }, "no such file"},
		{"AnotherRoot", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Rename(y.place.Root, y.place.Root+".old"))
			mustDo(t, os.Mkdir(y.place.Root, 0o755))
		}, "root is file"},
		{"ALinkAsRoot", func(t *testing.T, y *dockyard) {
			mustDo(t, os.Rename(y.place.Root, y.place.Root+".old"))
			mustDo(t, os.Symlink(y.place.Root+".old", y.place.Root))
		}, "without following links"},
		{"ALinkInThePath", func(t *testing.T, y *dockyard) {
			dir := filepath.Dir(y.place.Root)
			mustDo(t, os.Rename(dir, dir+".old"))
			mustDo(t, os.Symlink(dir+".old", dir))
		}, "without following links"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			y := mustDock(t, mustRepo(t, someFiles))
			mustDo(t, y.d.Verify(context.Background(), y.place))
			tt.tamper(t, y)
			err := y.d.Verify(context.Background(), y.place)
			if fault.CodeOf(err) != fault.IntegrityLost || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("Verify: %v, want integrity_lost saying %q", err, tt.says)
			}
			if _, err := y.tryCapture(); err == nil {
				t.Error("a tampered Drydock was captured")
			}
			if _, _, err := y.d.Drift(context.Background(), y.place, y.last, 1); err == nil {
				t.Error("a tampered Drydock was compared")
			}
		})
	}
}

func TestDrydocks_APlaceElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	for _, root := range []string{"/", "/etc", y.place.Root + "/a", y.d.cfg.Home + "/drydocks/x/tree", strings.Replace(y.place.Root, "/tree", "/../dry_00000000000000000000000001/tree", 1), ""} {
		p := y.place
		p.Root = root
		if err := y.d.Verify(context.Background(), p); fault.CodeOf(err) != fault.IntegrityLost {
			t.Errorf("Verify of %q: %v", root, err)
		}
	}
	for _, c := range []id.Checkpoint{"", "../x", "ckpt_-x", "--all"} {
		if _, _, err := y.d.Drift(context.Background(), y.place, c, 1); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("Drift from %q: %v", c, err)
		}
	}
}

// mountStage runs in a mount namespace of its own: a bind mount beneath the
// root is lost integrity, and a walk does not enter it.
func mountStage(ctx context.Context, d *Drydocks, o order) (answer, error) {
	target := filepath.Join(o.Place.Root, "a")
	if err := unix.Mount("/etc", target, "", unix.MS_BIND, ""); err != nil {
		return answer{}, err
	}
	err := d.Verify(ctx, o.Place)
	if fault.CodeOf(err) != fault.IntegrityLost || !strings.Contains(err.Error(), "mounted beneath") {
		return answer{}, fmt.Errorf("Verify: %w", err)
	}
	file := filepath.Join(o.Place.Root, "README.md")
	if err := unix.Mount("/etc/hostname", file, "", unix.MS_BIND, ""); err != nil {
		return answer{}, err
	}
	res, err := scan(ctx, o.Place.Root, newManifest(formatSHA1))
	if err != nil {
		return answer{}, err
	}
	c := drydock.Capture{Excluded: domainExcluded(res.next.excluded)}
	u, err := d.Usage(ctx, o.Place.Root)
	return answer{Capture: c, Usage: u, Changes: domainChanges(res.changes)}, err
}

func TestDrydocks_MountsBeneathAreNotEntered(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	a := runStage(t, ownMounts(t), order{Stage: "mounts", Home: y.d.cfg.Home, Place: y.place})
	if a.Error != "" {
		t.Fatal(a.Message)
	}
	want := []drydock.Excluded{{Path: "README.md", Reason: "mount_point"}, {Path: "a", Reason: "mount_point"}}
	if fmt.Sprint(a.Capture.Excluded) != fmt.Sprint(want) || fmt.Sprint(a.Changes) != "[{z added}]" {
		t.Errorf("excluded %v, changes %v", a.Capture.Excluded, a.Changes)
	}
	if a.Usage.Entries > 5 {
		t.Errorf("Usage entered the mount: %+v", a.Usage)
	}
}

func TestDrydocks_CheckWorkdir(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	mustDo(t, os.Symlink("a", y.path("link")))
	mustDo(t, os.Symlink("/etc", y.path("a/out")))
	mustDo(t, unix.Mkfifo(y.path("fifo"), 0o666))
	mustWrite(t, y.path("漢 字"), map[string]string{"-x/f": ""})
	for _, ok := range []string{"", ".", "a", "a/b", "漢 字/-x"} {
		if err := y.d.CheckWorkdir(context.Background(), y.place, ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"..", "../tree", "a/..", "/", "/etc", "a/", "a//b", "./a", "link", "link/b", "a/out", "a/out/ssl", "README.md",
		"missing", "a/missing", "fifo", ".git", "a/.GIT", "a\x00b", strings.Repeat("x", 5000),
	} {
		err := y.d.CheckWorkdir(context.Background(), y.place, bad)
		if f := fault.From(err); f == nil || f.Code != fault.InvalidArgument || f.Field != "workdir" || f.Remedy == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestDrydocks_MaskIsMadeOnceAndNeverRepaired(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error // nil when the domain accepts it
	}{
		{"AbsentIsMade", func(*testing.T, string) {}, nil},
		{"OtherContentStays", func(t *testing.T, p string) { mustDo(t, os.WriteFile(p, []byte("gitdir: /etc\n"), 0o444)) }, fault.MaskInvalid},
		{"LongerContentStays", func(t *testing.T, p string) {
			mustDo(t, os.WriteFile(p, []byte(isolation.MaskContent+strings.Repeat("x", 1<<20)), 0o444))
		}, fault.MaskInvalid},
		{"AnotherModeStays", func(t *testing.T, p string) { mustDo(t, os.WriteFile(p, []byte(isolation.MaskContent), 0o644)) }, fault.MaskInvalid},
		{"ASecondNameStays", func(t *testing.T, p string) {
			mustDo(t, os.WriteFile(p, []byte(isolation.MaskContent), 0o444))
			mustDo(t, os.Link(p, p+".2"))
		}, fault.MaskInvalid},
		{"ALinkStays", func(t *testing.T, p string) {
			mustDo(t, os.WriteFile(p+".2", []byte(isolation.MaskContent), 0o444))
			mustDo(t, os.Symlink(p+".2", p))
		}, fault.MaskInvalid},
		{"ADanglingLinkStays", func(t *testing.T, p string) { mustDo(t, os.Symlink("/nonexistent", p)) }, fault.MaskInvalid},
		{"ADirectoryStays", func(t *testing.T, p string) { mustDo(t, os.Mkdir(p, 0o444)) }, fault.MaskInvalid},
		{"AFIFODoesNotBlock", func(t *testing.T, p string) { mustDo(t, unix.Mkfifo(p, 0o444)) }, fault.MaskInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := filepath.Join(home, "mask", "git-mask")
			mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700)) // as the product would
			tt.make(t, path)
			d := New(Config{Home: home})
			for range 2 {
				facts, err := d.Mask(context.Background())
				mustDo(t, err)
				if err := isolation.CheckMask(facts); !errors.Is(err, tt.want) {
					t.Fatalf("CheckMask of %+v: %v, want %v", facts, err, tt.want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(home, "mask", ".new-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func TestDrydocks_UsageCountsInodesAndNames(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	d := New(Config{Home: t.TempDir()})
	usage := func() drydock.Usage {
		t.Helper()
		u, err := d.Usage(context.Background(), root)
		mustDo(t, err)
		return u
	}
	empty := usage()
	if empty.Entries != 0 || empty.Bytes < 4096 {
		t.Errorf("an empty root is %+v", empty)
	}
	grow := func(what string, bytes, entries int64, f func()) {
		t.Helper()
		before := usage()
		f()
		after := usage()
		if got := after.Bytes - before.Bytes; got != bytes || after.Entries-before.Entries != entries {
			t.Errorf("%s: %d bytes and %d entries more, want %d and %d", what, got, after.Entries-before.Entries, bytes, entries)
		}
	}
	file := filepath.Join(root, "file")
	grow("a byte takes a block", 4096, 1, func() { mustDo(t, os.WriteFile(file, []byte("x"), 0o600)) })
	grow("a second name takes nothing", 0, 1, func() { mustDo(t, os.Link(file, filepath.Join(root, "again"))) })
	grow("a sparse file counts its size", 64<<20, 1, func() {
		f, err := os.Create(filepath.Join(root, "sparse"))
		mustDo(t, err)
		mustDo(t, f.Truncate(64<<20))
		mustDo(t, f.Close())
	})
	grow("a directory takes a block", 4096, 1, func() { mustDo(t, os.Mkdir(filepath.Join(root, "dir"), 0o700)) })
	grow("a FIFO is a name", 0, 1, func() { mustDo(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600)) })
	grow("a nested repository counts", 8192, 2, func() { mustWrite(t, root, map[string]string{".git/config": "x"}) })
	mustDo(t, os.Symlink("/", filepath.Join(root, "link")))
	if got := usage(); got.Entries != 8 {
		t.Errorf("a link is a name and not followed: %+v", got)
	}
	free, err := d.Free(context.Background(), root)
	if err != nil || free.Bytes <= 0 || !free.InodesKnown || free.Inodes <= 0 {
		t.Errorf("Free is %+v, %v", free, err)
	}
	spaces := d.Namespaces()
	for _, n := range isolation.Namespaces() {
		if spaces[n] == 0 {
			t.Errorf("no number for the namespace %s: %v", n, spaces)
		}
	}
}

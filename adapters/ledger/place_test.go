package ledger

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"cyberagent/domain/fault"
)

func TestANewLedgerIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Log("modes mean nothing here")
		return
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "ledger.db")
	l, c := open(t, path), chainOf(t, 1)
	write(t, l, c.prepared)
	for p, want := range map[string]os.FileMode{
		filepath.Dir(dir): 0o700, dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, l.reservePath(): 0o600,
	} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", p, info.Mode().Perm(), want)
		}
	}
}

func TestAPathIsNothingButAPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "a?mode=memory", "a#b", "a%41", "a&_pragma=x", "ü'\"", "file:x"} {
		path := filepath.Join(t.TempDir(), name, "l.db")
		l := open(t, path)
		c := chainOf(t, 1)
		write(t, l, c.prepared)
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestTheInstallationIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "l.db")
	first := open(t, path)
	if second := open(t, path); second.Installation() != first.Installation() {
		t.Error("two identities")
	}
	if other := open(t, filepath.Join(t.TempDir(), "l.db")); other.Installation() == first.Installation() {
		t.Error("two ledgers are one installation")
	}
}

func TestWhatIsNoUsableFileIsRefusedWithARemedyAndLeftAlone(t *testing.T) {
	t.Parallel()
	for what, make := range map[string]func(*testing.T, string) string{
		"a directory": func(t *testing.T, dir string) string {
			return dir
		},
		"a link to a ledger": func(t *testing.T, dir string) string {
			real, link := filepath.Join(dir, "real.db"), filepath.Join(dir, "link.db")
			if err := open(t, real).Close(); err != nil {
				t.Fatal(err)
			}
			return symlink(t, real, link)
		},
		"a link to nothing": func(t *testing.T, dir string) string {
			return symlink(t, filepath.Join(dir, "planted"), filepath.Join(dir, "link.db"))
		},
		"a file that is no database": func(t *testing.T, dir string) string {
			return file(t, filepath.Join(dir, "l.db"), bytes.Repeat([]byte("not a database\n"), 1000))
		},
		"a damaged ledger": func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "l.db")
			if err := open(t, path).Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 100; i < len(b); i++ { // the header stays
				b[i] = 0xa5
			}
			return file(t, path, b)
		},
		"a file where the directory should be": func(t *testing.T, dir string) string {
			return filepath.Join(file(t, filepath.Join(dir, "d"), []byte("x")), "l.db")
		},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			path := make(t, dir)
			before, _ := os.ReadFile(path)
			_, err := Open(t.Context(), Config{Path: path})
			if !errors.Is(err, fault.LedgerUnusable) {
				t.Fatalf("got %v", err)
			}
			if fault.From(err).Remedy == "" {
				t.Error("no remedy")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file changed")
			}
			if _, err := os.Stat(filepath.Join(dir, "planted")); err == nil {
				t.Error("the link was followed")
			}
		})
	}
	if _, err := Open(t.Context(), Config{}); !errors.Is(err, fault.ConfigInvalid) {
		t.Errorf("no path: %v", err)
	}
}

func symlink(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func file(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNetworkFilesystemsAreRefusedByTheirMagic(t *testing.T) {
	t.Parallel()
	for magic, want := range map[uint32]string{
		0x6969: "nfs", 0x517b: "smb", 0xff534d42: "cifs", 0xfe534d42: "smb2", 0x01021997: "9p", 0x65735546: "fuse",
		0xef53: "", 0x58465342: "", 0x9123683e: "", 0x01021994: "", 0x794c7630: "", 0x2fc12fc1: "", // ext4, xfs, btrfs, tmpfs, overlay, zfs
	} {
		got := classify(magic)
		if got.Network != (want != "") || !strings.Contains(got.Name, want) {
			t.Errorf("%#x: %+v, want %q", magic, got, want)
		}
		dir := filepath.Join(t.TempDir(), "d")
		l, err := Open(t.Context(), Config{
			Path: filepath.Join(dir, "l.db"), filesystem: func(string) (filesystem, error) { return classify(magic), nil },
		})
		if want == "" {
			if err != nil {
				t.Errorf("%#x: %v", magic, err)
				continue
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, fault.LedgerUnusable) || fault.From(err).Details["filesystem"] == "" || fault.From(err).Remedy == "" {
			t.Errorf("%#x: %v", magic, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "l.db")); err == nil {
			t.Errorf("%#x: a file was made", magic)
		}
	}
	for name, network := range map[string]bool{"apfs": false, "hfs": false, "nfs": true, "smbfs": true, "macfuse": true, "webdav": true} {
		if got := classifyName(name); got.Network != network {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

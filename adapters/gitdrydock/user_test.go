//go:build linux

package gitdrydock

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// userRepo makes a repository that belongs to the operator.
func userRepo(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	source := filepath.Join(dir, "source")
	mustDo(t, os.Rename(mustRepo(t, files), source))
	if out, err := exec.Command("chown", "-R", "1001:1001", source).CombinedOutput(); err != nil {
		t.Fatalf("chown: %v %s", err, out)
	}
	return source
}

func TestOrdinaryUser_TheContainerWritesAndTheOperatorReads(t *testing.T) {
	t.Parallel()
	dir := openTemp(t, operator)
	o := order{Stage: "create", Home: filepath.Join(dir, "home"), Source: userRepo(t, dir, someFiles)}
	a := runStage(t, asOperator(t), o)
	if a.Error != "" || a.Place.Access != drydock.AccessACL {
		t.Fatalf("create: %s %s, access %q", a.Error, a.Message, a.Place.Access)
	}
	root := a.Place.Root
	checkACLs(t, root)

	inTree(t, root, `
		umask 077
		echo more >> README.md
		echo new > made; mkdir -p sub/dir; echo x > sub/dir/file; chmod 644 sub/dir/file
		rm a/b/c.go; mv z moved; ln -s /etc/passwd link
	`)
	o.Place, o.Last, o.Next, o.Stage = a.Place, 1, 2, "capture"
	c := runStage(t, asOperator(t), o)
	if c.Error != "" || c.Capture.Changed != (drydock.Counts{Added: 4, Modified: 1, Deleted: 2}) {
		t.Fatalf("capture: %s %s %+v", c.Error, c.Message, c.Capture.Changed)
	}
	// The operator edits and deletes what the container made.
	operatorShell(t, root, `echo edited > made; rm -r sub; echo o > mine; rm link`)
	inTree(t, root, `echo too >> mine; rm made`)

	// What the container closes is refused by name, by every reader, until access
	// is restored.
	inTree(t, root, `mkdir dark; echo x > dark/x; chmod 000 dark`)
	o.Last, o.Next = 2, 3
	for _, stage := range []string{"capture", "drift", "usage"} {
		o.Stage = stage
		got := runStage(t, asOperator(t), o)
		if got.Error != string(fault.RecoveryRequired) || !strings.Contains(got.Message, "dark") {
			t.Errorf("%s over a closed directory: %q %q", stage, got.Error, got.Message)
		}
	}
	inTree(t, root, `chmod 770 dark; chmod 000 dark/x`)
	o.Stage = "capture"
	if got := runStage(t, asOperator(t), o); got.Error != string(fault.RecoveryRequired) || !strings.Contains(got.Message, "dark/x") {
		t.Errorf("capture over a closed file: %q %q", got.Error, got.Message)
	}
	inTree(t, root, `chmod 660 dark/x`)
	if got := runStage(t, asOperator(t), o); got.Error != "" {
		t.Errorf("capture after access is restored: %s %s", got.Error, got.Message)
	}
	o.Stage, o.Last = "drift", 3
	if got := runStage(t, asOperator(t), o); got.Error != "" || len(got.Changes) > 0 {
		t.Errorf("drift: %s %s %v", got.Error, got.Message, got.Changes)
	}
}

// operatorShell runs a script in a Drydock as the operator.
func operatorShell(t testing.TB, root, script string) {
	t.Helper()
	args := append(asOperator(t), "sh", "-euc", `cd "$0"; `+script, root)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("as the operator: %v\n%s\n%s", err, script, out)
	}
}

// checkACLs reads every ACL of a tree: both users everywhere, the default on
// every directory, the control file without any.
func checkACLs(t *testing.T, root string) {
	t.Helper()
	get := func(path, name string) []byte {
		b := make([]byte, 256)
		n, err := unix.Lgetxattr(path, name, b)
		if err != nil {
			return nil
		}
		return b[:n]
	}
	users := []uint32{operator, 65532}
	files, dirs := 0, 0
	mustDo(t, filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			dirs++
			for _, name := range []string{aclAccess, aclDefault} {
				if got := get(p, name); !slices.Equal(got, encodeACL(users, 7)) {
					t.Errorf("%s has %s %x", p, name, got)
				}
			}
		case p == filepath.Join(root, ".git"):
			if got := get(p, aclAccess); got != nil {
				t.Errorf("the control file has an ACL: %x", got)
			}
		case e.Type().IsRegular():
			files++
			got := get(p, aclAccess)
			// Inherited: the named users have rwx, the mask cuts it to the mode.
			want := encodeACL(users, 7)
			setACL(want, aclUserObj, 6)
			setACL(want, aclMask, 6)
			setACL(want, aclOther, 4)
			if !slices.Equal(got, want) {
				t.Errorf("%s has the ACL %x, want %x", p, got, want)
			}
		}
		return nil
	}))
	if files != len(someFiles) || dirs != 3 {
		t.Errorf("%d files and %d directories were checked", files, dirs)
	}
}

func setACL(acl []byte, tag, perm byte) {
	for e := acl[4:]; len(e) >= 8; e = e[8:] {
		if e[0] == tag {
			e[2] = perm
		}
	}
}

func TestOrdinaryUser_WithoutACLsCreationIsRefusedWithARemedy(t *testing.T) {
	t.Parallel()
	dir := openTemp(t, operator)
	home := filepath.Join(dir, "home")
	mustDo(t, os.Mkdir(home, 0o700))
	source := userRepo(t, dir, someFiles)
	// A ramfs has no extended attributes at all.
	mount := []string{"sh", "-euc", `mount -t ramfs ramfs "$0"; chown 1001:1001 "$0"; chmod 700 "$0"; exec "$@"`, home}
	a := runStage(t, slices.Concat(ownMounts(t), mount, asOperator(t)), order{Stage: "create", Home: home, Source: source})
	if a.Error != string(fault.Unsupported) || !strings.Contains(a.Message, "no POSIX ACLs") || !strings.Contains(a.Remedy, "run as root") {
		t.Fatalf("create: %q %q, remedy %q", a.Error, a.Message, a.Remedy)
	}
	left := mustGit(t, source, "-c", "safe.directory=*", "for-each-ref", "--format=%(refname)")
	if _, err := os.Stat(filepath.Join(source, ".git", "worktrees")); err == nil || left != "refs/heads/main" {
		t.Errorf("the source was changed: %q (%v)", left, err)
	}
}

func TestRoot_GivesTheTreeAwayButNotTheControlFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Fatal("run this test as root")
	}
	dir := mustRepo(t, someFiles)
	mustDo(t, os.Symlink("README.md", filepath.Join(dir, "link")))
	mustGit(t, dir, "add", "-A")
	mustGit(t, dir, "commit", "-q", "-m", "link")
	y := mustDock(t, dir)
	mustDo(t, filepath.WalkDir(y.place.Root, func(p string, _ os.DirEntry, err error) error {
		mustDo(t, err)
		var s unix.Stat_t
		mustDo(t, unix.Lstat(p, &s))
		want := uint32(65532)
		if p == y.path(".git") {
			want = 0
		}
		if s.Uid != want || s.Gid != want {
			t.Errorf("%s belongs to %d:%d, want %d", p, s.Uid, s.Gid, want)
		}
		return nil
	}))
	inTree(t, y.place.Root, `umask 077; echo x > made; echo y >> README.md; rm -r a`)
	if c := y.capture(); c.Changed != (drydock.Counts{Added: 1, Modified: 1, Deleted: 2}) {
		t.Errorf("Changed is %+v", c.Changed)
	}
	for _, p := range []string{filepath.Dir(y.place.Root), y.d.cfg.Home} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, want 0700 (%v)", p, info.Mode(), err)
		}
	}
}

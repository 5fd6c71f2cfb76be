package gitdrydock

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// layout is Home with its links resolved, and the program of git.
type layout struct {
	home string
	git  string
	// hold are the locks of the work at hand. Every git that is started inherits
	// them, so that a git that outlives a killed product still keeps the next one
	// out.
	hold []*os.File
}

// holding returns a layout that holds one more lock.
func (l layout) holding(lock *os.File) layout {
	l.hold = append(slices.Clone(l.hold), lock)
	return l
}

// dock are the paths of one Drydock.
type dock struct {
	id     id.Drydock
	dir    string
	tree   string
	shadow string
}

func (k dock) file(name string) string { return filepath.Join(k.dir, name) }

// store is where new objects of the shadow repository go.
func (k dock) store() string { return filepath.Join(k.shadow, "store") }

// open makes Home on first use and resolves it, so that every path that is
// recorded later is free of links.
func (d *Drydocks) open() (layout, error) {
	d.once.Do(func() { d.layout, d.err = openLayout(d.cfg) })
	return d.layout, d.err
}

func openLayout(cfg Config) (layout, error) {
	if !filepath.IsAbs(cfg.Home) {
		return layout{}, fault.New(fault.ConfigInvalid, "the home directory %q is not an absolute path", cfg.Home).At("home")
	}
	if err := os.MkdirAll(cfg.Home, 0o700); err != nil {
		return layout{}, fault.Wrap(fault.ConfigInvalid, err, "cannot make the home directory").At("home")
	}
	home, err := filepath.EvalSymlinks(cfg.Home)
	if err != nil {
		return layout{}, fault.Wrap(fault.ConfigInvalid, err, "cannot resolve the home directory").At("home")
	}
	if err := checkPlainPath(home); err != nil {
		return layout{}, fault.Wrap(fault.ConfigInvalid, err, "the home directory cannot be used").At("home")
	}
	git := cfg.Git
	if git == "" {
		git, err = exec.LookPath("git")
	} else {
		_, err = os.Stat(git)
	}
	if err != nil {
		return layout{}, fault.Wrap(fault.Unsupported, err, "git is not installed").Hint("install git 2.33 or newer")
	}
	if git, err = filepath.Abs(git); err != nil {
		return layout{}, fault.Wrap(fault.Internal, err, "cannot resolve git")
	}
	l := layout{home: home, git: git}
	for _, dir := range []string{"drydocks", "locks", "mask", "scratch", "void"} {
		if err := makePrivate(filepath.Join(home, dir)); err != nil {
			return layout{}, err
		}
	}
	return l, nil
}

// makePrivate makes a directory that is closed to everyone else: what is in a
// Drydock belongs to a user that another person of this host could be.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(fault.ConfigInvalid, err, "cannot make a directory of the product").At("home")
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fault.Wrap(fault.ConfigInvalid, err, "cannot read a directory of the product").At("home")
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return fault.New(fault.ConfigInvalid, "%s is open to others (%s)", dir, info.Mode()).At("home").
			Hint("chmod 700 %s, if it is the product's", dir)
	}
	return nil
}

func (l layout) void() string { return filepath.Join(l.home, "void") }

func (l layout) mask() string { return filepath.Join(l.home, "mask", "git-mask") }

// sourceLock names the lock of a source repository: one a common directory,
// whoever names it by whatever path.
func (l layout) sourceLock(commonDir string) string {
	sum := sha256.Sum256([]byte(commonDir))
	return filepath.Join(l.home, "locks", "source-"+hex.EncodeToString(sum[:16]))
}

func (l layout) dock(d id.Drydock) dock {
	dir := filepath.Join(l.home, "drydocks", string(d))
	return dock{id: d, dir: dir, tree: filepath.Join(dir, "tree"), shadow: filepath.Join(dir, "shadow.git")}
}

// dockOf accepts a Place only where this layout would have put it: no recorded
// path can point the walker elsewhere.
func (l layout) dockOf(p drydock.Place) (dock, error) {
	name := filepath.Base(filepath.Dir(p.Root))
	k := l.dock(id.Drydock(name))
	if !id.Valid(id.KindDrydock, name) || p.Root != k.tree || p.Shadow != k.shadow {
		return dock{}, fault.New(fault.IntegrityLost, "the recorded place %q is not below %q", p.Root, l.home).
			Hint("set the home directory to the one that the Drydock was made in")
	}
	return k, nil
}

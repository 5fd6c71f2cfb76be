package gitdrydock

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// intent is intent.json: what Create set out to do, written before anything
// else of it and never changed.
type intent struct {
	Version      int           `json:"version"`
	Drydock      id.Drydock    `json:"drydock"`
	Checkpoint   id.Checkpoint `json:"checkpoint"` // the first
	CommonDir    string        `json:"common_dir"`
	ObjectFormat string        `json:"object_format"`
	HeadCommit   string        `json:"head_commit"`
	Branch       string        `json:"branch"`
}

func (k dock) readIntent() (intent, error) {
	var in intent
	b, err := readRegular(k.file("intent.json"), 64<<10)
	if err != nil {
		return in, err
	}
	err = json.Unmarshal(b, &in)
	return in, err
}

// visit is one locked, verified piece of work on one Drydock.
type visit struct {
	d      *Drydocks
	l      layout
	k      dock
	in     intent
	format format
	// headTree is the base commit's; only of a Drydock that is complete.
	headTree string
	// registration is the worktree's directory in the source's common directory.
	registration string
	lock         *os.File
}

// lockDock takes the Drydock's lock for the visit.
func (v *visit) lockDock(ctx context.Context) error {
	lock, err := lockFile(ctx, v.k.file("lock"))
	if err == nil {
		v.lock, v.l = lock, v.l.holding(lock)
	}
	return err
}

func (v visit) unlock() { _ = v.lock.Close() }

func (v visit) at(step string) error { return v.d.at(step) }

// find resolves a Place to its paths and its intent, without a lock.
func (d *Drydocks) find(p drydock.Place) (visit, error) {
	l, err := d.open()
	if err != nil {
		return visit{}, err
	}
	k, err := l.dockOf(p)
	if err != nil {
		return visit{}, err
	}
	v := visit{d: d, l: l, k: k}
	m, err := k.readMade()
	if err != nil {
		return visit{}, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's own records cannot be read")
	}
	v.in, v.headTree = m.Intent, m.HeadTree
	if v.format, err = parseFormat(v.in.ObjectFormat); err != nil {
		return visit{}, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's own records cannot be read")
	}
	return v, nil
}

// enter is find, then the Drydock's lock, then the proof that the Place is what
// was recorded. What a killed visit left half written goes first.
func (d *Drydocks) enter(ctx context.Context, p drydock.Place) (visit, error) {
	v, err := d.find(p)
	if err != nil {
		return v, err
	}
	if err := v.lockDock(ctx); err != nil {
		return v, err
	}
	v.k.sweepRecords()
	control, err := verify(p)
	if err == nil {
		v.registration, err = registrationOf(control, v.in.CommonDir)
	}
	if err != nil {
		v.unlock()
		return v, err
	}
	return v, nil
}

// registrationOf reads the one line of a control file and accepts only a
// registration of the source's own.
func registrationOf(control []byte, commonDir string) (string, error) {
	dir, ok := strings.CutPrefix(strings.TrimRight(string(control), "\r\n"), "gitdir: ")
	if !ok || filepath.Dir(dir) != filepath.Join(commonDir, "worktrees") {
		return "", fault.New(fault.IntegrityLost, "the worktree's .git file does not name a registration of %s", commonDir)
	}
	return dir, nil
}

// readIndex reads the worktree's raw index in its registration, unless its stat
// proves that it is still the one that prev has.
func (v visit) readIndex(prev indexFile) (indexFile, error) {
	path := filepath.Join(v.registration, "index")
	var s unix.Stat_t
	at := time.Now()
	err := unix.Lstat(path, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return indexFile{}, nil
	}
	if err == nil && prev.trusted && prev.st == statOf(&s) {
		return prev, nil
	}
	var b []byte
	if err == nil {
		b, err = readRegular(path, smallObject)
	}
	if err != nil {
		return indexFile{}, fault.Wrap(fault.RecoveryRequired, err, "the worktree's index cannot be read")
	}
	return indexFile{sha256: canon.SHA256(b), st: statOf(&s), trusted: !racy(statOf(&s), at), bytes: b}, nil
}

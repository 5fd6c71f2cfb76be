package containerd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/internal/durable"
)

// rundir is the path of one admission's directory:
// <Config.Dir>/<installation>/<admission>. Its place says whose it is, so there is
// no moment in which it is nobody's. It holds the FIFOs, the container's three
// files of /etc, and the mark of a start.
type rundir string

// The FIFOs, by the name of the stream.
const (
	stdinFIFO  = "stdin"
	stdoutFIFO = "stdout"
	stderrFIFO = "stderr"
	startMark  = "started"
)

// etcFile is one of the engine's own read-only files.
type etcFile struct{ target, name, content string }

// etcFiles are what a container needs to know itself and nothing else: no name
// server, no host but itself.
func etcFiles() []etcFile {
	return []etcFile{
		{"/etc/hostname", "hostname", isolation.Hostname + "\n"},
		{"/etc/hosts", "hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost\n"},
		{"/etc/resolv.conf", "resolv.conf", ""},
	}
}

func (e *Engine) rundir(a id.Admission, inst id.Installation) rundir {
	return rundir(filepath.Join(e.cfg.Dir, string(inst), string(a)))
}

func (d rundir) file(name string) string { return filepath.Join(string(d), name) }

// owner is whose directory it is, by its place.
func (d rundir) owner() (id.Admission, id.Installation) {
	return id.Admission(filepath.Base(string(d))), id.Installation(filepath.Base(filepath.Dir(string(d))))
}

func (d rundir) labels() map[string]string {
	a, inst := d.owner()
	return isolation.Labels(a, inst)
}

// within says whether d is a place that rundir gives to some admission.
func within(base string, d rundir) bool {
	rel, err := filepath.Rel(base, string(d))
	return err == nil && filepath.IsLocal(rel) && strings.Count(rel, string(filepath.Separator)) == 1
}

// prepare makes the directory and everything in it. What is there already is
// made anew, but the FIFOs: somebody may read them.
func (d rundir) prepare(stdin isolation.Stdin) error {
	bad := func(err error) error {
		return fault.Wrap(fault.EngineFailure, err, "cannot prepare the container's directory %s", d).
			Hint("check the filesystem of the product's home")
	}
	if err := d.make(); err != nil {
		return bad(err)
	}
	for _, f := range etcFiles() {
		if err := os.WriteFile(d.file(f.name), []byte(f.content), 0o600); err != nil {
			return bad(err)
		}
		// The container's user reads it through its mount, whatever our umask is.
		if err := os.Chmod(d.file(f.name), 0o444); err != nil {
			return bad(err)
		}
	}
	fifos := []string{stdoutFIFO, stderrFIFO}
	if stdin == isolation.StdinPipe {
		fifos = append(fifos, stdinFIFO)
	}
	for _, name := range fifos {
		if err := makeFIFO(d.file(name)); err != nil {
			return bad(err)
		}
	}
	return nil
}

// make makes the directory. Another process may take the installation's away, for
// it was empty, between two steps of this one.
func (d rundir) make() error {
	for try := 0; ; try++ {
		err := os.MkdirAll(string(d), 0o700)
		if try == 100 || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func (d rundir) exists() (bool, error) {
	_, err := os.Lstat(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// remove removes the directory, and its installation's when it was the last.
func (d rundir) remove() error {
	if err := os.RemoveAll(string(d)); err != nil {
		return fault.Wrap(fault.EngineFailure, err, "cannot remove the container's directory %s", d)
	}
	_ = os.Remove(filepath.Dir(string(d))) // fails when it is not empty
	return nil
}

// mark notes, durably, that a start is about to be asked for.
func (d rundir) mark(at time.Time) error {
	f, err := os.OpenFile(d.file(startMark), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(strconv.FormatInt(at.UnixNano(), 10))
		err = errors.Join(err, f.Sync(), f.Close(), durable.Sync(string(d)))
	}
	if errors.Is(err, fs.ErrExist) {
		return startedBefore(string(d))
	}
	if err != nil {
		return fault.Wrap(fault.EngineFailure, err, "cannot note the start in %s", d)
	}
	return nil
}

// unmark takes the mark of a start back that certainly did not happen.
func (d rundir) unmark() { _ = os.Remove(d.file(startMark)) }

// started is when a start was asked for. A directory that is gone tells nothing,
// so its container may have been started; a mark that was cut off says only that
// it was.
func (d rundir) started() (at time.Time, asked bool) {
	b, err := os.ReadFile(d.file(startMark))
	if errors.Is(err, fs.ErrNotExist) {
		there, err := d.exists()
		return time.Time{}, err != nil || !there
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return time.Time{}, true
	}
	return time.Unix(0, n).UTC(), true
}

// rundirs lists the directories of an installation, or of an admission in any
// installation; an empty one stands for all. Names come from the engine's labels,
// too, so one that no id can be has none.
func (e *Engine) rundirs(inst, adm string) []rundir {
	if strings.ContainsAny(inst+adm, `*?[\/`) {
		return nil
	}
	pattern := func(name string) string {
		if name == "" {
			return "*"
		}
		return name
	}
	found, err := filepath.Glob(filepath.Join(e.cfg.Dir, pattern(inst), pattern(adm)))
	if err != nil {
		return nil
	}
	var all []rundir
	for _, f := range found {
		all = append(all, rundir(f))
	}
	return all
}

func startedBefore(c string) error {
	return fault.New(fault.RecoveryRequired, "container %s was started before", c).Hint("recover the admission")
}

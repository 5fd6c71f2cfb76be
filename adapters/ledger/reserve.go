package ledger

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"cyberagent/domain/lifecycle"
)

// A full disk must stop what starts and must not stop what ends: a container
// whose removal cannot be recorded stays. So some room is kept in a file beside
// the ledger. A transaction that begins something needs the file to be there; a
// transaction that fails for want of room and begins nothing gives the file's
// room back and is tried once more. The next beginning makes it again, or is
// disk_full.

// reserveBytes ends some hundred admissions: ten transactions each, of about
// four pages.
const reserveBytes = 4 << 20

func (l *Ledger) reservePath() string { return l.path + "-reserve" }

// begins is called first by everything that begins something new.
func (r *records) begins(op string) error {
	if r.starts {
		return r.failed
	}
	r.starts = true
	return r.fault(op, r.ledger.keepReserve())
}

// beginning says whether an event of the log is the intent to do more with a
// container, rather than to end it.
func beginning(e lifecycle.Event) bool {
	return e.Phase == lifecycle.Intent && e.Action != lifecycle.Remove
}

// keepReserve makes the reserve unless it is there. The caller holds the
// database's write lock, so no two processes are at it.
func (l *Ledger) keepReserve() error {
	info, err := os.Lstat(l.reservePath())
	if err == nil && info.Mode().IsRegular() && info.Size() == reserveBytes {
		return nil
	}
	if err == nil {
		err = os.Remove(l.reservePath()) // cut short by a crash, or not ours
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.makeReserve(); err != nil {
		return errors.Join(err, os.Remove(l.reservePath()))
	}
	return nil
}

func (l *Ledger) makeReserve() error {
	f, err := os.OpenFile(l.reservePath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// Random, for zeros may take no room on a filesystem that compresses.
	room := make([]byte, reserveBytes)
	if _, err := rand.Read(room); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = f.Write(room)
	return errors.Join(err, f.Close()) // not synced: lost room is made again
}

// giveReserve frees the reserve's room and says whether there was any.
func (l *Ledger) giveReserve() bool { return os.Remove(l.reservePath()) == nil }

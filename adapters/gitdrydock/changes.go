package gitdrydock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
)

// change is one difference between two manifests. mode, oid and st are the new
// entry's; a deletion has none. dir says that the path is an empty directory.
type change struct {
	path string
	kind drydock.ChangeKind
	mode uint32
	oid  oid
	st   stat
	dir  bool
}

// compareChanges orders them whatever order several walkers found them in: a file
// that became an empty directory is two changes of one path.
func compareChanges(a, b change) int {
	return cmp.Or(strings.Compare(a.path, b.path), strings.Compare(string(a.kind), string(b.kind)))
}

// domainChanges turns raw changes into what people and the ledger see. An empty
// directory ends in a slash.
func domainChanges(changes []change) []drydock.Change {
	out := make([]drydock.Change, 0, len(changes))
	for _, c := range changes {
		path := c.path
		if c.dir {
			path += "/"
		}
		out = append(out, drydock.Change{Path: show(path), Kind: c.kind})
	}
	return out
}

// excludedChanges compares two lists of excluded entries, sorted by path.
func excludedChanges(prev, next []excluded) []drydock.Change {
	var out []drydock.Change
	note := func(path string, kind drydock.ChangeKind) {
		out = append(out, drydock.Change{Path: show(path), Kind: kind})
	}
	for len(prev) > 0 || len(next) > 0 {
		switch {
		case len(next) == 0 || len(prev) > 0 && prev[0].path < next[0].path:
			note(prev[0].path, drydock.Deleted)
			prev = prev[1:]
		case len(prev) == 0 || next[0].path < prev[0].path:
			note(next[0].path, drydock.Added)
			next = next[1:]
		default:
			if prev[0].reason != next[0].reason {
				note(next[0].path, drydock.Modified)
			}
			prev, next = prev[1:], next[1:]
		}
	}
	return out
}

func sortChanges(list []drydock.Change) {
	slices.SortFunc(list, func(a, b drydock.Change) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Kind), string(b.Kind)))
	})
}

// edge makes a fault of what is left of other packages' errors. An ended
// context stays what it is.
func edge(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) && fault.CodeOf(err) == fault.Internal:
		return fault.Wrap(fault.DiskFull, err, "the disk is full").Hint("free some disk space, then repeat")
	}
	return because(err, fault.New(fault.Internal, "git or the file system failed"))
}

// because says what a failure means, unless the failure says so itself: it is a
// fault already, or no more than the end of a context.
func because(err error, f *fault.Error) error {
	var inner *fault.Error
	if errors.As(err, &inner) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	c := *f
	c.Err = err
	return &c
}

// foreign is the answer when a creation that is resumed finds what it did not
// make.
func foreign(c change) error {
	return fault.New(fault.RecoveryRequired, "the entry %s (%s) is not what creation wrote", show(c.path), c.kind).
		With("path", show(c.path)).Hint("remove the Drydock's directory after looking at it, then create a new Drydock")
}

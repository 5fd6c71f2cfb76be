package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// hiddenHead begins the names under which a file is made until it has its own.
// Digits follow. A long name is cut, for a name has at most 255 bytes.
func hiddenHead(path string) string {
	const most = 200
	name := filepath.Base(path)
	if len(name) > most {
		name = name[:most]
		for !utf8.ValidString(name) && len(name) > most-utf8.UTFMax {
			name = name[:len(name)-1]
		}
	}
	return "." + name + ".cyberagent-"
}

// isHidden says whether a name is one of those of path.
func isHidden(name, path string) bool {
	digits, ok := strings.CutPrefix(name, hiddenHead(path))
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// hiddenTries bounds how often another call's sweep may take a new file for a dead
// call's, which it does when it comes between the making and the lock.
const hiddenTries = 100

// makeHidden makes a file beside path and locks it for as long as it is open: what is
// locked is swept by nobody.
func makeHidden(path string) (string, *os.File, error) {
	for range hiddenTries {
		f, err := os.CreateTemp(filepath.Dir(path), hiddenHead(path)+"*")
		if err != nil {
			return "", nil, err
		}
		name := f.Name()
		// Where there are no locks, nobody sweeps.
		if !errors.Is(lock(f), errHeld) && named(f, name) {
			return name, f, nil
		}
		_ = f.Close()
	}
	return "", nil, errors.New("the file is taken away again and again")
}

// errHeld says that somebody else holds the lock of a file.
var errHeld = errors.New("the file is locked")

// named says whether the open file is still what its name leads to.
func named(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && now.Mode().IsRegular() && os.SameFile(open, now)
}

// openPlain opens a plain file and nothing else: no link, and nothing that waits.
func openPlain(path string, how int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a plain file", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, how|openFlags, 0)
	if err == nil && !named(f, path) {
		_ = f.Close()
		f, err = nil, fmt.Errorf("%s is replaced at this moment", path)
	}
	return f, err
}

//go:build linux

package main

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// warmMost bounds the links: they take inodes of the command's own cache.
const warmMost = 8192

// warm makes a read-only build cache of the image visible in the empty one of a
// go command, by links that take no space. An image without an index has none.
// Names that are not of the form "xx/…" with a hash are passed over.
func warm(from, to string) error {
	list, err := os.ReadFile(from + "/index")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := unix.Open(to, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	var names []string
	for name := range strings.Lines(string(list)) {
		if name = strings.TrimSuffix(name, "\n"); warmName(name) && len(names) < warmMost {
			names = append(names, name)
		}
	}
	// The kernel makes one name of a directory at a time: each worker has directories
	// of its own.
	const workers = 2
	done := make(chan error, workers)
	for w := range workers {
		go func() { done <- link(from, dir, names, func(sub string) bool { return int(sub[1])%workers == w }) }()
	}
	for range workers {
		if e := <-done; e != nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	// Without this the go command would tidy up at its end, and take the image's
	// old entries for unused ones.
	return os.WriteFile(to+"/trim.txt", []byte(strconv.FormatInt(time.Now().Unix(), 10)+"\n"), 0o600)
}

// link makes those links whose directory is mine.
func link(from string, dir int, names []string, mine func(sub string) bool) error {
	last := ""
	for _, name := range names {
		sub := name[:2]
		if !mine(sub) {
			continue
		}
		if sub != last {
			if err := unix.Mkdirat(dir, sub, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
			last = sub
		}
		if err := unix.Symlinkat(from+"/"+name, dir, name); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	return nil
}

// warmName accepts "xx/<64 hex>-a" and "-d" whose first two characters are xx.
func warmName(s string) bool {
	if len(s) != 2+1+64+2 || s[2] != '/' || s[:2] != s[3:5] || (s[67:] != "-a" && s[67:] != "-d") {
		return false
	}
	return strings.Trim(s[3:67], "0123456789abcdef") == ""
}

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
	made, last := 0, ""
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSuffix(name, "\n")
		if !warmName(name) {
			continue
		}
		if made++; made > warmMost {
			break
		}
		if sub := name[:2]; sub != last {
			if err := unix.Mkdirat(dir, sub, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
			last = sub
		}
		if err := unix.Symlinkat(from+"/"+name, dir, name); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	// Without this the go command would tidy up at its end, and take the image's
	// old entries for unused ones.
	return os.WriteFile(to+"/trim.txt", []byte(strconv.FormatInt(time.Now().Unix(), 10)+"\n"), 0o600)
}

// warmName accepts "xx/<64 hex>-a" and "-d" whose first two characters are xx.
func warmName(s string) bool {
	if len(s) != 2+1+64+2 || s[2] != '/' || s[:2] != s[3:5] || (s[67:] != "-a" && s[67:] != "-d") {
		return false
	}
	return strings.Trim(s[3:67], "0123456789abcdef") == ""
}

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
)

// reserved is a new file that a verb will write its result to. It is made before
// the verb records anything: what stands in the way of it must not come to light
// when the work is done.
type reserved struct {
	path string // absolute, without links; empty when nobody asked for a file
	f    *os.File
}

// reserve makes the file, which must not exist, and not in the product's own
// Drydocks: a copy there would be a change that nobody recorded, beside a container
// that may live. An empty name asks for none.
func (s *session) reserve(name string) (reserved, error) {
	if name == "" {
		return reserved{}, nil
	}
	refuse := func(err error, remedy string, a ...any) (reserved, error) {
		return reserved{}, fault.Wrap(fault.InvalidArgument, err, "nothing was done: the file for the result cannot be made").At("out").Hint(remedy, a...)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return refuse(err, "name a file in a directory that exists")
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return refuse(err, "make the directory, or name a file in one that exists")
	}
	cfg, err := s.load()
	if err != nil {
		return reserved{}, err
	}
	if insideOf(dir, filepath.Join(cfg.Home, "drydocks")) {
		return reserved{}, fault.New(fault.InvalidArgument, "%s lies in a Drydock", name).At("out").Hint("name a file outside of the Drydocks")
	}
	path = filepath.Join(dir, filepath.Base(path))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return refuse(err, "name a file that does not exist, or remove it first: rm %s", phrase.Word(path))
	}
	if err != nil {
		return refuse(err, "name a file in a directory that you may write to")
	}
	return reserved{path, f}, nil
}

// insideOf says whether a directory without links is another one, or below it, by
// whatever name. Nothing is in one that does not exist.
func insideOf(dir, other string) bool {
	top, err := os.Stat(other)
	if err != nil {
		return false
	}
	for ; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && os.SameFile(info, top) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// drop takes the file back.
func (r reserved) drop() error {
	if r.f == nil {
		return nil
	}
	_ = r.f.Close()
	return os.Remove(r.path)
}

// fill copies the product's own file into it.
func (r reserved) fill(from string) error {
	if r.f == nil {
		return nil
	}
	src, err := os.Open(from)
	if err == nil {
		defer src.Close()
		_, err = io.Copy(r.f, src)
	}
	if err == nil {
		err = r.f.Close()
	}
	if err != nil {
		_ = r.drop()
		return fault.Wrap(fault.Internal, err, "the patch is made and recorded, but not copied").At("out").
			Hint("copy it yourself: cp %s %s", phrase.Word(from), phrase.Word(r.path))
	}
	return nil
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
	"cyberagent/internal/durable"
	"cyberagent/ports"
)

// reserved is a new file that a verb will write its result to. Room for it is taken
// before the verb records anything: what stands in the way of it must not come to
// light when the work is done. Its name is given last, to the whole file: whoever
// finds it finds the result, however the verb ended.
type reserved struct {
	path string   // absolute, without links; empty when nobody asked for a file
	tmp  string   // where it is until it is whole, beside path
	f    *os.File // of tmp, locked; nil when path is there and is to be compared
	key  string   // the operation's, for remedies
	fail ports.FailPoints
}

// reserve takes room for the file, which must not exist, and not in the product's own
// Drydocks: a copy there would be a change that nobody recorded, beside a container
// that may live. An empty name asks for none. recorded says whether the operation of
// that key is done already: then this is a repeated call, and what has the name is
// compared with the result by fill.
func (s *session) reserve(name, key string, recorded func() (bool, error)) (reserved, error) {
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
	r := reserved{path: filepath.Join(dir, filepath.Base(path)), key: key, fail: s.failAt}
	_, err = os.Lstat(r.path)
	if err == nil {
		done, err := recorded()
		if done || err != nil {
			return r, err
		}
		return refuse(fs.ErrExist, "name a file that does not exist, or remove it first: rm %s", phrase.Word(r.path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		r.tmp, r.f, err = makeHidden(r.path)
	}
	if err != nil {
		return refuse(err, "name a file in a directory that you may write to")
	}
	// Once for trial, from one hidden name to another: a file system that cannot do it
	// must not come to light at the end, either.
	if err = durable.Move(r.tmp, r.tmp+"0"); err != nil {
		return refuse(errors.Join(err, r.drop()), "name a file on another file system")
	}
	r.tmp += "0"
	r.hit("out.reserved")
	return r, nil
}

// hit dies in tests that ask for it.
func (r reserved) hit(moment string) {
	if r.fail != nil {
		r.fail.Hit(moment)
	}
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

// drop takes the room back.
func (r reserved) drop() error {
	if r.f == nil {
		return nil
	}
	defer r.f.Close()
	if !named(r.f, r.tmp) {
		return nil
	}
	return os.Remove(r.tmp)
}

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
	"cyberagent/internal/durable"
)

// fill copies the product's own file, which is recorded with that SHA-256, and gives
// the copy its name. What has the name already is never replaced: it is left as it is,
// and good if it has the same bytes.
func (r reserved) fill(from, sum string) error {
	if r.path == "" {
		return nil
	}
	placed, err := r.place(from, sum)
	if err != nil {
		return err
	}
	if !placed {
		if err := r.compare(sum); err != nil {
			return fault.Wrap(fault.InvalidArgument, err, "the patch is made and recorded, but something is at %s already, and is not replaced", r.path).At("out").
				Hint("repeat the call with --operation-key %s and a file that does not exist, or move this one away first: mv -n %s %s",
					r.key, phrase.Word(r.path), phrase.Word(r.path+".old"))
		}
	}
	if err := settle(filepath.Dir(r.path)); err != nil {
		return fault.Wrap(fault.Internal, err, "the patch is at %s, but may be lost if the machine stops now", r.path).At("out").
			Hint("check the disk, then repeat the call with --operation-key %s", r.key)
	}
	sweep(r.path)
	return nil
}

// place makes the copy and gives it its name. It says false when something has that.
func (r reserved) place(from, sum string) (bool, error) {
	if r.f == nil {
		return false, nil
	}
	got, err := r.copy(from)
	if err == nil && got != sum {
		_ = r.drop()
		return false, fault.New(fault.Internal, "the patch is made and recorded, but not copied: %s has other bytes now", from).At("out").
			Hint("move it away, mv -n %s %s, then deliver with another operation key", phrase.Word(from), phrase.Word(from+".old"))
	}
	if err == nil {
		err = durable.Move(r.tmp, r.path)
	}
	if err == nil {
		r.hit("out.placed")
		_ = r.f.Close() // it is on the disk
		return true, nil
	}
	_ = r.drop() // what stays is hidden, and swept by the next call
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return false, fault.Wrap(fault.Internal, err, "the patch is made and recorded, but not copied").At("out").
		Hint("repeat the call with --operation-key %s, or copy it yourself: cp %s %s", r.key, phrase.Word(from), phrase.Word(r.path))
}

// copy fills the hidden file, waits for the disk and returns the SHA-256.
func (r reserved) copy(from string) (string, error) {
	src, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer src.Close()
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(r, h), src); err != nil {
		return "", err
	}
	r.hit("out.written")
	return hex.EncodeToString(h.Sum(nil)), r.f.Sync()
}

// Write implements io.Writer for copy.
func (r reserved) Write(p []byte) (int, error) {
	n, err := r.f.Write(p)
	r.hit("out.writing")
	return n, err
}

// compare returns nil when the name is a plain file's with exactly the recorded bytes.
func (r reserved) compare(sum string) error {
	f, err := openPlain(r.path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != sum {
		return fmt.Errorf("its SHA-256 is %s, the patch's is %s", got, sum)
	}
	return nil
}

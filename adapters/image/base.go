package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// base is one spooled base image.
type base struct {
	file   *os.File
	size   int64
	id     string
	held   sources
	owner  source
	closer []io.Closer

	// Filled by read.
	root    *node
	arch    string
	release release
	err     error
}

// read makes the tree. Every layer is checked against the config's digest, which
// the image's id pins.
func (b *base) read(ctx context.Context, scratch *scratch) error {
	if err := b.unpack(ctx, scratch); err != nil {
		if fault.CodeOf(diskError(err)) == fault.DiskFull || ctx.Err() != nil {
			return diskError(err)
		}
		return fault.Wrap(fault.BaseIncompatible, err, "the %s base cannot be used", b.held).
			Hint("use another base image, or export it again if the engine's copy is damaged")
	}
	return nil
}

func (b *base) unpack(ctx context.Context, scratch *scratch) error {
	a, err := openArchive(b.file, b.size, b.id)
	if err != nil {
		return err
	}
	if a.config.OS != "linux" || a.config.Architecture == "" {
		return fmt.Errorf("it is for %s/%s", a.config.OS, a.config.Architecture)
	}
	b.arch, b.root = a.config.Architecture, newDir(0o755)
	left := limits.TreeEntries
	for i, raw := range a.layers {
		l, c, err := openBlob(ctx, scratch, raw)
		if err != nil {
			return err
		}
		if c != nil {
			b.closer = append(b.closer, c)
		}
		got, err := l.digest(ctx)
		if err != nil {
			return err
		}
		if want := a.config.RootFS.DiffIDs[i].String(); got != want {
			return fmt.Errorf("layer %d is %s, its config says %s", i+1, got, want)
		}
		list, err := entries(ctx, l, &left)
		if err != nil {
			return err
		}
		if err := apply(b.root, list); err != nil {
			return err
		}
	}
	b.release, err = releaseOf(b.root)
	return err
}

func (b *base) close() error {
	errs := []error{b.file.Close()}
	for _, c := range b.closer {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// complete orders the bases, reports the first that could not be read, and makes
// sure that every toolchain has one.
func (a *Assembly) complete() error {
	slices.SortFunc(a.bases, func(x, y *base) int { return int(x.owner) - int(y.owner) })
	var all sources
	for _, b := range a.bases {
		if b.err != nil {
			return b.err
		}
		if all&b.held != 0 {
			return fault.New(fault.Internal, "two bases for %s", all&b.held)
		}
		all |= b.held
	}
	for i, t := range order {
		if !all.has(source(i)) {
			return fault.New(fault.Internal, "no base for %s", t)
		}
	}
	return nil
}

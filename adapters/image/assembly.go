package image

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
)

// Config is what an assembly needs.
type Config struct {
	// Scratch is a directory for temporary files: the bases are spooled there, up
	// to three times their size together. Empty means the system's.
	Scratch string
	// Runner returns the static runner for a GOARCH.
	Runner func(arch string) ([]byte, error)
}

// Assembly makes one image: Add each base, Finish, Write as often as needed, and
// Close in any case. It is for one goroutine.
type Assembly struct {
	cfg     Config
	scratch scratch
	bases   []*base
	// reading are the bases that are read in the background; stop ends it.
	reading sync.WaitGroup
	alive   context.Context
	stop    context.CancelFunc

	root   *node
	arch   string
	labels map[string]string // beside the protocol's
	layers []*layer
	image  v1.Image
	grafts []io.Closer
}

// New makes an empty assembly. It fails where no temporary file can be made, before
// anything is exported.
func New(cfg Config) (*Assembly, error) {
	a := &Assembly{cfg: cfg, scratch: scratch{dir: cfg.Scratch}}
	a.alive, a.stop = context.WithCancel(context.Background())
	f, _, err := a.scratch.spool(a.alive, strings.NewReader(""))
	if err != nil {
		a.stop()
		return nil, err
	}
	return a, f.Close()
}

// Add spools one base in docker-archive form and returns its bytes. imageID is
// what the engine calls it ("sha256:…"), holds the toolchains that it was given
// for. Reading and checking it goes on in the background: refusals
// (fixture_base_incompatible) may come from Finish.
func (a *Assembly) Add(ctx context.Context, holds []command.Toolchain, imageID string, r io.Reader) (int64, error) {
	if a.root != nil || len(holds) == 0 {
		return 0, fault.New(fault.Internal, "a base without a toolchain or after the end")
	}
	f, size, err := a.scratch.spool(ctx, r)
	if err != nil {
		return 0, err
	}
	b := &base{file: f, size: size, id: imageID, owner: fromProduct}
	for _, t := range holds {
		s := sourceOf(t)
		b.held |= only(s)
		b.owner = min(b.owner, s)
	}
	a.bases = append(a.bases, b)
	a.reading.Go(func() { b.err = b.read(a.alive, &a.scratch) })
	return size, nil
}

// Finish merges the bases, lays in the product's own and computes the digests
// ("sha256:…") of the image's config and manifest. After a Graft it is called
// again and only computes what is new. It returns fixture_base_incompatible,
// naming path and bases, and what Runner returns.
func (a *Assembly) Finish(ctx context.Context) (config, manifest string, err error) {
	if a.root == nil {
		if err := a.merge(ctx); err != nil {
			return "", "", err
		}
	}
	return a.seal(ctx)
}

// merge makes the image's tree and plans its layers.
func (a *Assembly) merge(ctx context.Context) error {
	release := context.AfterFunc(ctx, a.stop)
	defer release()
	a.reading.Wait()
	if err := a.complete(); err != nil {
		return err
	}
	if err := agree(a.bases); err != nil {
		return err
	}
	a.arch = a.bases[0].arch
	runner, err := a.cfg.Runner(a.arch)
	if err != nil {
		return err
	}
	root, err := union(a.bases)
	if err != nil {
		return err
	}
	found, err := tools(root)
	if err != nil {
		return err
	}
	if err := product(root, runner, found); err != nil {
		return err
	}
	a.root = root
	for _, b := range a.bases {
		a.layers = append(a.layers, plan(root, b.held.String()+" base", b.owner))
	}
	a.layers = append(a.layers, plan(root, "runner", fromProduct))
	return nil
}

// seal computes the digests of new layers, two at a time, and makes the image.
func (a *Assembly) seal(ctx context.Context) (config, manifest string, err error) {
	errs := make([]error, len(a.layers))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, l := range a.layers {
		if l.hash.Hex != "" {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			errs[i] = l.seal(ctx)
			<-slots
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", "", diskError(err)
	}
	if a.image, err = compose(a.arch, a.labels, a.layers); err != nil {
		return "", "", err
	}
	c, err := a.image.ConfigName()
	if err != nil {
		return "", "", err
	}
	m, err := a.image.Digest()
	if err != nil {
		return "", "", err
	}
	return c.String(), m.String(), nil
}

// Write streams the image as an archive that every engine loads, under the tag.
func (a *Assembly) Write(ctx context.Context, tag string, w io.Writer) error {
	if a.image == nil {
		return fault.New(fault.Internal, "the assembly is not finished")
	}
	return writeArchive(ctx, w, a.image, a.layers, tag)
}

// Has says whether the image that was finished has something at a path. It knows only
// what was grafted on an image that was extended.
func (a *Assembly) Has(p string) bool {
	n, _ := resolve(a.root, p, true, false)
	return n != nil
}

// WriteNew is Write without the layers of an image that was extended. An engine that
// has them may take it; one that does not want it, says so.
func (a *Assembly) WriteNew(ctx context.Context, tag string, w io.Writer) error {
	if a.image == nil {
		return fault.New(fault.Internal, "the assembly is not finished")
	}
	fresh := slices.DeleteFunc(slices.Clone(a.layers), func(l *layer) bool { return l.adopted != nil })
	if len(fresh) == len(a.layers) {
		return fault.New(fault.Unsupported, "the image extends no other")
	}
	return writeArchive(ctx, w, a.image, fresh, tag)
}

// Close gives all temporary files back. It may be called at any time and again.
func (a *Assembly) Close() error {
	a.stop()
	a.reading.Wait()
	var errs []error
	for _, b := range a.bases {
		errs = append(errs, b.close())
	}
	for _, g := range a.grafts {
		errs = append(errs, g.Close())
	}
	a.bases, a.grafts, a.image = nil, nil, nil
	return errors.Join(append(errs, a.scratch.clear())...)
}

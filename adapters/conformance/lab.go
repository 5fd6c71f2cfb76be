package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/adapters/conformance/internal/finding"
	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// lab is one engine with the suite's image and what its checks share. All its
// containers carry one installation, so tests of others on the same engine are
// not disturbed.
type lab struct {
	factory Factory
	engine  Engine
	keeper  Engine // never a sabotaged one; it cleans up
	facts   admission.EngineFacts
	dir     string
	image   enginetest.Image
	imageID string
	inst    id.Installation
	found   *findings

	private *private
	untag   func() error
}

// findings is what the probe found, asked for once.
type findings struct {
	once   sync.Once
	ok     bool
	report runnerproto.Report
	probe  finding.Findings
}

func open(ctx context.Context, f Factory, engine func() (Engine, error)) (*lab, error) {
	e, err := engine()
	if err != nil {
		return nil, err
	}
	l := &lab{factory: f, engine: e, keeper: e, inst: id.Installation(enginetest.NewID(id.KindInstallation)), found: &findings{}}
	if l.facts, err = e.Probe(ctx); err != nil {
		return nil, err
	}
	if l.facts.Reachability != admission.Reachable {
		return nil, fmt.Errorf("%s does not answer: %s", f.Name, l.facts.Detail)
	}
	if l.image, l.untag, err = load(ctx, e, nil); err != nil {
		return nil, err
	}
	facts, err := e.InspectImage(ctx, l.image.Digest)
	if err == nil && !facts.Present {
		err = fmt.Errorf("the image %s is not there after it was loaded", l.image.Digest)
	}
	if err != nil {
		return nil, err
	}
	l.imageID = facts.ID
	if l.dir, err = os.MkdirTemp("", "cyberagent-conformance-"); err != nil {
		return nil, err
	}
	if l.dir, err = filepath.EvalSymlinks(l.dir); err != nil {
		return nil, err
	}
	l.private = &private{factory: f}
	return l, os.Chmod(l.dir, 0o755)
}

// with is the same laboratory behind another client.
func (l *lab) with(e Engine) *lab {
	other := *l
	other.engine, other.found = e, &findings{}
	return &other
}

// close removes everything and says what a check left behind.
func (l *lab) close(ctx context.Context) error {
	var left []error
	found, err := l.keeper.FindOwned(ctx, l.inst)
	left = append(left, err)
	for _, c := range found {
		left = append(left, fmt.Errorf("container %s (%s, %s) was left behind", c.ID, c.Name, c.State), l.keeper.Remove(ctx, c.ID, ownerOf(c)))
	}
	if l.factory.Kept != nil {
		kept, err := l.factory.Kept()
		left = append(left, err)
		for _, k := range kept {
			left = append(left, fmt.Errorf("the adapter left %s behind", k))
		}
	}
	return errors.Join(append(left, l.private.close(), l.untag(), os.RemoveAll(l.dir))...)
}

// ownerOf reads the ownership that a container's labels claim.
func ownerOf(c ports.Container) ports.Ownership {
	return ports.Ownership{
		Admission:    id.Admission(c.Labels[isolation.LabelAdmission]),
		Installation: id.Installation(c.Labels[isolation.LabelInstallation]),
	}
}

// code fails the check when err has not the code.
func (c *C) code(err error, want fault.Code) {
	if err == nil || fault.CodeOf(err) != want {
		c.record("got %v (%s), want %s", err, fault.CodeOf(err), want)
	}
}

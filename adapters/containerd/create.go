package containerd

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// afterwards is how long a call may go on when its context has ended: port
// invariant 7 gives it a second.
const afterwards = 800 * time.Millisecond

// Create implements ports.Containers. It refuses an image that is not there
// (image_unavailable), and, like the other engine, one that brings along volumes,
// ports or labels of others (image_profile_unsafe), although none of them would
// reach the container here.
//
// On any failure it looks for the container by its name, for a request that the
// engine carried out can still end in an error. One with exactly our labels that
// never ran is ours; the caller compares its properties all the same. When the
// context has ended the id is returned together with the error, if known.
func (e *Engine) Create(ctx context.Context, spec isolation.Spec) (ports.ContainerID, isolation.Properties, error) {
	c, err := e.create(ctx, spec)
	if err != nil {
		return e.adopt(ctx, spec, err)
	}
	id := ports.ContainerID(c.ID)
	p, err := e.properties(ctx, c)
	return id, p, err
}

// create makes, in this order, the directory, the lease, the snapshot and the
// container. Whatever it leaves is found by the directory (Find).
func (e *Engine) create(ctx context.Context, spec isolation.Spec) (containers.Container, error) {
	var none containers.Container
	// An engine that is not there leaves nothing behind.
	img, present, err := e.imageBy(ctx, spec.ImageID())
	switch {
	case err != nil:
		return none, err
	case !present:
		return none, absent(spec.ImageID())
	}
	if what := unwanted(img); len(what) > 0 {
		return none, fault.New(fault.ImageUnsafe, "image %s brings along %s", spec.ImageID(), strings.Join(what, ", ")).
			Hint("rebuild the fixture image")
	}
	// Before the directory, which a second Create would share.
	if err := e.vacant(ctx, spec); err != nil {
		return none, err
	}
	dir := e.rundir(spec.Admission(), spec.Installation())
	if err := dir.prepare(spec.Stdin()); err != nil {
		return none, err
	}
	leased, err := e.lease(ctx, spec)
	if err != nil {
		return none, err
	}
	if err := e.rootfs(leased, spec, img); err != nil {
		return none, err
	}
	record, err := e.newRecord(spec, img.Name, dir)
	if err != nil {
		return none, fault.Wrap(fault.Internal, err, "the container's record cannot be made")
	}
	return call(leased, e, "create container "+spec.Name(), func(ctx context.Context) (containers.Container, error) {
		return e.client.ContainerService().Create(ctx, record)
	})
}

// vacant refuses a name that is taken.
func (e *Engine) vacant(ctx context.Context, spec isolation.Spec) error {
	_, err := e.record(ctx, spec.Name())
	switch {
	case err == nil:
		return fault.Wrap(fault.EngineFailure, errdefs.ErrAlreadyExists, "container %s", spec.Name())
	case errors.Is(err, fault.NotFound):
		return nil
	}
	return err
}

// lease keeps what is made next from the engine's garbage collection until the
// container holds it (pitfall B6). It carries the labels and an end.
func (e *Engine) lease(ctx context.Context, spec isolation.Spec) (context.Context, error) {
	l := leases.Lease{ID: spec.Name(), Labels: spec.Labels()}
	err := do(ctx, e, "make the lease "+l.ID, func(ctx context.Context) error {
		_, err := e.client.LeasesService().Create(ctx, leases.WithID(l.ID), leases.WithLabels(l.Labels), leases.WithExpiration(leaseLife))
		return err
	})
	if errdefs.IsAlreadyExists(err) {
		found, lookErr := e.leaseOf(ctx, spec.Name())
		switch {
		case lookErr != nil:
			return ctx, lookErr
		case found == nil || !maps.Equal(ours(found.Labels), spec.Labels()):
			return ctx, foreign("lease " + spec.Name())
		}
		err = nil // of an earlier Create that did not get further
	}
	return leases.WithLease(ctx, l.ID), err
}

// rootfs prepares the container's own snapshot on top of the image's, which is
// unpacked if need be (pitfall B5).
func (e *Engine) rootfs(ctx context.Context, spec isolation.Spec, img image) error {
	if err := e.unpack(ctx, img); err != nil {
		return err
	}
	err := do(ctx, e, "prepare the root filesystem of "+spec.Name(), func(ctx context.Context) error {
		_, err := e.snapshots().Prepare(ctx, spec.Name(), img.chainID(), snapshots.WithLabels(spec.Labels()))
		return err
	})
	if !errdefs.IsAlreadyExists(err) {
		return err
	}
	// Of an earlier Create that did not get further: nothing ran on it. Another
	// parent than the image's shows in the read-back.
	left, err := e.snapshotOf(ctx, spec.Name())
	if err == nil && left != nil && !maps.Equal(ours(left.Labels), spec.Labels()) {
		err = foreign("snapshot " + spec.Name())
	}
	return err
}

func (e *Engine) unpack(ctx context.Context, img image) error {
	_, err := call(ctx, e, "look for the unpacked image", func(ctx context.Context) (snapshots.Info, error) {
		return e.snapshots().Stat(ctx, img.chainID())
	})
	if fault.CodeOf(err) != fault.NotFound {
		return err
	}
	// No deadline but the caller's: an image can be large.
	err = e.translate(ctx, "unpack image "+img.Name, client.NewImage(e.client, img.Image).Unpack(ctx, snapshotter))
	if fault.CodeOf(err) == fault.EngineTimeout {
		return fault.From(err).Hint("unpack it once without a deadline: ctr --namespace %s images mount %s <directory>, or load it again", e.cfg.Namespace, img.Name)
	}
	return err
}

// adopt returns the container that a failed create left behind, or cause when
// there is none.
func (e *Engine) adopt(ctx context.Context, spec isolation.Spec, cause error) (ports.ContainerID, isolation.Properties, error) {
	given := ctx.Err() != nil || fault.CodeOf(cause) == fault.EngineTimeout
	if given {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), afterwards)
		defer cancel()
	} else if !errdefs.IsAlreadyExists(cause) {
		return "", isolation.Properties{}, cause
	}
	v, err := e.look(ctx, spec.Name())
	if err != nil {
		return "", isolation.Properties{}, cause
	}
	if !maps.Equal(ours(v.record.Labels), spec.Labels()) {
		return "", isolation.Properties{}, foreign("container " + spec.Name())
	}
	if v.state() != ports.StateCreated {
		return "", isolation.Properties{}, fault.New(fault.RecoveryRequired, "container %s exists and has run already", spec.Name()).
			Hint("recover the admission")
	}
	id := ports.ContainerID(v.record.ID)
	if given {
		return id, isolation.Properties{}, cause
	}
	p, err := e.properties(ctx, v.record)
	return id, p, err
}

// unwanted is what the other engine's containers inherit of an image.
func unwanted(img image) []string {
	var what []string
	c := img.config.Config
	for v := range c.Volumes {
		what = append(what, "volume "+v)
	}
	for p := range c.ExposedPorts {
		what = append(what, "port "+p)
	}
	for l := range c.Labels {
		if !isolation.ImageLabel(l) {
			what = append(what, "label "+l)
		}
	}
	slices.Sort(what)
	return what
}

// ours leaves out the labels that the engine itself puts on its objects.
func ours(all map[string]string) map[string]string {
	l := make(map[string]string, len(all))
	for k, v := range all {
		if !strings.HasPrefix(k, "containerd.io/") {
			l[k] = v
		}
	}
	return l
}

// foreign is the refusal to touch what is not ours.
func foreign(what string) error {
	return fault.New(fault.RecoveryRequired, "%s exists with other labels and is left alone", what).
		Hint("look at it with ctr; remove it yourself if it is yours")
}

// rootMounts are how the engine mounts a container's root filesystem.
func (e *Engine) rootMounts(ctx context.Context, key string) ([]mount.Mount, error) {
	return call(ctx, e, "read the root filesystem of "+key, func(ctx context.Context) ([]mount.Mount, error) {
		return e.snapshots().Mounts(ctx, key)
	})
}

// snapshotOf is nil when there is none.
func (e *Engine) snapshotOf(ctx context.Context, key string) (*snapshots.Info, error) {
	i, err := call(ctx, e, "read snapshot "+key, func(ctx context.Context) (snapshots.Info, error) { return e.snapshots().Stat(ctx, key) })
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	return &i, err
}

func (e *Engine) dropSnapshot(ctx context.Context, key string) error {
	return absentIsFine(do(ctx, e, "remove snapshot "+key, func(ctx context.Context) error { return e.snapshots().Remove(ctx, key) }))
}

// leaseOf is nil when there is none.
func (e *Engine) leaseOf(ctx context.Context, name string) (*leases.Lease, error) {
	list, err := e.leases(ctx, "id=="+name)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func (e *Engine) leases(ctx context.Context, filter string) ([]leases.Lease, error) {
	return call(ctx, e, "list leases", func(ctx context.Context) ([]leases.Lease, error) {
		return e.client.LeasesService().List(ctx, filter)
	})
}

func absentIsFine(err error) error {
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

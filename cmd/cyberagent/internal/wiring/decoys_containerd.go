package wiring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	cerrdefs "github.com/containerd/errdefs"
	"github.com/containerd/typeurl/v2"
	"github.com/opencontainers/runtime-spec/specs-go"

	"cyberagent/app/selftest"
	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// containerdDecoys are records of containers that never had a process, snapshots
// and leases: nearly the product's own in its namespace, and exactly its own in
// another one.
type containerdDecoys struct {
	client           *client.Client
	runtime          string
	namespace, other string
	ids              ports.IDs
	made             []containerdDecoy
	before           []string // processes without a container that were there
}

// containerdDecoy is a container with its lease and snapshot, or the latter two
// alone, in one namespace.
type containerdDecoy struct {
	name, namespace string
	labels          map[string]string
	remains         bool
	// The labels that the engine gave back; nil stands for what is not there.
	container, lease, snapshot map[string]string
}

var _ selftest.Decoys = (*containerdDecoys)(nil)

func newContainerdDecoys(made *closers, cfg config.Config, ids ports.IDs) (selftest.Decoys, error) {
	address := strings.TrimPrefix(cfg.Containerd.Address, "unix://")
	c, err := client.New(address)
	if err != nil {
		return nil, fault.Wrap(fault.DaemonUnreachable, err, "containerd does not answer on %s", address).At("containerd.address")
	}
	made.add(c.Close)
	space := cfg.Containerd.Namespace
	return &containerdDecoys{
		client: c, runtime: cfg.Containerd.Runtime, ids: ids,
		namespace: space, other: space + "-selftest-" + strings.ToLower(rand.Text()),
	}, nil
}

// Plant implements selftest.Decoys.
func (d *containerdDecoys) Plant(ctx context.Context, owned id.Installation) error {
	adm := func() id.Admission { return id.Admission(d.ids.New(id.KindAdmission)) }
	stranger, remains, unknown, elsewhere := adm(), adm(), adm(), adm()
	other := id.Installation(d.ids.New(id.KindInstallation))
	d.made = []containerdDecoy{
		{name: isolation.ContainerName(stranger), namespace: d.namespace, labels: isolation.Labels(stranger, other)},
		{name: isolation.ContainerName(remains), namespace: d.namespace, labels: isolation.Labels(remains, other), remains: true},
		{name: isolation.ContainerName(unknown), namespace: d.namespace, labels: isolation.Labels(unknown, owned)},
		{name: isolation.ContainerName(adm()) + "-copy", namespace: d.namespace},
		{name: isolation.ContainerName(elsewhere), namespace: d.other, labels: isolation.Labels(elsewhere, owned)},
	}
	var err error
	if d.before, err = d.strays(ctx); err != nil {
		return fault.Wrap(fault.EngineFailure, err, "cannot list the engine's processes")
	}
	for i := range d.made {
		if err := d.plant(ctx, &d.made[i]); err != nil {
			return fault.Wrap(fault.EngineFailure, err, "cannot make the decoy %s", d.made[i].name)
		}
	}
	return nil
}

func (d *containerdDecoys) plant(ctx context.Context, x *containerdDecoy) error {
	ctx = namespaces.WithNamespace(ctx, x.namespace)
	// It outlives no day, should this process not live to remove it.
	if _, err := d.client.LeasesService().Create(ctx, leases.WithID(x.name), leases.WithLabels(x.labels), leases.WithExpiration(24*time.Hour)); err != nil {
		return err
	}
	if _, err := d.snapshots().Prepare(leases.WithLease(ctx, x.name), x.name, "", snapshots.WithLabels(x.labels)); err != nil {
		return err
	}
	if !x.remains {
		spec, err := typeurl.MarshalAny(&specs.Spec{Version: specs.Version})
		if err != nil {
			return err
		}
		if _, err := d.client.ContainerService().Create(ctx, containers.Container{
			ID: x.name, Labels: x.labels, Spec: spec, Runtime: containers.RuntimeInfo{Name: d.runtime},
		}); err != nil {
			return err
		}
	}
	seen, err := d.see(ctx, x.name)
	x.container, x.lease, x.snapshot = seen.container, seen.lease, seen.snapshot
	return err
}

func (d *containerdDecoys) snapshots() snapshots.Snapshotter {
	return d.client.SnapshotService(defaults.DefaultSnapshotter)
}

// see reads the labels of what has that name; nil is what is not there.
func (d *containerdDecoys) see(ctx context.Context, name string) (x containerdDecoy, err error) {
	there := func(labels map[string]string) map[string]string {
		if labels == nil {
			return map[string]string{}
		}
		return labels
	}
	c, err := d.client.ContainerService().Get(ctx, name)
	if err == nil {
		x.container = there(c.Labels)
	} else if !cerrdefs.IsNotFound(err) {
		return x, err
	}
	s, err := d.snapshots().Stat(ctx, name)
	if err == nil {
		x.snapshot = there(s.Labels)
	} else if !cerrdefs.IsNotFound(err) {
		return x, err
	}
	list, err := d.client.LeasesService().List(ctx, "id=="+name)
	for _, l := range list {
		x.lease = there(l.Labels)
	}
	return x, err
}

// strays are processes (tasks) without a container. No label says whose one is, so
// nothing else finds it, and no removal in the right order leaves one.
func (d *containerdDecoys) strays(ctx context.Context) (found []string, err error) {
	ctx = namespaces.WithNamespace(ctx, d.namespace)
	all, err := d.client.TaskService().List(ctx, &tasks.ListTasksRequest{})
	if err != nil {
		return nil, err
	}
	for _, t := range all.GetTasks() {
		name := t.GetID()
		if _, err := d.client.ContainerService().Get(ctx, name); !cerrdefs.IsNotFound(err) {
			continue
		}
		// Looked at again: removed meanwhile, it went before its container.
		if _, err := d.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: name}); err == nil {
			found = append(found, name)
		}
	}
	return found, nil
}

// Touched implements selftest.Decoys. It names new strays, too.
func (d *containerdDecoys) Touched(ctx context.Context) (touched []string, err error) {
	for _, x := range d.made {
		now, err := d.see(namespaces.WithNamespace(ctx, x.namespace), x.name)
		if err != nil {
			return touched, fault.Wrap(fault.EngineFailure, err, "cannot see the decoy %s", x.name)
		}
		for what, is := range map[string][2]map[string]string{
			"container": {x.container, now.container}, "snapshot": {x.snapshot, now.snapshot}, "lease": {x.lease, now.lease},
		} {
			if (is[0] == nil) != (is[1] == nil) || !maps.Equal(is[0], is[1]) {
				touched = append(touched, fmt.Sprintf("%s %s in %s has the labels %v, not %v", what, x.name, x.namespace, is[1], is[0]))
			}
		}
	}
	strays, err := d.strays(ctx)
	if err != nil {
		return touched, fault.Wrap(fault.EngineFailure, err, "cannot list the engine's processes")
	}
	for _, name := range strays {
		if !slices.Contains(d.before, name) {
			touched = append(touched, "a process has no container: "+name)
		}
	}
	return touched, nil
}

// Remove implements selftest.Decoys.
func (d *containerdDecoys) Remove(ctx context.Context) (n int, err error) {
	if len(d.made) == 0 {
		return 0, nil // and perhaps no engine to ask
	}
	for _, x := range d.made {
		ctx := namespaces.WithNamespace(ctx, x.namespace)
		failed := false
		for what, e := range map[string]error{
			"container": d.client.ContainerService().Delete(ctx, x.name),
			"snapshot":  d.snapshots().Remove(ctx, x.name),
			"lease":     d.client.LeasesService().Delete(ctx, leases.Lease{ID: x.name}),
		} {
			if e != nil && !cerrdefs.IsNotFound(e) {
				failed, err = true, errors.Join(err, fault.Wrap(fault.EngineFailure, e, "cannot remove the decoy %s (%s)", x.name, what))
			}
		}
		if !failed {
			n++
		}
	}
	if e := d.client.NamespaceService().Delete(ctx, d.other); e != nil && !cerrdefs.IsNotFound(e) {
		err = errors.Join(err, fault.Wrap(fault.EngineFailure, e, "cannot remove the namespace %s", d.other))
	}
	return n, err
}

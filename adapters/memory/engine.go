package memory

import (
	"context"
	"maps"
	"runtime"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Engine is one client. Its fields may be set before it is used.
type Engine struct {
	host *Host

	// Before is asked with the method's name when a call begins, and After when it
	// has done its work: an error of theirs is the call's. So a call fails before it
	// did anything, or its answer is lost.
	Before, After func(call string) error
	// Observed may change what is read back.
	Observed func(*isolation.Properties)
	// Facts may change what Probe says.
	Facts func(*admission.EngineFacts)
}

var (
	_ ports.Engine     = (*Engine)(nil)
	_ ports.ImageStore = (*Engine)(nil)
)

// Client returns a new client of the host.
func (h *Host) Client() *Engine { return &Engine{host: h} }

// Engine implements ports.EngineProbe.
func (e *Engine) Engine() isolation.Engine { return e.host.as }

// Probe implements ports.EngineProbe.
func (e *Engine) Probe(ctx context.Context) (admission.EngineFacts, error) {
	f := admission.EngineFacts{
		Engine: e.host.as, Reachability: admission.Reachable, Version: "memory", APIVersion: "1", APISupported: true,
		OSType: "linux", Architecture: runtime.GOARCH, HostArch: runtime.GOARCH, OperatingName: "memory", Seccomp: true,
		SwapLimit: true, PidsLimit: true, MemoryLimit: true, CPUs: 4, MemoryBytes: 16 * limits.GiB, CgroupVersion: "2",
		PrivateCgroup: true, Runtime: "none",
	}
	if e.Facts != nil {
		e.Facts(&f)
	}
	return f, e.call(ctx, "Probe", func() error { return nil })
}

// Parts implements ports.EngineParts: it has none.
func (e *Engine) Parts(context.Context, admission.EngineFacts) map[string]string { return nil }

// call does one call's work under the host's lock.
func (e *Engine) call(ctx context.Context, name string, fn func() error) error {
	if err := ctx.Err(); err != nil {
		return fault.Wrap(fault.EngineTimeout, err, "gave up to %s", name)
	}
	if e.Before != nil {
		if err := e.Before(name); err != nil {
			return err
		}
	}
	e.host.mu.Lock()
	err := fn()
	e.host.mu.Unlock()
	if err == nil && e.After != nil {
		err = e.After(name)
	}
	return err
}

// get returns a container. The host's lock is held.
func (e *Engine) get(c ports.ContainerID) (*container, error) {
	k := e.host.containers[c]
	if k == nil {
		return nil, fault.New(fault.NotFound, "no container has the id %q", c)
	}
	return k, nil
}

// Create implements ports.Containers.
func (e *Engine) Create(ctx context.Context, spec isolation.Spec) (c ports.ContainerID, p isolation.Properties, err error) {
	err = e.call(ctx, "Create", func() error {
		if !e.host.images[spec.ImageID()].Present {
			return fault.New(fault.ImageUnavailable, "no image %s", spec.ImageID()).Hint("load it")
		}
		k := e.host.named(spec.Name())
		switch {
		case k == nil:
			k = e.host.add(spec)
		case !maps.Equal(k.spec.Labels(), spec.Labels()):
			return foreign(spec.Name())
		case k.state != ports.StateCreated:
			return fault.New(fault.RecoveryRequired, "container %s has run already", spec.Name()).Hint("recover the admission")
		}
		c, p = k.id, e.observed(k)
		return nil
	})
	return c, p, err
}

func (h *Host) named(name string) *container {
	for _, k := range h.containers {
		if k.spec.Name() == name {
			return k
		}
	}
	return nil
}

func (e *Engine) observed(k *container) isolation.Properties {
	p := k.spec.Properties()
	if e.Observed != nil {
		e.Observed(&p)
	}
	return p
}

func foreign(name string) error {
	return fault.New(fault.RecoveryRequired, "container %s has other labels and is left alone", name).Hint("remove it yourself")
}

// ReadBack implements ports.Containers.
func (e *Engine) ReadBack(ctx context.Context, c ports.ContainerID) (p isolation.Properties, err error) {
	err = e.call(ctx, "ReadBack", func() error {
		k, err := e.get(c)
		if err == nil {
			p = e.observed(k)
		}
		return err
	})
	return p, err
}

// Inspect implements ports.Containers.
func (e *Engine) Inspect(ctx context.Context, c ports.ContainerID) (v ports.Container, err error) {
	err = e.call(ctx, "Inspect", func() error {
		k, err := e.get(c)
		if err == nil {
			v = k.view()
		}
		return err
	})
	return v, err
}

// Find implements ports.Containers.
func (e *Engine) Find(ctx context.Context, a id.Admission) ([]ports.Container, error) {
	return e.filter(ctx, "Find", func(k *container) bool { return k.spec.Admission() == a })
}

// FindOwned implements ports.Containers.
func (e *Engine) FindOwned(ctx context.Context, i id.Installation) ([]ports.Container, error) {
	return e.filter(ctx, "FindOwned", func(k *container) bool { return k.spec.Installation() == i })
}

func (e *Engine) filter(ctx context.Context, name string, keep func(*container) bool) (found []ports.Container, err error) {
	err = e.call(ctx, name, func() error {
		for _, k := range e.host.containers {
			if keep(k) {
				found = append(found, k.view())
			}
		}
		return nil
	})
	return found, err
}

package containerd

import (
	"encoding/json"
	"fmt"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/types/known/anypb"

	"cyberagent/domain/isolation"
)

// What the container's record holds beside the specification: containerd has no
// word for it before there is a task.
const (
	extension     = "cyberagent.run"
	extensionType = "cyberagent/run.v1"
)

// run is that extension.
type run struct {
	Stdin isolation.Stdin `json:"stdin"`
	Dir   rundir          `json:"dir"`
}

func (r run) any() (typeurl.Any, error) {
	b, err := json.Marshal(r)
	return &anypb.Any{TypeUrl: extensionType, Value: b}, err
}

// runOf reads it back; an unknown form is an error.
func runOf(c containers.Container) (run, error) {
	var r run
	x, ok := c.Extensions[extension]
	if !ok || x == nil || x.GetTypeUrl() != extensionType {
		return r, fmt.Errorf("no %s", extension)
	}
	err := json.Unmarshal(x.GetValue(), &r)
	return r, err
}

// newRecord is what is asked of the engine.
func (e *Engine) newRecord(s isolation.Spec, image string, dir rundir) (containers.Container, error) {
	spec, err := runtimeSpec(s, dir)
	if err != nil {
		return containers.Container{}, err
	}
	c := containers.Container{
		ID: s.Name(), Labels: s.Labels(), Image: image,
		Runtime:     containers.RuntimeInfo{Name: e.cfg.Runtime},
		SnapshotKey: s.Name(), Snapshotter: snapshotter,
		Extensions: map[string]typeurl.Any{},
	}
	if c.Spec, err = typeurl.MarshalAny(spec); err != nil {
		return c, err
	}
	if c.Extensions[extension], err = (run{Stdin: s.Stdin(), Dir: dir}).any(); err != nil {
		return c, err
	}
	if e.cfg.Binary != "" {
		c.Runtime.Options, err = typeurl.MarshalAny(&options.Options{BinaryName: e.cfg.Binary})
	}
	return c, err
}

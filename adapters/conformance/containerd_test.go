package conformance_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"cyberagent/adapters/conformance"
	"cyberagent/adapters/containerd"
	"cyberagent/adapters/containerd/containerdtest"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// containerdEngine is one containerd. variable names its socket, options are the
// development script's.
func containerdEngine(name, variable, state string, options ...string) conformance.Factory {
	const namespace = "cyberagent-conformance"
	address := os.Getenv(variable)
	open := func(address, dir string) (conformance.Engine, error) {
		if address == "" {
			return nil, fmt.Errorf("%s is not set; make conformance sets it", variable)
		}
		return containerd.New(containerd.Config{Address: address, Namespace: namespace, Dir: dir})
	}
	dir := filepath.Join(suiteDir(), state)
	return conformance.Factory{
		Name: name, Form: conformance.FormOCI, Survives: true, Socket: address,
		Open: func() (conformance.Engine, error) { return open(address, dir) },
		Between: func(t conformance.Tamper) (conformance.Engine, io.Closer, error) {
			p, err := containerdtest.NewProxy(address, containerdtest.Tamper{
				Forge: t.Forge, LoseStart: t.LoseStart, LoseCreate: t.LoseCreate, Started: t.Started, Create: edit(t.Create),
			})
			if err != nil {
				return nil, nil, err
			}
			e, err := open(p.Socket, dir)
			return e, p, err
		},
		Private: func(ctx context.Context) (conformance.Private, error) {
			d := daemon{
				script: append([]string{"containerd.sh"}, options...), record: state + "/run/containerd.proc", socket: state + "/run/containerd.sock", again: true,
			}
			if len(options) == 0 {
				d.programs = "containerd-bin"
			}
			return d.begin(ctx, func(home, socket string) (conformance.Engine, error) {
				return open(socket, filepath.Join(home, "fifos"))
			})
		},
		Destroy: func(ctx context.Context, c ports.ContainerID, o ports.Ownership) error {
			labels := isolation.Labels(o.Admission, o.Installation)
			if err := containerdtest.Relabel(ctx, address, namespace, string(c), labels, "theirs"); err != nil {
				return err
			}
			e, err := open(address, dir)
			if err != nil {
				return err
			}
			return e.Remove(ctx, c, o)
		},
		Kept: func() ([]string, error) { return filepath.Glob(filepath.Join(dir, "*", "*")) },
	}
}

// suiteDir is the suite's own, which its child processes share.
func suiteDir() string {
	const variable = "CYBERAGENT_TEST_CONFORMANCE_DIR"
	if dir := os.Getenv(variable); dir != "" {
		return dir
	}
	dir := filepath.Join(os.TempDir(), "cyberagent-conformance-"+strconv.Itoa(os.Getpid()))
	_ = os.Setenv(variable, dir)
	return dir
}

package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"cyberagent/adapters/conformance"
	"cyberagent/adapters/docker"
	"cyberagent/adapters/docker/dockertest"
	"cyberagent/ports"
)

// engines are the rows of the matrix: adding an engine is adding one.
func engines() []conformance.Factory {
	return []conformance.Factory{
		memoryEngine(),
		dockerEngine("Docker Engine", os.Getenv("CYBERAGENT_DOCKER_SOCKET")),
		containerdEngine("containerd", "CYBERAGENT_CONTAINERD_ADDRESS", "containerd"),
		containerdEngine("containerd of Debian", "CYBERAGENT_TEST_CONTAINERD_DEBIAN_ADDRESS", "containerd-debian", "--debian"),
	}
}

func TestMain(m *testing.M) {
	conformance.Child(engines()...)
	code := m.Run()
	_ = os.RemoveAll(suiteDir())
	os.Exit(code)
}

var document = flag.String("conformance.doc", "", "write the matrix of this run to a file")

func TestEveryEngineKeepsTheContract(t *testing.T) {
	var rows []conformance.Row
	for _, f := range engines() {
		t.Run(f.Name, func(t *testing.T) { rows = append(rows, conformance.Run(t, f)) })
	}
	if !conformance.Summary(os.Stdout, rows) || len(rows) != len(engines()) {
		t.Errorf("%d of %d engines ran to the end", len(rows), len(engines()))
	}
	if *document == "" || t.Failed() {
		return
	}
	var b bytes.Buffer
	if err := conformance.Markdown(&b, rows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*document, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func dockerEngine(name, socket string) conformance.Factory {
	open := func(at string) (conformance.Engine, error) {
		if at == "" {
			return nil, errors.New("CYBERAGENT_DOCKER_SOCKET is not set; make conformance sets it")
		}
		return docker.New(docker.Config{Socket: at, Dir: filepath.Join(os.TempDir(), "cyberagent-conformance-docker")})
	}
	return conformance.Factory{
		Name: name, Form: conformance.FormDocker, Socket: socket,
		Open: func() (conformance.Engine, error) { return open(socket) },
		Between: func(t conformance.Tamper) (conformance.Engine, io.Closer, error) {
			p, err := dockertest.NewProxy(socket, dockertest.Tamper{
				Forge: t.Forge, Warn: t.Warn, LoseStart: t.LoseStart, LoseCreate: t.LoseCreate, Started: t.Started,
				Create: edit(t.Create),
			})
			if err != nil {
				return nil, nil, err
			}
			e, err := open(p.Socket)
			return e, p, err
		},
		Destroy: func(ctx context.Context, c ports.ContainerID, _ ports.Ownership) error {
			return dockertest.Destroy(ctx, socket, string(c))
		},
		Private: func(ctx context.Context) (conformance.Private, error) {
			d := daemon{script: []string{"docker.sh"}, record: "docker/run/dockerd.proc", socket: "docker/run/docker.sock"}
			return d.begin(ctx, func(_, socket string) (conformance.Engine, error) { return open(socket) })
		},
	}
}

func edit(change func(conformance.Object)) func(map[string]any) {
	if change == nil {
		return nil
	}
	return func(o map[string]any) { change(o) }
}

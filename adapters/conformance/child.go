package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// childVariable makes a test process a client that is about to be killed. It
// carries what the client does.
const childVariable = "CYBERAGENT_TEST_CONFORMANCE_CHILD"

type errand struct {
	Factory    string
	ImageID    string
	Owner      ports.Ownership
	Root, Mask string
	Binding    string
}

// Child must be called first by the TestMain of a package that calls Run. In a
// process that the suite made for it, it does a client's work until it is killed,
// and does not return.
func Child(factories ...Factory) {
	text, ok := os.LookupEnv(childVariable)
	if !ok {
		return
	}
	err := serveChild(text, factories)
	fmt.Fprintln(os.Stderr, "conformance child:", err)
	os.Exit(1)
}

func serveChild(text string, factories []Factory) error {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	i := slices.IndexFunc(factories, func(f Factory) bool { return f.Name == e.Factory })
	if i < 0 {
		return fmt.Errorf("no factory %q", e.Factory)
	}
	engine, err := factories[i].Open()
	if err != nil {
		return err
	}
	mask := isolation.MaskFacts{Path: e.Mask, Kind: isolation.Regular, Links: 1, Mode: isolation.MaskMode, Content: []byte(isolation.MaskContent)}
	spec, err := isolation.NewSpec(e.Owner.Admission, e.Owner.Installation, e.ImageID, e.Root, mask, runnerproto.Protocol, []byte(e.Binding), isolation.StdinPipe)
	if err != nil {
		return err
	}
	ctx := context.Background()
	c, _, err := engine.Create(ctx, spec)
	if err != nil {
		return err
	}
	out, err := engine.Attach(ctx, c)
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, out.Stderr) }()
	if err := engine.Start(ctx, c); err != nil {
		return err
	}
	if _, err := engine.AttachStdin(ctx, c); err != nil {
		return err
	}
	if _, err := io.ReadFull(out.Stdout, make([]byte, 1)); err != nil {
		return err
	}
	fmt.Println("running")
	_, err = io.Copy(io.Discard, out.Stdout)
	return fmt.Errorf("the output ended: %w", err)
}

func clientKilled(c *C) {
	j := c.order(order{stdin: isolation.StdinPipe}, "sleep", "600000")
	text, err := json.Marshal(errand{
		Factory: c.factory.Name, ImageID: c.imageID, Owner: j.owner, Root: j.root, Mask: j.mask, Binding: j.spec.Properties().Args[1],
	})
	c.must(err)
	child := exec.CommandContext(c.ctx, os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childVariable+"="+string(text))
	var errs strings.Builder
	child.Stderr = &errs
	out, err := child.StdoutPipe()
	c.must(err)
	c.must(child.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	c.must(child.Process.Kill())
	_ = child.Wait()
	if err != nil || line != "running\n" {
		c.Fatalf("the client: %q %v %s", line, err, errs.String())
	}

	found, err := c.engine.FindOwned(c.ctx, j.owner.Installation)
	c.must(err)
	i := slices.IndexFunc(found, func(k ports.Container) bool { return k.Name == j.spec.Name() })
	if i < 0 {
		c.Fatalf("the container is not found: %+v", found)
	}
	if j.id = found[i].ID; found[i].State != ports.StateRunning {
		c.Errorf("%+v", found[i])
	}
	c.must(c.engine.Stop(c.ctx, j.id))
	x, err := c.engine.Wait(c.ctx, j.id)
	c.must(err)
	if x.OOMKilled {
		c.Errorf("%+v", x)
	}
	c.must(c.engine.Remove(c.ctx, j.id, j.owner))
	j.absent()
}

package conformance

import (
	"bytes"
	"context"
	"strings"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
	"cyberagent/domain/toolchain"
)

// attackerProgram is what attacks, beside the probe.
const attackerProgram = "cyberagent/adapters/conformance/attacker"

// archive makes a small image with the product's runner, and the probe and the
// attacker in place of toolchains. edit may change its config.
func archive(edit func(config Object)) (enginetest.Image, error) {
	runner, err := enginetest.Program("cyberagent/cmd/standard-code-runner")
	if err != nil {
		return enginetest.Image{}, err
	}
	probe, err := enginetest.Program("cyberagent/adapters/conformance/probe")
	if err != nil {
		return enginetest.Image{}, err
	}
	attacks, err := enginetest.Program(attackerProgram)
	if err != nil {
		return enginetest.Image{}, err
	}
	return enginetest.NewImage("cyberagent-conformance", runnerproto.Protocol, []enginetest.File{
		{Name: strings.TrimPrefix(isolation.RunnerPath, "/"), Body: runner, Mode: 0o755},
		{Name: strings.TrimPrefix(toolchain.Bin, "/") + "/go", Body: probe, Mode: 0o755},
		{Name: strings.TrimPrefix(toolchain.Bin, "/") + "/python3", Body: attacks, Mode: 0o755},
	}, func(config map[string]any) {
		if edit != nil {
			edit(config)
		}
	})
}

// load makes an image present and returns it with how to take its name away.
func load(ctx context.Context, e Engine, edit func(Object)) (enginetest.Image, func() error, error) {
	img, err := archive(edit)
	if err != nil {
		return img, nil, err
	}
	if err := e.Load(ctx, bytes.NewReader(img.Tar)); err != nil {
		return img, nil, err
	}
	return img, func() error { return e.Untag(context.WithoutCancel(ctx), img.Tag) }, nil
}

// load makes a variant of the image present for the check.
func (c *C) load(edit func(Object)) enginetest.Image {
	img, untag, err := load(c.ctx, c.keeper, edit)
	c.must(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	// The last of all: a container that uses it is removed before.
	c.cleanups = append([]func(){func() { c.must(untag()) }}, c.cleanups...)
	return img
}

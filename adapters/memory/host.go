package memory

import (
	"io"
	"strconv"
	"sync"
	"time"

	"cyberagent/domain/admission"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// Host is what all clients share: the engine's containers and images.
type Host struct {
	as      isolation.Engine
	program Program

	mu         sync.Mutex
	next       int
	containers map[ports.ContainerID]*container
	images     map[string]admission.ImageFacts // by id
	tags       map[string]string               // to an id
}

// NewHost makes one that answers under an engine's word and runs program as
// every container's process.
func NewHost(as isolation.Engine, program Program) *Host {
	return &Host{
		as: as, program: program, containers: map[ports.ContainerID]*container{},
		images: map[string]admission.ImageFacts{}, tags: map[string]string{},
	}
}

// container is one container. Its fields are guarded by Host.mu; the channels
// are closed under it.
type container struct {
	id     ports.ContainerID
	spec   isolation.Spec
	state  ports.ContainerState
	report ports.Container
	exit   ports.Exit
	killer *Engine

	stdinRead  *io.PipeReader
	stdinWrite *io.PipeWriter
	stdinTaken bool
	stdout     tap
	stderr     tap

	term   chan struct{} // closed by the first TERM
	termed bool
	killed chan struct{} // closed by KILL
	done   chan struct{} // closed when the process ended
	gone   chan struct{} // closed when the container was removed
}

// add makes a container for a spec. Host.mu is held.
func (h *Host) add(spec isolation.Spec) *container {
	h.next++
	c := &container{
		id: ports.ContainerID("memory-" + strconv.Itoa(h.next)), spec: spec, state: ports.StateCreated,
		term: make(chan struct{}), killed: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{}),
	}
	c.stdinRead, c.stdinWrite = io.Pipe()
	h.containers[c.id] = c
	return c
}

// view is the container in the port's words. Host.mu is held.
func (c *container) view() ports.Container {
	v := c.report
	v.ID, v.Name, v.Labels, v.State = c.id, c.spec.Properties().Name, c.spec.Labels(), c.state
	v.ExitCode, v.OOMKilled = c.exit.Code, c.exit.OOMKilled
	return v
}

// run is the container's process.
func (h *Host) run(c *container) {
	p := &Process{
		Spec: c.spec, Stdin: c.stdinRead, Stdout: &c.stdout, Stderr: &c.stderr, Term: c.term, Killed: c.killed,
	}
	if c.spec.Stdin() == isolation.StdinClosed {
		_ = c.stdinWrite.Close()
	}
	code := make(chan int, 1)
	go func() { code <- h.program(p) }()
	var exit ports.Exit
	select {
	case exit.Code = <-code:
	case <-c.killed:
		exit.Code = killedCode
	}
	h.end(c, exit)
}

// killedCode is 128 and SIGKILL.
const killedCode = 137

func (h *Host) end(c *container, exit ports.Exit) {
	c.stdout.end()
	c.stderr.end()
	_ = c.stdinRead.CloseWithError(io.ErrClosedPipe)
	h.mu.Lock()
	defer h.mu.Unlock()
	c.state, c.exit, c.report.FinishedAt = ports.StateExited, exit, time.Now().UTC()
	close(c.done)
}

// kill ends the process as KILL does; by is who sent it. Host.mu is held.
func (c *container) kill(by *Engine) {
	select {
	case <-c.killed:
	default:
		c.killer = by
		close(c.killed)
	}
}

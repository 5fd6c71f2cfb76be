// Package docker is the Docker Engine behind ports.Engine and ports.ImageStore.
//
// It speaks to one local socket only. DOCKER_HOST, DOCKER_API_VERSION and the
// client's other variables are not read. The pure half (spec.go, readback.go,
// extra.go) turns the domain's words into the engine's and back;
// the other files hold one verb each.
//
// Every API call has a deadline of its own inside the caller's, uses a
// connection of its own and is never repeated by the transport. Errors leave
// the package as faults only (errors.go).
package docker

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/docker/docker/api"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// The engine's API must lie in this range. 1.41 is Docker 20.10, the first that
// can do everything the contract asks; the other end is the client library's.
const (
	oldestAPI = "1.41"
	newestAPI = api.DefaultVersion
)

// Config says which engine to use.
type Config struct {
	// Socket is the path of a unix socket, or "unix://" and a path; on Windows
	// also a named pipe. Empty means the platform's usual one.
	Socket string
	// Named says in words how an operator chose the socket, for advice.
	Named string
	// Dir is an absolute directory of the product for one read-only file that every
	// container gets (hosts.go). Containers need it while they live.
	Dir string
}

// Engine is one Docker Engine. It is safe for concurrent use and holds no
// connection between calls, so it need not be closed.
type Engine struct {
	socket     socket
	named      string
	dir        string
	negotiated atomic.Pointer[client.Client]
	attached   attachments

	mu     sync.Mutex
	killed map[ports.ContainerID]bool // to which this Engine sent KILL
}

var (
	_ ports.Engine     = (*Engine)(nil)
	_ ports.ImageStore = (*Engine)(nil)
)

// New checks the configuration and connects to nothing. It returns
// config_invalid for anything but a local socket.
func New(cfg Config) (*Engine, error) {
	s, err := parseSocket(cfg.Socket)
	if err != nil {
		return nil, err
	}
	return &Engine{socket: s, named: cfg.Named, dir: cfg.Dir, killed: map[ports.ContainerID]bool{}}, nil
}

// Engine implements ports.EngineProbe.
func (e *Engine) Engine() isolation.Engine { return isolation.Docker }

// api returns the client for the engine's API version, asking for the version
// the first time. The library could negotiate too, but then it swallows the
// failure and sends the request with a version of its own choice.
func (e *Engine) api(ctx context.Context) (*client.Client, error) {
	if c := e.negotiated.Load(); c != nil {
		return c, nil
	}
	return e.negotiate(ctx)
}

// negotiate asks the engine for its newest API and keeps a client of the highest
// version that both know (api_unsupported when that is too old).
func (e *Engine) negotiate(ctx context.Context) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineProbeCall)
	defer cancel()
	c, err := e.socket.client(newestAPI)
	if err != nil {
		return nil, err
	}
	ping, err := c.Ping(ctx)
	if err != nil {
		return nil, translate(ctx, "ask the engine for its version", err)
	}
	if v := ping.APIVersion; v == "" || versions.LessThan(v, oldestAPI) {
		return nil, fault.New(fault.APIUnsupported, "the engine's API is %q, at least %s is needed", v, oldestAPI).
			Hint("upgrade Docker Engine to 20.10 or newer").With("api_version", v)
	}
	if versions.LessThan(ping.APIVersion, newestAPI) {
		if c, err = e.socket.client(ping.APIVersion); err != nil {
			return nil, err
		}
	}
	e.negotiated.Store(c)
	return c, nil
}

// call makes one API call with the deadline that every call has.
func call[T any](ctx context.Context, e *Engine, what string, fn func(context.Context, *client.Client) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	var none T
	c, err := e.api(ctx)
	if err != nil {
		return none, err
	}
	v, err := fn(ctx, c)
	if err != nil {
		return none, translate(ctx, what, err)
	}
	return v, nil
}

// do is call for what returns nothing.
func do(ctx context.Context, e *Engine, what string, fn func(context.Context, *client.Client) error) error {
	_, err := call(ctx, e, what, func(ctx context.Context, c *client.Client) (struct{}, error) {
		return struct{}{}, fn(ctx, c)
	})
	return err
}

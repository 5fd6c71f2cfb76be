// Package containerd is containerd behind ports.Engine and ports.ImageStore.
//
// It speaks to one local socket, in a namespace of the product's own; no
// variable of the engine's tools is read. The pure half (spec.go, seccomp.go,
// record.go, readback.go, residue.go) turns the domain's words into an
// OCI runtime specification and back; the other files hold one verb each.
//
// What belongs to one admission has one name: the container, its snapshot, its
// lease and its directory (rundir.go), which holds the FIFOs and the three files
// of /etc. The directory is made first and removed last, so whatever a dead
// process left is found by it. The task, which is the process, is made by Start
// only; containerd forgets it when it ends badly, so Start leaves a mark in the
// directory before it asks (pitfall B4, and a reboot).
//
// Every call has a deadline of its own inside the caller's. Errors leave the
// package as faults only (errors.go).
package containerd

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/defaults"
	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// The defaults of Config.
const (
	DefaultAddress   = "/run/containerd/containerd.sock"
	DefaultNamespace = "cyberagent"
	DefaultRuntime   = "io.containerd.runc.v2"
)

// Config says which engine to use and where this product keeps its own part.
type Config struct {
	// Address is the path of a unix socket, or "unix://" and a path.
	Address string
	// Named says in words how an operator chose the address, for advice.
	Named string
	// Namespace is the product's own; nothing outside of it is looked at.
	Namespace string
	// Runtime is the shim's name, Binary the OCI runtime that it calls: a name in
	// containerd's PATH or a path, for example crun. Empty is the shim's own choice
	// (runc).
	Runtime string
	Binary  string
	// Dir is an absolute directory of the product for the containers' FIFOs. It
	// must outlive the process and be the same in every process of one
	// installation.
	Dir string
}

// Engine is one containerd. It is safe for concurrent use. Close ends its
// connection.
type Engine struct {
	cfg      Config
	client   *client.Client
	attached attachments

	mu      sync.Mutex
	killed  map[ports.ContainerID]bool          // to which this Engine sent KILL
	started map[ports.ContainerID]chan struct{} // closed by Start, for Wait
	seen    map[string]images.Image             // see imageBy
}

var (
	_ ports.Engine     = (*Engine)(nil)
	_ ports.ImageStore = (*Engine)(nil)
)

// New checks the configuration and connects to nothing. It returns
// config_invalid for anything but a local socket and an absolute directory.
func New(cfg Config) (*Engine, error) {
	for value, word := range map[*string]string{
		&cfg.Address: DefaultAddress, &cfg.Namespace: DefaultNamespace, &cfg.Runtime: DefaultRuntime,
	} {
		if *value == "" {
			*value = word
		}
	}
	cfg.Address = strings.TrimPrefix(cfg.Address, "unix://")
	switch {
	case !filepath.IsAbs(cfg.Address):
		return nil, fault.New(fault.ConfigInvalid, "%q is not the path of a local socket", cfg.Address).At("containerd.address").
			Hint("give the path of a local socket, such as %s", DefaultAddress)
	case !filepath.IsAbs(cfg.Dir) || filepath.Clean(cfg.Dir) != cfg.Dir:
		return nil, fault.New(fault.ConfigInvalid, "%q is not a clean absolute directory", cfg.Dir).At("home").
			Hint("set CYBERAGENT_HOME to an absolute path")
	}
	c, err := client.New(cfg.Address, client.WithDefaultNamespace(cfg.Namespace), client.WithDialOpts(dialing(cfg.Address)))
	if err != nil {
		return nil, fault.Wrap(fault.ConfigInvalid, err, "containerd's socket %s", cfg.Address).At("containerd.address")
	}
	return &Engine{cfg: cfg, client: c, killed: map[ports.ContainerID]bool{}, started: map[ports.ContainerID]chan struct{}{}, seen: map[string]images.Image{}}, nil
}

// dialing connects to the socket as it is now. The library's own way waits for a
// socket that does not exist, and long between two attempts.
func dialing(address string) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx, address) }),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           grpcbackoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, MaxDelay: time.Second},
			MinConnectTimeout: limits.EngineProbeCall,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(defaults.DefaultMaxRecvMsgSize), grpc.MaxCallSendMsgSize(defaults.DefaultMaxSendMsgSize)),
	}
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", address)
}

// Close ends the connection and every attachment.
func (e *Engine) Close() error {
	e.attached.closeAll()
	return e.client.Close()
}

// Engine implements ports.EngineProbe.
func (e *Engine) Engine() isolation.Engine { return isolation.Containerd }

// snapshots is the snapshotter that holds the containers' root filesystems.
func (e *Engine) snapshots() snapshots.Snapshotter {
	return e.client.SnapshotService(defaults.DefaultSnapshotter)
}

// call makes one API call with the deadline that every call has.
func call[T any](ctx context.Context, e *Engine, what string, fn func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.EngineCall)
	defer cancel()
	v, err := fn(ctx)
	if err != nil {
		var none T
		return none, e.translate(ctx, what, err)
	}
	return v, nil
}

// do is call for what returns nothing.
func do(ctx context.Context, e *Engine, what string, fn func(context.Context) error) error {
	_, err := call(ctx, e, what, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
	return err
}

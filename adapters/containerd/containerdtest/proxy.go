// Package containerdtest is for tests of the product with containerd: somebody
// between a client and the engine.
package containerdtest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	containersapi "github.com/containerd/containerd/api/services/containers/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/defaults"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Tamper is what the proxy does. The zero value passes everything on.
type Tamper struct {
	// Create changes the runtime specification of a container that is created. Its
	// additional key "record" holds what containerd keeps beside it: "id", "labels",
	// "image".
	Create func(spec map[string]any)
	// Forge answers questions about the container with what was asked for.
	Forge bool
	// LoseStart and LoseCreate end the call with a broken connection's error, after
	// the engine did what it was asked to.
	LoseStart, LoseCreate bool
	// Started is called for every request to start a task.
	Started func()
	// Ended answers a signal as a shim does whose process has ended, which the engine
	// is still to see, and sends none.
	Ended bool
}

const (
	createMethod = "/containerd.services.containers.v1.Containers/Create"
	getMethod    = "/containerd.services.containers.v1.Containers/Get"
	listMethod   = "/containerd.services.containers.v1.Containers/List"
	startMethod  = "/containerd.services.tasks.v1.Tasks/Start"
	killMethod   = "/containerd.services.tasks.v1.Tasks/Kill"
)

// Proxy listens on a socket of its own and passes calls on to an engine's.
type Proxy struct {
	Socket string

	tamper Tamper
	conn   *grpc.ClientConn
	server *grpc.Server
	dir    string

	mu     sync.Mutex
	honest map[string]*containersapi.Container
}

// NewProxy starts one.
func NewProxy(upstream string, t Tamper) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "cyberagent-proxy-")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Socket: filepath.Join(dir, "s"), tamper: t, dir: dir, honest: map[string]*containersapi.Container{}}
	upstream = strings.TrimPrefix(upstream, "unix://")
	sizes := grpc.WithDefaultCallOptions(
		grpc.MaxCallRecvMsgSize(defaults.DefaultMaxRecvMsgSize), grpc.MaxCallSendMsgSize(defaults.DefaultMaxSendMsgSize), grpc.ForceCodec(raw{}))
	p.conn, err = grpc.NewClient("passthrough:///engine", grpc.WithTransportCredentials(insecure.NewCredentials()), sizes,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", upstream)
		}))
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", p.Socket)
	if err != nil {
		return nil, err
	}
	p.server = grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(p.handle),
		grpc.MaxRecvMsgSize(defaults.DefaultMaxRecvMsgSize), grpc.MaxSendMsgSize(defaults.DefaultMaxSendMsgSize))
	go func() { _ = p.server.Serve(l) }()
	return p, nil
}

// Close ends the proxy and every call through it.
func (p *Proxy) Close() error {
	p.server.Stop()
	err := p.conn.Close()
	_ = os.RemoveAll(p.dir)
	return err
}

// raw passes messages on as they are.
type raw struct{}

type message struct{ body []byte }

// Marshal implements encoding.Codec.
func (raw) Marshal(v any) ([]byte, error) {
	m, ok := v.(*message)
	if !ok {
		return nil, errors.New("not a raw message")
	}
	return m.body, nil
}

// Unmarshal implements encoding.Codec.
func (raw) Unmarshal(b []byte, v any) error {
	m, ok := v.(*message)
	if !ok {
		return errors.New("not a raw message")
	}
	m.body = append([]byte{}, b...)
	return nil
}

// Name implements encoding.Codec.
func (raw) Name() string { return "proto" }

// handle passes one call on, in both directions.
func (p *Proxy) handle(_ any, down grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(down)
	if method == killMethod && p.tamper.Ended {
		return status.Error(codes.NotFound, "process already finished: not found")
	}
	ctx, cancel := context.WithCancel(down.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md.Copy())
	}
	up, err := p.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	go func() {
		for {
			m := &message{}
			if err := down.RecvMsg(m); err != nil {
				_ = up.CloseSend()
				return
			}
			if up.SendMsg(p.request(method, m)) != nil {
				return
			}
		}
	}()
	for {
		m := &message{}
		switch err := up.RecvMsg(m); {
		case errors.Is(err, io.EOF):
			down.SetTrailer(up.Trailer())
			return nil
		case err != nil:
			down.SetTrailer(up.Trailer())
			return err
		}
		if (method == startMethod && p.tamper.LoseStart) || (method == createMethod && p.tamper.LoseCreate) {
			return status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		if err := down.SendMsg(p.answer(method, m)); err != nil {
			return err
		}
	}
}

// request changes what goes to the engine.
func (p *Proxy) request(method string, m *message) *message {
	if method == startMethod && p.tamper.Started != nil {
		p.tamper.Started()
	}
	if method != createMethod || p.tamper.Create == nil {
		return m
	}
	var req containersapi.CreateContainerRequest
	if proto.Unmarshal(m.body, &req) != nil || req.Container == nil || req.Container.Spec == nil {
		return m
	}
	honest, _ := proto.Clone(req.Container).(*containersapi.Container)
	var spec map[string]any
	if json.Unmarshal(req.Container.Spec.Value, &spec) != nil {
		return m
	}
	c := req.Container
	labels := map[string]any{}
	for k, v := range c.Labels {
		labels[k] = v
	}
	spec["record"] = map[string]any{"id": c.ID, "labels": labels, "image": c.Image}
	p.tamper.Create(spec)
	record, _ := spec["record"].(map[string]any)
	delete(spec, "record")
	c.Labels = map[string]string{}
	for k, v := range labels {
		c.Labels[k], _ = v.(string)
	}
	c.Image, _ = record["image"].(string)
	value, err := json.Marshal(spec)
	if err != nil {
		return m
	}
	c.Spec.Value = value
	body, err := proto.Marshal(&req)
	if err != nil {
		return m
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.honest[c.ID] = honest
	return &message{body}
}

// answer changes what comes from the engine.
func (p *Proxy) answer(method string, m *message) *message {
	if !p.tamper.Forge || p.tamper.Create == nil {
		return m
	}
	switch method {
	case getMethod, createMethod: // both answers have the container as their first field
		var res containersapi.GetContainerResponse
		if proto.Unmarshal(m.body, &res) == nil && res.Container != nil && p.forge(res.Container) {
			if body, err := proto.Marshal(&res); err == nil {
				return &message{body}
			}
		}
	case listMethod:
		var res containersapi.ListContainersResponse
		if proto.Unmarshal(m.body, &res) == nil {
			for _, c := range res.Containers {
				p.forge(c)
			}
			if body, err := proto.Marshal(&res); err == nil {
				return &message{body}
			}
		}
	}
	return m
}

// forge puts back what was asked for.
func (p *Proxy) forge(c *containersapi.Container) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	honest := p.honest[c.ID]
	if honest == nil {
		return false
	}
	c.Spec, c.Labels, c.Image = honest.Spec, honest.Labels, honest.Image
	return true
}

// Relabel gives a container the labels that it should have, and takes away others
// that a test gave it.
func Relabel(ctx context.Context, address, namespace, id string, labels map[string]string, others ...string) error {
	c, err := client.New(strings.TrimPrefix(address, "unix://"), client.WithDefaultNamespace(namespace))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	ctx = namespaces.WithNamespace(ctx, namespace)
	k, err := c.ContainerService().Get(ctx, id)
	if err != nil {
		return err
	}
	for l, v := range labels {
		k.Labels[l] = v
	}
	for _, l := range others {
		delete(k.Labels, l)
	}
	_, err = c.ContainerService().Update(ctx, k, "labels")
	return err
}

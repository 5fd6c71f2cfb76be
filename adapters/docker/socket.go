package docker

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"

	"github.com/docker/docker/client"
	"github.com/docker/go-connections/sockets"

	"cyberagent/domain/fault"
)

// socket is the local address of an engine.
type socket struct {
	proto string // unix or npipe
	addr  string
}

// parseSocket accepts a local address only (config_invalid).
func parseSocket(s string) (socket, error) {
	if s == "" {
		s = defaultSocket
	}
	proto, addr, ok := strings.Cut(s, "://")
	if !ok {
		proto, addr = "unix", s
		if strings.HasPrefix(s, `\\.\pipe\`) {
			proto = "npipe"
		}
	}
	bad := func(format string, a ...any) (socket, error) {
		return socket{}, fault.New(fault.ConfigInvalid, format, a...).At("docker.socket").
			Hint("give the path of a local socket, such as %s", defaultSocket)
	}
	switch {
	case proto == "unix" && !filepath.IsAbs(addr):
		return bad("%q is not an absolute path", addr)
	case proto == "unix":
	case proto == "npipe" && pipes:
		addr = strings.ReplaceAll(addr, `\`, "/")
		if !strings.HasPrefix(addr, "//./pipe/") {
			return bad("%q is not a local named pipe", addr)
		}
	default:
		return bad("%q is not a local socket; remote engines are refused", s)
	}
	k := socket{proto: proto, addr: addr}
	if _, err := k.client(newestAPI); err != nil { // a path can be too long for a socket
		return bad("%v", err)
	}
	return k, nil
}

func (s socket) String() string { return s.proto + "://" + s.addr }

// client returns a client that uses exactly one API version and a new connection
// for every request: a request on a connection of its own is never repeated by
// net/http, which Start relies on, and nothing idle is left behind.
func (s socket) client(version string) (*client.Client, error) {
	tr := &http.Transport{DisableKeepAlives: true}
	if err := sockets.ConfigureTransport(tr, s.proto, s.addr); err != nil {
		return nil, fault.Wrap(fault.ConfigInvalid, err, "the engine's socket %s", s.addr).At("docker.socket")
	}
	dial := tr.DialContext
	c, err := client.NewClientWithOpts(
		client.WithHTTPClient(&http.Client{Transport: tr, CheckRedirect: client.CheckRedirect}),
		client.WithHost(s.String()),
		client.WithVersion(version),
		client.WithDialContext(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if w, ok := ctx.Value(wireKey{}).(*wire); ok {
				w.dialed(conn, err)
			}
			return conn, err
		}),
	)
	if err != nil {
		return nil, fault.Wrap(fault.ConfigInvalid, err, "the engine's socket %s", s.addr).At("docker.socket")
	}
	return c, nil
}

// wire watches the connection of one request. The library makes a hijacking
// request without looking at its context, so a hung engine would hold it for
// ever; and it forgets the reason why a connection could not be made.
type wire struct {
	mu     sync.Mutex
	conn   net.Conn
	closed bool
	err    error
}

type wireKey struct{}

// watched returns a context whose request w watches.
func watched(ctx context.Context, w *wire) context.Context {
	return context.WithValue(ctx, wireKey{}, w)
}

func (w *wire) dialed(conn net.Conn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn, w.err = conn, err
	if w.closed && conn != nil {
		_ = conn.Close()
	}
}

// close ends the request's connection, made or yet to be made.
func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.conn != nil {
		_ = w.conn.Close()
	}
}

// dialErr is why no connection was made; then nothing was sent.
func (w *wire) dialErr() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

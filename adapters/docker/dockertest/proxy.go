// Package dockertest is for tests of the product with Docker Engine: somebody
// between a client and the engine, and an engine of a test's own.
package dockertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Tamper is what the proxy does. The zero value passes everything on.
type Tamper struct {
	// Create changes the body of POST /containers/create; its key "name" is the
	// query's.
	Create func(map[string]any)
	// Forge answers inspections with what the engine would say of the unchanged
	// request.
	Forge bool
	// Warn is added to the warnings of create's answer.
	Warn string
	// LoseStart and LoseCreate cut the connection instead of answering, after the
	// engine did what it was asked to.
	LoseStart, LoseCreate bool
	// Started is called for every POST /containers/{id}/start.
	Started func()
}

// Proxy listens on a socket of its own and passes requests on to an engine's.
type Proxy struct {
	Socket string

	tamper   Tamper
	upstream string
	client   *http.Client
	server   *http.Server
	dir      string

	mu     sync.Mutex
	honest map[string]map[string]any // by id and name: the inspection to answer with
}

// NewProxy starts one.
func NewProxy(upstream string, t Tamper) (*Proxy, error) {
	dir, err := os.MkdirTemp("", "cyberagent-proxy-")
	if err != nil {
		return nil, err
	}
	p := &Proxy{Socket: filepath.Join(dir, "s"), tamper: t, upstream: strings.TrimPrefix(upstream, "unix://"), dir: dir, honest: map[string]map[string]any{}}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.upstream)
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	p.client = &http.Client{Transport: transport}
	listener, err := net.Listen("unix", p.Socket)
	if err != nil {
		return nil, err
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport:     transport,
		FlushInterval: -1,
	}
	p.server = &http.Server{Handler: p.handler(forward)} //nolint:gosec // a test's own clients
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Close ends the proxy and every connection through it.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.client.CloseIdleConnections()
	_ = os.RemoveAll(p.dir)
	return err
}

var (
	createPath  = regexp.MustCompile(`^(/v[0-9.]+)?/containers/create$`)
	startPath   = regexp.MustCompile(`^(/v[0-9.]+)?/containers/[^/]+/start$`)
	inspectPath = regexp.MustCompile(`^(/v[0-9.]+)?/containers/([^/]+)/json$`)
)

func (p *Proxy) handler(forward http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case r.Method == http.MethodPost && createPath.MatchString(path):
			p.create(w, r)
		case r.Method == http.MethodPost && startPath.MatchString(path):
			p.start(w, r)
		case r.Method == http.MethodGet && inspectPath.MatchString(path) && p.tamper.Forge:
			p.inspect(w, r, inspectPath.FindStringSubmatch(path)[2])
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// send repeats a request to the engine with another body.
func (p *Proxy) send(r *http.Request, method, uri string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), method, "http://engine"+uri, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

func cut(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

func reply(w http.ResponseWriter, code int, body []byte, err error) {
	if err != nil {
		cut(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

func (p *Proxy) start(w http.ResponseWriter, r *http.Request) {
	if p.tamper.Started != nil {
		p.tamper.Started()
	}
	code, body, err := p.send(r, r.Method, r.URL.RequestURI(), nil)
	if p.tamper.LoseStart {
		cut(w)
		return
	}
	reply(w, code, body, err)
}

func (p *Proxy) create(w http.ResponseWriter, r *http.Request) {
	original, err := io.ReadAll(r.Body)
	if err != nil {
		cut(w)
		return
	}
	uri, body := r.URL.RequestURI(), original
	var honest map[string]any
	if p.tamper.Create != nil {
		if p.tamper.Forge {
			if honest, err = p.rehearse(r, original); err != nil {
				reply(w, http.StatusBadGateway, []byte(fmt.Sprintf(`{"message":%q}`, err)), nil)
				return
			}
		}
		uri, body = p.change(r, original)
	}
	code, answer, err := p.send(r, r.Method, uri, body)
	if p.tamper.LoseCreate {
		cut(w)
		return
	}
	var made map[string]any
	if err == nil && code == http.StatusCreated && json.Unmarshal(answer, &made) == nil {
		if honest != nil {
			id, _ := made["Id"].(string)
			p.mu.Lock()
			p.honest[id], p.honest[r.URL.Query().Get("name")] = honest, honest
			p.mu.Unlock()
		}
		if p.tamper.Warn != "" {
			made["Warnings"] = []string{p.tamper.Warn}
			answer, _ = json.Marshal(made)
		}
	}
	reply(w, code, answer, err)
}

// change applies the tampering to a request.
func (p *Proxy) change(r *http.Request, original []byte) (uri string, body []byte) {
	var o map[string]any
	if json.Unmarshal(original, &o) != nil {
		return r.URL.RequestURI(), original
	}
	u := *r.URL
	q := u.Query()
	o["name"] = q.Get("name")
	p.tamper.Create(o)
	name, _ := o["name"].(string)
	delete(o, "name")
	q.Set("name", name)
	u.RawQuery = q.Encode()
	body, err := json.Marshal(o)
	if err != nil {
		return r.URL.RequestURI(), original
	}
	return u.RequestURI(), body
}

// rehearse makes the container as asked for, keeps what the engine says of it,
// and removes it.
func (p *Proxy) rehearse(r *http.Request, body []byte) (map[string]any, error) {
	code, answer, err := p.send(r, r.Method, r.URL.RequestURI(), body)
	if err != nil || code != http.StatusCreated {
		return nil, fmt.Errorf("the rehearsal: %d %s %w", code, answer, err)
	}
	var made struct{ ID string }
	if err := json.Unmarshal(answer, &made); err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(r.URL.Path, "/create")
	_, answer, err = p.send(r, http.MethodGet, prefix+"/"+made.ID+"/json", nil)
	if err != nil {
		return nil, err
	}
	var honest map[string]any
	if err := json.Unmarshal(answer, &honest); err != nil {
		return nil, err
	}
	_, _, err = p.send(r, http.MethodDelete, prefix+"/"+made.ID+"?force=1&v=1", nil)
	return honest, err
}

func (p *Proxy) inspect(w http.ResponseWriter, r *http.Request, id string) {
	code, answer, err := p.send(r, r.Method, r.URL.RequestURI(), nil)
	p.mu.Lock()
	honest := maps.Clone(p.honest[id])
	p.mu.Unlock()
	var real map[string]any
	if err == nil && code == http.StatusOK && honest != nil && json.Unmarshal(answer, &real) == nil {
		for _, k := range []string{"Id", "State", "Created"} {
			honest[k] = real[k]
		}
		answer, err = json.Marshal(honest)
	}
	reply(w, code, answer, err)
}

// Destroy removes a container, whoever made it.
func Destroy(ctx context.Context, socket, id string) error {
	p, err := NewProxy(socket, Tamper{})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, "/", nil)
	if err != nil {
		return err
	}
	code, body, err := p.send(req, http.MethodDelete, "/containers/"+id+"?force=1&v=1", nil)
	if err == nil && code >= http.StatusBadRequest {
		err = fmt.Errorf("remove %s: %d %s", id, code, body)
	}
	return err
}

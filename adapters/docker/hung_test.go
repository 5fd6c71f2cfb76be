package docker

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// A daemon that accepts and says nothing (SIGSTOP) holds no method for longer
// than its context and a second.
func TestEngine_HungDaemonHoldsNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	hung, err := New(Config{Socket: path})
	must(t, err)
	// One that negotiated before it hung, too.
	late, err := New(Config{Socket: path})
	must(t, err)
	c, err := late.socket.client(oldestAPI)
	must(t, err)
	late.negotiated.Store(c)
	spec := enginetest.NewSpec(t, fakeOwner, "sha256:"+strings.Repeat("a", 64), "exit 0", isolation.StdinPipe)

	calls := map[string]func(context.Context, *Engine) error{
		"Create":      func(ctx context.Context, e *Engine) error { _, _, err := e.Create(ctx, spec); return err },
		"ReadBack":    func(ctx context.Context, e *Engine) error { _, err := e.ReadBack(ctx, fakeID); return err },
		"Attach":      func(ctx context.Context, e *Engine) error { _, err := e.Attach(ctx, fakeID); return err },
		"Start":       func(ctx context.Context, e *Engine) error { return e.Start(ctx, fakeID) },
		"AttachStdin": func(ctx context.Context, e *Engine) error { _, err := e.AttachStdin(ctx, fakeID); return err },
		"Wait":        func(ctx context.Context, e *Engine) error { _, err := e.Wait(ctx, fakeID); return err },
		"Stop":        func(ctx context.Context, e *Engine) error { return e.Stop(ctx, fakeID) },
		"Kill":        func(ctx context.Context, e *Engine) error { return e.Kill(ctx, fakeID) },
		"Freeze":      func(ctx context.Context, e *Engine) error { return e.Freeze(ctx, fakeID) },
		"Thaw":        func(ctx context.Context, e *Engine) error { return e.Thaw(ctx, fakeID) },
		"Remove":      func(ctx context.Context, e *Engine) error { return e.Remove(ctx, fakeID, fakeOwner) },
		"Inspect":     func(ctx context.Context, e *Engine) error { _, err := e.Inspect(ctx, fakeID); return err },
		"Find":        func(ctx context.Context, e *Engine) error { _, err := e.Find(ctx, fakeOwner.Admission); return err },
		"FindOwned": func(ctx context.Context, e *Engine) error {
			_, err := e.FindOwned(ctx, fakeOwner.Installation)
			return err
		},
		"InspectImage": func(ctx context.Context, e *Engine) error { _, err := e.InspectImage(ctx, spec.ImageID()); return err },
		"ResolveBase": func(ctx context.Context, e *Engine) error {
			_, err := e.ResolveBase(ctx, "a@"+spec.ImageID())
			return err
		},
		"Export": func(ctx context.Context, e *Engine) error { _, err := e.Export(ctx, spec.ImageID()); return err },
		"Load":   func(ctx context.Context, e *Engine) error { return e.Load(ctx, strings.NewReader("x")) },
		"Untag":  func(ctx context.Context, e *Engine) error { return e.Untag(ctx, "a:b") },
	}
	for name, call := range calls {
		for when, e := range map[string]*Engine{"from the beginning": hung, "later": late} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
				defer cancel()
				enginetest.Soon(t, name, func() { wantCode(t, call(ctx, e), fault.EngineTimeout) })
			})
		}
	}
	t.Run("Probe answers", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		facts, err := hung.Probe(ctx)
		must(t, err)
		if facts.Reachability != admission.Unreachable || facts.Detail == "" {
			t.Errorf("%+v", facts)
		}
	})
}

// An attachment whose handshake hangs although the engine has answered before.
func TestEngine_AttachHandshakeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	f.on("POST "+pathOf+"/attach", func(http.ResponseWriter, *http.Request) { <-release })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	enginetest.Soon(t, "Attach", func() {
		_, err := f.Attach(ctx, fakeID)
		wantCode(t, err, fault.EngineTimeout)
	})
}

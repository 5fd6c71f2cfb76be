package e2e

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An owner is stopped (SIGSTOP) until another process has taken its lease and
// brought the command to its end. When it goes on, it says that it lost the lease
// and changes nothing.
func TestPausedOwner_WakesAfterItsLeaseWasTakenAndChangesNothing(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	a := f.MustApprove(t, python("abuse.py", "wait").within(600))
	args := f.execute(a)
	o := f.MustStart(t, a)
	// Not in the very transaction that was just seen: a process that is stopped
	// while it holds SQLite's lock holds everybody until it is continued or killed.
	time.Sleep(500 * time.Millisecond)
	o.Signal(t, syscall.SIGSTOP)
	defer o.Signal(t, syscall.SIGCONT)
	f.mustOutlast(t)
	x := f.MustExecutions(t)
	if x[0].Result == nil || x[0].Result.ended() != "cancelled/owner_lost" {
		t.Fatalf("recovered: %+v", x[0])
	}
	f.MustFollow(t, *x[0].Result)
	f.mustWakeInVain(t, o.process, x)
	again := MustAnswer[resultView](t, f.start(t, args...).Wait(t), 7)
	if !again.Replayed || again.ended() != "cancelled/owner_lost" {
		t.Errorf("repeated: %+v", again)
	}
	f.MustRunOrdinarily(t)
}

// The same before the one start: it is never sent.
func TestPausedOwner_ThatWakesBeforeItsStartDoesNotSendIt(t *testing.T) {
	t.Parallel()
	e := mustPrivate(t)
	h := mustHomeOn(t, e.socket, e.digest)
	f := h.MustFlow(t, h.MustSource(t, map[string]string{"file": "x\n"}))
	a := f.MustApprove(t, stay(time.Minute))
	started, paused := make(chan *process, 1), make(chan struct{})
	// The owner hears that its container is made only when it is stopped already.
	g := f.with("CYBERAGENT_DOCKER_SOCKET=" + mustHold(t, e.socket, func() {
		(<-started).Signal(t, syscall.SIGSTOP)
		close(paused)
	}))
	p := g.start(t, f.execute(a)...)
	started <- p
	<-paused
	defer p.Signal(t, syscall.SIGCONT)
	f.mustOutlast(t)
	x := f.MustExecutions(t)
	if x[0].Result == nil || x[0].Result.ended() != "cancelled/never_started" || x[0].starts() != 0 || f.starts(t) != 0 {
		t.Fatalf("recovered: %+v", x[0])
	}
	f.mustWakeInVain(t, p, x)
	if n := f.starts(t); n != 0 {
		t.Errorf("the command was started %d times", n)
	}
	f.take(f.MustStatus(t))
}

// mustHold passes calls of the engine on, and does something before the answer to
// the one that makes a container comes back. It returns its socket.
func mustHold(t *testing.T, engine string, created func()) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine.sock")
	l, err := net.Listen("unix", socket)
	must(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "engine"}) },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", engine)
		}},
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/containers/create") {
				created()
			}
			return nil
		},
	}
	server := &http.Server{Handler: proxy, ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return socket
}

// mustOutlast recovers the Run until its owner's lease is over: until then the
// execution is the owner's.
func (f *flow) mustOutlast(t *testing.T) {
	t.Helper()
	eventually(t, "the lease is over", func() bool {
		time.Sleep(time.Second)
		a := f.call(t, "run", "standard-code", "recover", f.run)
		if a.code == 0 {
			return true
		}
		if v := MustAnswer[recoveryView](t, a, 8); v.Items[0].Outcome != "owned" {
			t.Errorf("recovered: %+v", v)
		}
		return false
	})
}

// mustWakeInVain lets a stopped owner go on and proves that nothing is different
// afterwards.
func (f *flow) mustWakeInVain(t *testing.T, p *process, before []executionView) {
	t.Helper()
	drydock := f.MustStatus(t)
	p.Signal(t, syscall.SIGCONT)
	checkRefusal(t, p.Wait(t), refusal{"lease_lost", 8, ""})
	f.MustHaveNoContainer(t)
	if after := f.MustExecutions(t); !reflect.DeepEqual(after, before) {
		t.Errorf("the execution changed:\n%+v\n%+v", before, after)
	}
	if after := f.MustStatus(t); !reflect.DeepEqual(after, drydock) {
		t.Errorf("the Drydock changed:\n%+v\n%+v", drydock, after)
	}
	if v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", "--all"), 0); len(v.Items) != 0 {
		t.Errorf("there is nothing more to recover: %+v", v)
	}
}

package docker

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// upgrade accepts an attachment and hands its connection to fn.
func upgrade(fn func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		go fn(conn)
	}
}

func frame(stream byte, content string, length int) []byte {
	b := []byte{stream, 0, 0, 0, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(b[4:], uint32(length))
	return append(b, content...)
}

func TestDemux(t *testing.T) {
	join := func(bs ...[]byte) []byte { return bytes.Join(bs, nil) }
	for name, c := range map[string]struct {
		in       []byte
		out, err string
		bad      bool
	}{
		"nothing":         {},
		"both":            {in: join(frame(1, "a", 1), frame(2, "b", 1), frame(1, "c", 1)), out: "ac", err: "b"},
		"an empty frame":  {in: join(frame(1, "", 0), frame(2, "b", 1)), err: "b"},
		"a large frame":   {in: frame(1, strings.Repeat("x", 100_000), 100_000), out: strings.Repeat("x", 100_000)},
		"cut content":     {in: frame(1, "a", 2), out: "a", bad: true},
		"no content":      {in: frame(1, "", 2), bad: true},
		"a cut header":    {in: []byte{1, 0}, bad: true},
		"an alien stream": {in: frame(3, "x", 1), bad: true},
		"a huge claim":    {in: frame(1, "", 1<<32-1), bad: true},
	} {
		for how, r := range map[string]io.Reader{"whole": bytes.NewReader(c.in), "bytewise": iotest.OneByteReader(bytes.NewReader(c.in))} {
			var out, errs bytes.Buffer
			err := demux(&passing{w: &out}, &passing{w: &errs}, r)
			if out.String() != c.out || errs.String() != c.err || (err != nil) != c.bad {
				t.Errorf("%s, %s: %d and %d bytes, %v", name, how, out.Len(), errs.Len(), err)
			}
		}
	}
	t.Run("a writer that fails does not end the other", func(t *testing.T) {
		r, w := io.Pipe()
		_ = r.Close()
		var errs bytes.Buffer
		if err := demux(&passing{w: w}, &passing{w: &errs}, bytes.NewReader(join(frame(1, "a", 1), frame(2, "b", 1)))); err != nil || errs.String() != "b" {
			t.Errorf("%q %v", errs.String(), err)
		}
	})
}

func TestEngine_AttachFaults(t *testing.T) {
	t.Parallel()
	post := "POST " + pathOf + "/attach"
	read := func(t *testing.T, out ports.Output) (string, string, error) {
		errs := make(chan string, 1)
		go func() { b, _ := io.ReadAll(out.Stderr); errs <- string(b) }()
		b, err := io.ReadAll(out.Stdout)
		return string(b), <-errs, err
	}
	t.Run("an end between two frames is the end", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			_, _ = c.Write(append(frame(1, "out", 3), frame(2, "err", 3)...))
			_ = c.Close()
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		o, e, err := read(t, out)
		must(t, err)
		if o != "out" || e != "err" {
			t.Errorf("%q %q", o, e)
		}
	})
	for name, tail := range map[string][]byte{
		"inside a frame": frame(1, "out", 9), "inside a header": {1, 0, 0}, "at a frame of no stream": frame(7, "x", 1),
	} {
		t.Run("an end "+name+" is an error", func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.on(post, upgrade(func(c net.Conn) { _, _ = c.Write(tail); _ = c.Close() }))
			out, err := f.Attach(t.Context(), fakeID)
			must(t, err)
			if _, _, err := read(t, out); err == nil {
				t.Error("no error")
			}
		})
	}
	t.Run("the end of the engine is an error", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			_, _ = c.Write(frame(1, "out", 3))
			_ = f.server.Listener.Close()
			_ = c.Close()
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		o, _, err := read(t, out)
		wantCode(t, err, fault.DaemonUnreachable)
		if o != "out" {
			t.Errorf("%q", o)
		}
	})
	t.Run("Close does not wait for a reader", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) {
			for {
				if _, err := c.Write(frame(1, "out", 3)); err != nil {
					return
				}
			}
		}))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		_, err = io.CopyN(io.Discard, out.Stdout, 100)
		must(t, err)
		enginetest.Soon(t, "Close", func() { must(t, out.Close()) })
		if _, err := out.Stdout.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("reading after Close: %v", err)
		}
	})
	t.Run("a stream that nobody reads does not hold the other after Close", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, upgrade(func(c net.Conn) { _, _ = c.Write(frame(2, "err", 3)) }))
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		go func() { time.Sleep(50 * time.Millisecond); _ = out.Close() }()
		if _, err := io.ReadAll(out.Stdout); err == nil {
			t.Error("an end that was no end")
		}
	})
	t.Run("Kill lets go of output that nobody reads", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		drained := make(chan struct{})
		f.on(post, upgrade(func(c net.Conn) {
			for range 4 << 10 {
				if _, err := c.Write(frame(1, strings.Repeat("x", 1000), 1000)); err != nil {
					return
				}
			}
			close(drained)
			_ = c.Close()
		}))
		f.on("POST "+pathOf+"/kill", func(w http.ResponseWriter, r *http.Request) { <-drained; refuse(204, "")(w, r) })
		out, err := f.Attach(t.Context(), fakeID)
		must(t, err)
		_, err = io.CopyN(io.Discard, out.Stdout, 100)
		must(t, err)
		enginetest.Soon(t, "Kill", func() { must(t, f.Kill(t.Context(), fakeID)) })
		if _, err := io.Copy(io.Discard, out.Stdout); err == nil {
			t.Error("the reader is not told that output was let go")
		}
	})
	t.Run("refusals are explained", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on(post, refuse(404, "no such container"))
		_, err := f.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		f.on("GET "+pathOf+"/json", answer(inState(created())))
		f.on(post, refuse(409, "paused"))
		_, err = f.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
	})
}

// A15: the end of the output is the end of the attachment.
func TestAttach_DeliversEverything(t *testing.T) {
	const big, small = 20_000_000, 200_000
	want := func(n int) [32]byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + i%26)
		}
		return sha256.Sum256(b)
	}
	for range 2 {
		j := newJob(t, "out 20000000 200000", isolation.StdinClosed)
		out, errs, exit := j.Run()
		if sha256.Sum256([]byte(out)) != want(big) || sha256.Sum256([]byte(errs)) != want(small) || exit.Code != 0 {
			t.Errorf("%d and %d bytes, %+v", len(out), len(errs), exit)
		}
		must(t, j.Remove(t.Context(), j.ID, j.Owner))
	}
}

// A1: a reader that stopped wedges kill, inspect and removal, until we let go.
func TestAttach_ReaderStops(t *testing.T) {
	spam := func(t *testing.T) (*job, ports.Output) {
		j := newJob(t, "spam", isolation.StdinClosed)
		j.Make()
		out, err := j.Attach(t.Context(), j.ID)
		must(t, err)
		must(t, j.Start(t.Context(), j.ID))
		_, err = io.CopyN(io.Discard, out.Stdout, 1<<20)
		must(t, err)
		return j, out
	}
	t.Run("Kill", func(t *testing.T) {
		j, out := spam(t)
		exit := j.Exits()
		enginetest.Soon(t, "Kill", func() { must(t, j.Kill(t.Context(), j.ID)) })
		enginetest.Soon(t, "Wait", func() {
			if got := exit(); got != (ports.Exit{Code: 137}) {
				t.Errorf("%+v", got)
			}
		})
		must(t, out.Close())
		must(t, j.Remove(t.Context(), j.ID, j.Owner))
	})
	t.Run("Remove", func(t *testing.T) {
		j, _ := spam(t)
		enginetest.Soon(t, "Remove", func() { must(t, j.Remove(t.Context(), j.ID, j.Owner)) })
	})
	t.Run("Close", func(t *testing.T) {
		j, out := spam(t)
		enginetest.Soon(t, "Close", func() { must(t, out.Close()) })
		enginetest.Soon(t, "Kill", func() { must(t, j.Kill(t.Context(), j.ID)) })
	})
	t.Run("a slow reader loses nothing to Kill", func(t *testing.T) {
		j, out := spam(t)
		killed := make(chan error, 1)
		go func() { killed <- j.Kill(t.Context(), j.ID) }()
		buf := make([]byte, 256<<10)
		for {
			time.Sleep(20 * time.Millisecond)
			if _, err := out.Stdout.Read(buf); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
		}
		must(t, <-killed)
	})
}

package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

func TestEngine_StdinFaults(t *testing.T) {
	t.Parallel()
	pipe := inState(running())
	pipe.Config.OpenStdin, pipe.Config.StdinOnce = true, true
	t.Run("a peer that has gone is the end of the pipe", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			_, err = w.Write([]byte("x"))
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
		must(t, w.Close())
		must(t, w.Close())
	})
	t.Run("Close ends a blocked Write", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { <-release; _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		wrote := make(chan error, 1)
		go func() { _, err := w.Write(make([]byte, 8<<20)); wrote <- err }()
		time.Sleep(50 * time.Millisecond)
		enginetest.Soon(t, "Close", func() {
			must(t, w.Close())
			if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%v", err)
			}
		})
	})
	t.Run("one that is frozen is asked again until it goes on", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		f.on("POST "+pathOf+"/attach", turns(refuse(409, "container is paused"), refuse(409, "container is paused"), upgrade(func(c net.Conn) { _ = c.Close() })))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		must(t, w.Close())
	})
	t.Run("there is one", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(pipe))
		f.on("POST "+pathOf+"/attach", upgrade(func(c net.Conn) { _, _ = io.Copy(io.Discard, c); _ = c.Close() }))
		w, err := f.AttachStdin(t.Context(), fakeID)
		must(t, err)
		defer w.Close()
		_, err = f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.RecoveryRequired)
	})
	t.Run("none without a pipe or before the start", func(t *testing.T) {
		t.Parallel()
		f := newFake(t)
		f.on("GET "+pathOf+"/json", answer(inState(running())))
		_, err := f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
		early := pipe
		base := *pipe.ContainerJSONBase
		s := created()
		base.State, early.ContainerJSONBase = &s, &base
		f.on("GET "+pathOf+"/json", answer(early))
		_, err = f.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.EngineFailure)
	})
}

var eofRuns = flag.Int("eof", 20, "how often an empty stdin pipe is tried; 50 of 50 is the goal")

// A2
func TestStdin_EmptyPipeEnds(t *testing.T) {
	var wg sync.WaitGroup
	next := make(chan *job)
	for range 3 {
		wg.Go(func() {
			for j := range next {
				emptyPipe(j)
			}
		})
	}
	for range *eofRuns {
		next <- newJob(t, "stdin", isolation.StdinPipe)
	}
	close(next)
	wg.Wait()
}

func emptyPipe(j *job) {
	ctx, cancel := context.WithTimeout(j.T.Context(), 20*time.Second)
	defer cancel()
	err := func() (err error) {
		if j.ID, _, err = j.Create(ctx, j.Spec); err != nil {
			return err
		}
		out, err := j.Attach(ctx, j.ID)
		if err != nil {
			return err
		}
		defer out.Close()
		go discard(out.Stdout)
		if err := j.Start(ctx, j.ID); err != nil {
			return err
		}
		in, err := j.AttachStdin(ctx, j.ID)
		if err != nil {
			return err
		}
		if err := in.Close(); err != nil {
			return err
		}
		report, err := io.ReadAll(out.Stderr)
		if err != nil {
			return err
		}
		if string(report) != "0 <nil>" {
			return errors.New(string(report))
		}
		if exit, err := j.Wait(ctx, j.ID); err != nil || exit.Code != 0 {
			return errors.Join(err, errors.New("exit"))
		}
		return j.Remove(ctx, j.ID, j.Owner)
	}()
	if err != nil {
		j.T.Error(err)
	}
}

func TestStdin_Delivers(t *testing.T) {
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	j := newJob(t, "stdin", isolation.StdinPipe)
	j.Make()
	read := j.Outputs()
	must(t, j.Start(t.Context(), j.ID))
	in, err := j.AttachStdin(t.Context(), j.ID)
	must(t, err)
	for chunk := range slices.Chunk(content, 64<<10) {
		_, err := in.Write(chunk)
		must(t, err)
	}
	must(t, in.Close())
	out, report := read()
	if out != string(content) || report != "1048576 <nil>" {
		t.Errorf("%d bytes back, %s", len(out), report)
	}
	_, err = j.AttachStdin(t.Context(), j.ID)
	if err == nil {
		t.Error("a second attachment")
	}
}

func TestStdin_CommandThatNeverReads(t *testing.T) {
	j := newJob(t, "noread 60000", isolation.StdinPipe)
	j.Make()
	read := j.Outputs()
	must(t, j.Start(t.Context(), j.ID))
	in, err := j.AttachStdin(t.Context(), j.ID)
	must(t, err)
	wrote := make(chan error, 1)
	go func() { _, err := in.Write(make([]byte, 8<<20)); wrote <- err }()
	time.Sleep(100 * time.Millisecond)
	must(t, j.Kill(t.Context(), j.ID))
	enginetest.Soon(t, "Write", func() {
		if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
	})
	must(t, in.Close())
	read()
}

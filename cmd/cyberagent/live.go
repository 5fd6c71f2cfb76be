package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"cyberagent/domain/runnerproto"
	"cyberagent/internal/cleantext"
)

// forTerminal cleans bytes that somebody else wrote when a person's terminal
// shows them; into a pipe or file they go as they are.
func (s *session) forTerminal(p []byte) []byte {
	if !s.outTerminal {
		return p
	}
	var c cleantext.Cleaner
	return append(c.Clean(p), c.Flush()...)
}

// screen shows both streams of a running command, cleaned, and the steps of the
// work as they come. It never holds the work: what a terminal that stands still
// does not take is left out and counted.
type screen struct {
	w        io.Writer
	mu       sync.Mutex
	cleaners map[runnerproto.Stream]*cleantext.Cleaner
	held     []byte
	left     int
	more     chan struct{} // one token: something is held, or the end has come
	ended    bool
	done     chan struct{}
}

const (
	screenBytes = 1 << 20
	// screenEnd is how long the end may wait for the terminal.
	screenEnd = 2 * time.Second
)

func newScreen(w io.Writer) *screen {
	s := &screen{
		w: w, more: make(chan struct{}, 1), done: make(chan struct{}),
		cleaners: map[runnerproto.Stream]*cleantext.Cleaner{runnerproto.Stdout: {}, runnerproto.Stderr: {}},
	}
	go s.run()
	return s
}

// show is the use case's sink.
func (s *screen) show(st runnerproto.Stream, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(s.cleaners[st].Clean(p))
}

func (s *screen) hold(p []byte) {
	if len(s.held)+len(p) > screenBytes {
		s.left += len(p)
		return
	}
	s.held = append(s.held, p...)
	s.wake()
}

func (s *screen) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// end shows what is held, unless the terminal stands still.
func (s *screen) end() {
	s.mu.Lock()
	for _, st := range []runnerproto.Stream{runnerproto.Stdout, runnerproto.Stderr} {
		s.held = append(s.held, s.cleaners[st].Flush()...)
	}
	s.ended = true
	s.mu.Unlock()
	s.wake()
	select {
	case <-s.done:
	case <-time.After(screenEnd):
	}
}

func (s *screen) run() {
	defer close(s.done)
	for range s.more {
		s.mu.Lock()
		out, ended := s.held, s.ended
		if s.left > 0 {
			out = fmt.Appendf(out, "\n… %d bytes not shown …\n", s.left)
		}
		s.held, s.left = nil, 0
		s.mu.Unlock()
		_, _ = s.w.Write(out)
		if ended {
			return
		}
	}
}

// progress tells the steps of long work on a terminal, once the work has taken two
// seconds.
func (s *session) progress(on *screen) func(string) {
	if !s.errTerminal {
		return nil
	}
	began := time.Now()
	return func(step string) {
		if took := time.Since(began); took > 2*time.Second {
			on.mu.Lock()
			defer on.mu.Unlock()
			on.hold(fmt.Appendf(nil, "cyberagent: %4.1fs %s\n", took.Seconds(), step))
		}
	}
}

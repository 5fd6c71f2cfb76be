package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"cyberagent/domain/phrase"
	"cyberagent/domain/runnerproto"
	"cyberagent/internal/cleantext"
)

// forTerminal makes bytes that somebody else wrote harmless when a person's
// terminal shows them, and keeps visible what it changed: who reviews must see it.
// Into a pipe or file they go as they are.
func (s *session) forTerminal(p []byte) []byte {
	if !s.outTerminal {
		return p
	}
	return cleantext.Visible(p)
}

// gutter is for a command's output on standard error.
func (s *session) gutter() *gutter {
	if !s.errTerminal {
		return &gutter{}
	}
	return newGutter(s.errColumns)
}

// screen shows both streams of a running command, cleaned, and the steps of the
// work as they come. It never holds the work: what a terminal that stands still
// does not take is left out and counted.
type screen struct {
	w        io.Writer
	mu       sync.Mutex
	gutter   *gutter
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

func newScreen(w io.Writer, g *gutter) *screen {
	s := &screen{
		w: w, gutter: g, more: make(chan struct{}, 1), done: make(chan struct{}),
		cleaners: map[runnerproto.Stream]*cleantext.Cleaner{runnerproto.Stdout: {}, runnerproto.Stderr: {}},
	}
	go s.run()
	return s
}

// show is the use case's sink.
func (s *screen) show(st runnerproto.Stream, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p = s.cleaners[st].Clean(p)
	if len(s.held)+len(p) > screenBytes {
		s.left += len(p)
		return
	}
	s.held = s.gutter.mark(s.held, p)
	s.wake()
}

// say shows a line of the product's own, on its own row.
func (s *screen) say(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) > screenBytes {
		return
	}
	s.held = append(s.gutter.end(s.held), line...)
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
		s.held = s.gutter.mark(s.held, s.cleaners[st].Flush())
	}
	s.held = s.gutter.end(s.held)
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
			out = fmt.Appendf(s.gutter.end(out), "… %s not shown …\n", phrase.Count(s.left, "byte"))
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
			on.say(fmt.Sprintf("cyberagent: %4.1fs %s\n", took.Seconds(), step))
		}
	}
}

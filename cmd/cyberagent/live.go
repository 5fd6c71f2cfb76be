package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"cyberagent/app/standardcode"
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

// live writes both streams of a running command, cleaned, as they come.
func live(w io.Writer) standardcode.Sink {
	var mu sync.Mutex
	cleaners := map[runnerproto.Stream]*cleantext.Cleaner{runnerproto.Stdout: {}, runnerproto.Stderr: {}}
	return func(st runnerproto.Stream, p []byte) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(cleaners[st].Clean(p))
	}
}

// progress prints steps of long work on a terminal, once the work has taken two
// seconds.
func (s *session) progress() func(string) {
	if !s.errTerminal {
		return nil
	}
	began := time.Now()
	var mu sync.Mutex
	return func(step string) {
		mu.Lock()
		defer mu.Unlock()
		if took := time.Since(began); took > 2*time.Second {
			_, _ = fmt.Fprintf(s.err, "cyberagent: %4.1fs %s\n", took.Seconds(), step)
		}
	}
}

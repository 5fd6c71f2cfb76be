package memory

import (
	"errors"
	"io"
	"sync"
)

// tap is one output stream of a process. What nobody is attached to is dropped;
// what somebody is attached to waits until it is read.
type tap struct {
	mu    sync.Mutex
	pipe  *io.PipeWriter
	ended bool
}

var errClosed = errors.New("the attachment was closed")

// attach returns the reading end.
func (t *tap) attach() *io.PipeReader {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, w := io.Pipe()
	if t.ended {
		_ = w.Close()
		return r
	}
	t.pipe = w
	return r
}

// Write implements io.Writer. It never fails.
func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	w := t.pipe
	t.mu.Unlock()
	if w != nil {
		_, _ = w.Write(b)
	}
	return len(b), nil
}

// end gives the reader its EOF.
func (t *tap) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.pipe != nil {
		_ = t.pipe.Close()
	}
}

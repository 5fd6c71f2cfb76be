// Package stream carries the command's two output streams to the host in frames
// (package runnerproto), and counts and hashes all of them.
package stream

import (
	"errors"
	"io"
	"sync"
	"time"

	"cyberagent/domain/runnerproto"
)

// ErrBroken says that the host took only a part of a frame: nothing that follows
// could be understood, so nothing is sent any more.
var ErrBroken = errors.New("the frames' reader is gone")

// Sink is where frames go: the runner's stdout, a non-blocking pipe. A write
// blocks until the host reads or the deadline passes.
type Sink interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}

// Frames writes whole frames of several streams, one at a time.
type Frames struct {
	mu     sync.Mutex
	to     Sink
	broken bool
}

// NewFrames makes a writer of frames.
func NewFrames(to Sink) *Frames { return &Frames{to: to} }

// Send writes one frame. buf is HeaderLen bytes of room and the payload, so that
// each frame is one write.
func (f *Frames) Send(s runnerproto.Stream, buf []byte) error {
	runnerproto.PutHeader(buf, s, len(buf)-runnerproto.HeaderLen)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return ErrBroken
	}
	if _, err := f.to.Write(buf); err != nil {
		f.broken = true
		return ErrBroken
	}
	return nil
}

// Deadline bounds all writes from now on, also one that is blocked already.
func (f *Frames) Deadline(t time.Time) { _ = f.to.SetWriteDeadline(t) }

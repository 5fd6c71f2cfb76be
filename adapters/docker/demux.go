package docker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// The engine's framing of the two streams: a byte that names the stream, three
// of nothing, four of length, the bytes.
const (
	frameHeader = 8
	streamOut   = 1
	streamErr   = 2
)

// demux copies frames from src to the two writers until src ends between two
// frames (nil) or anywhere else (an error). A writer that fails, because nobody
// reads any more, is passed over, and the other goes on.
//
// The library's stdcopy takes the end of src inside a frame for a good one, and
// makes room for whatever length a frame claims.
func demux(stdout, stderr *passing, src io.Reader) error {
	var head [frameHeader]byte
	buf := make([]byte, 32<<10)
	for {
		if _, err := io.ReadFull(src, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read the container's output: %w", err)
		}
		var dst *passing
		switch head[0] {
		case streamOut:
			dst = stdout
		case streamErr:
			dst = stderr
		default:
			return fmt.Errorf("read the container's output: a frame of stream %d", head[0])
		}
		size := int64(binary.BigEndian.Uint32(head[4:]))
		n, err := io.CopyBuffer(dst, struct{ io.Reader }{io.LimitReader(src, size)}, buf)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("read the container's output: %w", err)
		}
	}
}

// passing drops what its writer no longer takes, and knows since when its writer
// has not taken anything.
type passing struct {
	w     io.Writer
	gone  bool
	since atomic.Int64 // when the write that is under way began, 0 without one
}

func (p *passing) Write(b []byte) (int, error) {
	if !p.gone {
		p.since.Store(time.Now().UnixNano())
		if _, err := p.w.Write(b); err != nil {
			p.gone = true
		}
		p.since.Store(0)
	}
	return len(b), nil
}

// stalled says whether nobody took what is there for that long.
func (p *passing) stalled(d time.Duration) bool {
	since := p.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > d
}

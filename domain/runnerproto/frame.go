package runnerproto

import (
	"encoding/binary"
	"io"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// Stream says which of the command's streams a frame carries.
type Stream byte

// The frame types. Any other byte is a protocol error.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// HeaderLen is one byte of type and a big-endian length of four bytes.
const HeaderLen = 5

// What goes into frames, per stream, in bytes: the first LiveBytes as they come,
// and of what follows the last TailBytes, when the command has ended. So the
// frames hold a gap only if a stream has over LiveBytes+TailBytes, and the gap is
// right after LiveBytes. Everything is counted and hashed (StreamReport).
const (
	LiveBytes = 8 * limits.MiB
	TailBytes = limits.OutputKeepBytes
)

// String is the stream's name in receipts.
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "unknown"
}

// PutHeader writes a frame's header in the first HeaderLen bytes of b.
func PutHeader(b []byte, s Stream, n int) {
	b[0] = byte(s)
	binary.BigEndian.PutUint32(b[1:HeaderLen], uint32(n))
}

// Decoder reads frames from a runner's stdout.
type Decoder struct {
	r   io.Reader
	buf []byte
}

// NewDecoder makes a Decoder.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{r: r, buf: make([]byte, HeaderLen+limits.RunnerFrameBytes)}
}

// Next returns the next frame; its payload is valid until the next call. It
// returns io.EOF at a clean end, io.ErrUnexpectedEOF in the middle of a frame,
// and runner_failure for anything that is not a frame.
func (d *Decoder) Next() (Stream, []byte, error) {
	h := d.buf[:HeaderLen]
	if _, err := io.ReadFull(d.r, h); err != nil {
		return 0, nil, err
	}
	s := Stream(h[0])
	n := int64(binary.BigEndian.Uint32(h[1:]))
	if s != Stdout && s != Stderr {
		return 0, nil, fault.New(fault.RunnerFailure, "frame type %d", h[0])
	}
	if n == 0 || n > limits.RunnerFrameBytes {
		return 0, nil, fault.New(fault.RunnerFailure, "frame of %d bytes", n)
	}
	p := d.buf[HeaderLen : HeaderLen+n]
	if _, err := io.ReadFull(d.r, p); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return s, p, nil
}

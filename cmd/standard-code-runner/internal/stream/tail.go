package stream

// tail keeps the last bytes of what is written to it.
type tail struct {
	buf  []byte
	next int // where the next byte goes
	full bool
}

func newTail(size int) *tail { return &tail{buf: make([]byte, size)} }

// write keeps the end of p.
func (t *tail) write(p []byte) {
	if len(p) >= len(t.buf) {
		copy(t.buf, p[len(p)-len(t.buf):])
		t.next, t.full = 0, true
		return
	}
	n := copy(t.buf[t.next:], p)
	if n < len(p) {
		copy(t.buf, p[n:])
		t.full = true
	}
	t.next += len(p)
	if t.next >= len(t.buf) {
		t.next -= len(t.buf)
		t.full = true
	}
}

// parts returns what is kept, in order, in one or two pieces.
func (t *tail) parts() [2][]byte {
	if !t.full {
		return [2][]byte{t.buf[:t.next]}
	}
	return [2][]byte{t.buf[t.next:], t.buf[:t.next]}
}

package job

import (
	"time"
	"unicode/utf8"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// Frame is one piece of a Job's output. Its cursor range is [From, To). Omitted
// is 0, and To-From is the length of Text, or Text is empty and Omitted bytes of
// that range are gone.
type Frame struct {
	Stream  string    `json:"stream"` // stdout, stderr; empty for what the owner let go of
	At      time.Time `json:"at"`
	From    int64     `json:"from"`
	To      int64     `json:"to"`
	Text    string    `json:"text"`
	Omitted int64     `json:"omitted_bytes"`
}

// Page is a part of the output. Next is the cursor to read on from. Base is the
// smallest cursor from which everything up to the end is kept, and Dropped is how
// many bytes in all are not.
type Page struct {
	Frames  []Frame `json:"frames"`
	Next    int64   `json:"next_cursor"`
	Base    int64   `json:"base_cursor"`
	End     int64   `json:"end_cursor"`
	Dropped int64   `json:"dropped_bytes"`
}

const (
	// frameBytes ends a frame that small pieces are joined to.
	frameBytes = 4096
	// frameSpan ends it too, so that the time of a frame says something.
	frameSpan = 100 * time.Millisecond
	// Frames cost memory beside their text: at most one for each of so many bytes.
	bytesPerFrame = 128
)

// Output is what is kept of a Job's output: its head, and its tail as a ring.
// One cursor runs over the text of both streams in order of arrival, in bytes;
// it only grows. The zero value keeps nothing; use NewOutput. It is not safe for
// use by several goroutines.
type Output struct {
	half      int // bytes of the head, and of the tail
	head      []Frame
	headBytes int
	full      bool // the head
	tail      []Frame
	tailBytes int
	end       int64
	dropped   int64
	base      int64
}

// NewOutput keeps at most keep bytes.
func NewOutput(keep int64) *Output { return &Output{half: int(keep / 2)} }

func (o *Output) frames() int { return max(o.half/bytesPerFrame, 1) }

// End is the cursor after the last byte.
func (o *Output) End() int64 { return o.end }

// Kept is how many bytes are in memory.
func (o *Output) Kept() int64 { return int64(o.headBytes + o.tailBytes) }

// Write appends text of one stream; it must be valid UTF-8.
func (o *Output) Write(stream string, at time.Time, text []byte) {
	for len(text) > 0 {
		n := prefix(text, frameBytes)
		o.add(Frame{Stream: stream, At: at, From: o.end, To: o.end + int64(n), Text: string(text[:n])})
		text = text[n:]
	}
}

// Omit notes n bytes of a stream that never arrived.
func (o *Output) Omit(stream string, at time.Time, n int64) {
	if n <= 0 {
		return
	}
	o.dropped += n
	o.add(Frame{Stream: stream, At: at, From: o.end, To: o.end + n, Omitted: n})
	o.base = o.end
}

func (o *Output) add(f Frame) {
	o.end = f.To
	if !o.full {
		if o.headBytes+len(f.Text) <= o.half && (len(o.head) < o.frames() || joins(o.head, f)) {
			o.head = join(o.head, f)
			o.headBytes += len(f.Text)
			return
		}
		o.full = true
	}
	o.tail = join(o.tail, f)
	o.tailBytes += len(f.Text)
	for len(o.tail) > 1 && (o.tailBytes > o.half || len(o.tail) > o.frames()) {
		first := o.tail[0]
		o.tailBytes -= len(first.Text)
		o.dropped += int64(len(first.Text)) // an omission was counted when it was noted
		o.base = max(o.base, first.To)
		o.tail[0] = Frame{}
		o.tail = o.tail[1:]
	}
}

// joins says whether f goes on the last frame.
func joins(all []Frame, f Frame) bool {
	if len(all) == 0 {
		return false
	}
	l := all[len(all)-1]
	return l.Stream == f.Stream && l.To == f.From && l.Omitted == 0 && f.Omitted == 0 &&
		len(l.Text)+len(f.Text) <= frameBytes && f.At.Sub(l.At) < frameSpan
}

func join(all []Frame, f Frame) []Frame {
	if !joins(all, f) {
		return append(all, f)
	}
	l := &all[len(all)-1]
	l.Text, l.To = l.Text+f.Text, f.To
	return all
}

// Forget lets go of everything that is kept.
func (o *Output) Forget() {
	o.dropped += o.Kept()
	o.head, o.tail, o.headBytes, o.tailBytes, o.full, o.base = nil, nil, 0, 0, true, o.end
}

// Read returns at most most bytes of text from a cursor on, or
// invalid_argument for a cursor beyond the end. Bytes that are gone are one frame
// that says how many.
func (o *Output) Read(cursor, most int64) (Page, error) {
	p := Page{Frames: []Frame{}, Next: cursor, Base: o.base, End: o.end, Dropped: o.dropped}
	if cursor < 0 || cursor > o.end {
		return p, fault.New(fault.InvalidArgument, "cursor %d is outside 0..%d", cursor, o.end).At("cursor").
			Hint("read on from next_cursor of the last answer")
	}
	room := min(most, limits.JobReadBytes)
	for _, part := range [][]Frame{o.head, o.tail} {
		for _, f := range part {
			if f.To <= p.Next {
				continue
			}
			if f.From > p.Next {
				p.skip(f.From, f.At)
			}
			if !p.take(f, &room) {
				return p, nil
			}
		}
	}
	if p.Next < o.end {
		p.skip(o.end, time.Time{})
	}
	return p, nil
}

// skip says that everything up to a cursor is gone.
func (p *Page) skip(to int64, at time.Time) {
	p.Frames = append(p.Frames, Frame{At: at, From: p.Next, To: to, Omitted: to - p.Next})
	p.Next = to
}

// take adds what fits of a frame, from the page's cursor on, and says whether
// there may be more.
func (p *Page) take(f Frame, room *int64) bool {
	if f.Omitted > 0 {
		f.From, f.Omitted = p.Next, f.To-p.Next
		p.Frames, p.Next = append(p.Frames, f), f.To
		return true
	}
	begin := int(p.Next - f.From)
	// A cursor that nobody answered may point into a character.
	for begin > 0 && !utf8.RuneStart(f.Text[begin]) {
		begin--
	}
	text := f.Text[begin:]
	n := prefix([]byte(text), int(max(*room, 0)))
	if n == 0 && len(p.Frames) == 0 {
		_, n = utf8.DecodeRuneInString(text) // a page is never empty for want of room
	}
	if n == 0 {
		return false
	}
	f.From += int64(begin)
	f.To, f.Text = f.From+int64(n), text[:n]
	p.Frames, p.Next = append(p.Frames, f), f.To
	*room -= int64(n) // below 0 after a character that was taken for want of room
	return n == len(text)
}

// prefix is how many bytes of p, at most most, end between two characters.
func prefix(p []byte, most int) int {
	if len(p) <= most {
		return len(p)
	}
	for most > 0 && !utf8.RuneStart(p[most]) {
		most--
	}
	return most
}

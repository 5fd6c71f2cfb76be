package job_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"cyberagent/domain/fault"
	"cyberagent/domain/job"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// all reads to the end in pages of most bytes, and checks on the way what every
// page promises.
func all(t *testing.T, o *job.Output, from, most int64) []job.Frame {
	t.Helper()
	var frames []job.Frame
	for cursor := from; ; {
		p, err := o.Read(cursor, most)
		if err != nil {
			t.Fatal(err)
		}
		at := cursor
		for _, f := range p.Frames {
			if f.From != at || f.To <= f.From || !utf8.ValidString(f.Text) {
				t.Fatalf("a frame at %d after %d: %+v", f.From, at, f)
			}
			if got := int64(len(f.Text)) + f.Omitted; got != f.To-f.From || (f.Text != "" && f.Omitted != 0) {
				t.Fatalf("a range of %d for %d bytes: %+v", f.To-f.From, got, f)
			}
			at = f.To
		}
		if p.Next != at || p.End != o.End() || p.Base > p.End {
			t.Fatalf("the page: %+v", p)
		}
		frames = append(frames, p.Frames...)
		if p.Next == p.End {
			return frames
		}
		if p.Next == cursor {
			t.Fatalf("no way on from %d of %d", cursor, p.End)
		}
		cursor = p.Next
	}
}

func text(frames []job.Frame, stream string) string {
	var b strings.Builder
	for _, f := range frames {
		if f.Stream == stream {
			b.WriteString(f.Text)
		}
	}
	return b.String()
}

func omitted(frames []job.Frame) (n int64) {
	for _, f := range frames {
		n += f.Omitted
	}
	return n
}

func TestOutput_GivesBackBothStreamsInTheirOrder(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(1 << 20)
	o.Write("stdout", t0, []byte("one "))
	o.Write("stderr", t0, []byte("é"))
	o.Write("stdout", t0, []byte("two"))
	frames := all(t, o, 0, 1<<20)
	if len(frames) != 3 || frames[1].Stream != "stderr" || frames[1].From != 4 || frames[1].To != 6 || frames[2].Text != "two" {
		t.Errorf("%+v", frames)
	}
	if p, _ := o.Read(4, 100); len(p.Frames) != 2 || p.Base != 0 || p.Dropped != 0 {
		t.Errorf("%+v", p)
	}
}

func TestOutput_JoinsSmallPiecesOfOneStream(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(1 << 20)
	for range 10_000 {
		o.Write("stdout", t0, []byte("x"))
	}
	if frames := all(t, o, 0, 1<<20); len(frames) != 3 || text(frames, "stdout") != strings.Repeat("x", 10_000) {
		t.Errorf("%d frames", len(frames))
	}
	o.Write("stdout", t0.Add(time.Second), []byte("later"))
	if frames := all(t, o, 10_000, 100); frames[0].Text != "later" || !frames[0].At.Equal(t0.Add(time.Second)) {
		t.Errorf("%+v", frames)
	}
}

func TestOutput_KeepsHeadAndTailAndSaysHowMuchIsBetween(t *testing.T) {
	t.Parallel()
	const keep, n = 64 << 10, 1 << 20
	o := job.NewOutput(keep)
	var sent strings.Builder
	rnd := rand.New(rand.NewPCG(1, 2))
	for sent.Len() < n {
		piece := strings.Repeat(string(rune('a'+rnd.IntN(26))), 1+rnd.IntN(3000))
		sent.WriteString(piece)
		o.Write("stdout", t0, []byte(piece))
	}
	frames := all(t, o, 0, 10_000)
	got, gone := text(frames, "stdout"), omitted(frames)
	if int64(len(got))+gone != int64(sent.Len()) || o.Kept() != int64(len(got)) || o.Kept() > keep || o.Kept() < keep-2*4096 {
		t.Errorf("%d kept and %d gone of %d", len(got), gone, sent.Len())
	}
	at := strings.Index(sent.String(), got[:100])
	if at != 0 || !strings.HasSuffix(sent.String(), got[len(got)-1000:]) {
		t.Error("not the head and the tail")
	}
	p, _ := o.Read(o.End(), 1)
	if p.Dropped != gone || len(p.Frames) != 0 {
		t.Errorf("%+v, want %d dropped", p, gone)
	}
	// From base_cursor on nothing is missing.
	if rest := all(t, o, p.Base, 10_000); omitted(rest) != 0 || text(rest, "stdout") != sent.String()[p.Base:] {
		t.Error("something is missing after the base cursor")
	}
	// A cursor in the gap reads what is left of it.
	if rest := all(t, o, p.Base-7, 10_000); rest[0].Omitted != 7 {
		t.Errorf("%+v", rest[0])
	}
}

func TestOutput_NotesWhatNeverArrived(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(1 << 20)
	o.Write("stdout", t0, []byte("live"))
	o.Omit("stdout", t0, 1000)
	o.Omit("stderr", t0, 0)
	o.Write("stdout", t0, []byte("tail"))
	frames := all(t, o, 0, 100)
	if len(frames) != 3 || frames[1].Omitted != 1000 || frames[1].From != 4 || frames[1].To != 1004 || frames[2].From != 1004 {
		t.Errorf("%+v", frames)
	}
	if p, _ := o.Read(500, 100); p.Frames[0].Omitted != 504 || p.Base != 1004 || p.Dropped != 1000 {
		t.Errorf("%+v", p)
	}
}

func TestOutput_ForgetsAndSaysSo(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(1 << 20)
	o.Write("stdout", t0, []byte("something"))
	o.Forget()
	p, err := o.Read(3, 100)
	if err != nil || len(p.Frames) != 1 || p.Frames[0].Omitted != 6 || p.Base != 9 || p.Dropped != 9 || o.Kept() != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestOutput_RefusesCursorsBeyondTheEnd(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(100)
	o.Write("stdout", t0, []byte("abc"))
	for _, c := range []int64{-1, 4} {
		if _, err := o.Read(c, 10); !errors.Is(err, fault.InvalidArgument) || fault.From(err).Field != "cursor" {
			t.Errorf("%d: %v", c, err)
		}
	}
}

// Interleaved single bytes would be a frame each: their number is bounded, too.
func TestOutput_BoundsItsFrames(t *testing.T) {
	t.Parallel()
	o := job.NewOutput(64 << 10)
	for range 200_000 {
		o.Write("stdout", t0, []byte("o"))
		o.Write("stderr", t0, []byte("e"))
	}
	frames := all(t, o, 0, 1<<20)
	if len(frames) > 1025 {
		t.Errorf("%d frames", len(frames))
	}
	if n := int64(len(text(frames, "stdout"))+len(text(frames, "stderr"))) + omitted(frames); n != 400_000 {
		t.Errorf("%d bytes of 400000", n)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("hello wörld"), uint16(10), uint16(3), int64(2))
	f.Add([]byte{}, uint16(0), uint16(1), int64(0))
	f.Add([]byte("日本語日本語日本語"), uint16(5), uint16(1), int64(4))
	f.Fuzz(func(t *testing.T, data []byte, keep, most uint16, cursor int64) {
		o := job.NewOutput(int64(keep))
		clean := []byte(strings.ToValidUTF8(string(data), "?"))
		for i, s := 0, []string{"stdout", "stderr"}; len(clean) > 0; i++ {
			_, n := utf8.DecodeRune(clean)
			o.Write(s[i%2], t0, clean[:n])
			clean = clean[n:]
		}
		frames := all(t, o, 0, int64(most))
		if n := int64(len(text(frames, "stdout"))+len(text(frames, "stderr"))) + omitted(frames); n != o.End() {
			t.Errorf("%d bytes of %d", n, o.End())
		}
		_, _ = o.Read(cursor, int64(most)) // any cursor is refused or answered
	})
}

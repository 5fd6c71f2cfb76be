package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"cyberagent/domain/runnerproto"
)

// sink keeps frames in memory, and fails after a number of bytes.
type sink struct {
	bytes.Buffer
	room int
}

func (s *sink) Write(p []byte) (int, error) {
	if s.room > 0 && s.Len()+len(p) > s.room {
		return 0, errors.New("gone")
	}
	return s.Buffer.Write(p)
}

func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// payload decodes everything that arrived of one stream.
func payload(t *testing.T, r io.Reader, want runnerproto.Stream) []byte {
	t.Helper()
	var all []byte
	d := runnerproto.NewDecoder(r)
	for {
		s, p, err := d.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if s == want {
			all = append(all, p...)
		}
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func TestAShortStreamArrivesWhole(t *testing.T) {
	data := noise(100_000)
	var to sink
	p := NewPump(runnerproto.Stdout, iotest.OneByteReader(bytes.NewReader(data[:500])), NewFrames(&to))
	p.Run()
	if !bytes.Equal(payload(t, &to, runnerproto.Stdout), data[:500]) {
		t.Error("other bytes arrived")
	}
	if r := p.Report(); r.Bytes != 500 || r.Forwarded != 500 || r.Lines != int64(bytes.Count(data[:500], []byte("\n"))) {
		t.Errorf("%+v", r)
	}
}

func TestALongStreamHasOneGapAfterItsLivePart(t *testing.T) {
	for _, over := range []int64{-1, 0, 1, runnerproto.TailBytes - 1, runnerproto.TailBytes, runnerproto.TailBytes + 1, 3*runnerproto.TailBytes + 7} {
		data := noise(int(runnerproto.LiveBytes + over))
		var to sink
		p := NewPump(runnerproto.Stderr, bytes.NewReader(data), NewFrames(&to))
		p.Run()
		want := data
		if over > runnerproto.TailBytes {
			want = append(append([]byte{}, data[:runnerproto.LiveBytes]...), data[int64(len(data))-runnerproto.TailBytes:]...)
		}
		got := payload(t, &to, runnerproto.Stderr)
		r, sum := p.Report(), sha256.Sum256(data)
		if !bytes.Equal(got, want) || r.Forwarded != int64(len(want)) || r.Bytes != int64(len(data)) || r.SHA256 != hex.EncodeToString(sum[:]) {
			t.Errorf("over by %d: %d bytes arrived, want %d, %+v", over, len(got), len(want), r)
		}
	}
}

func TestAHostThatIsGoneDoesNotStopTheCounting(t *testing.T) {
	data := noise(1 << 20)
	to := sink{room: 200_000}
	p := NewPump(runnerproto.Stdout, bytes.NewReader(data), NewFrames(&to))
	p.Run()
	r, sum := p.Report(), sha256.Sum256(data)
	if r.Bytes != 1<<20 || r.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", r)
	}
	if got := payload(t, &to, runnerproto.Stdout); int64(len(got)) != r.Forwarded {
		t.Errorf("%d forwarded, %d arrived", r.Forwarded, len(got))
	}
}

func TestFramesOfTwoStreamsDoNotMix(t *testing.T) {
	var to sink
	frames := NewFrames(&to)
	a, b := noise(300_000), bytes.Repeat([]byte("b\n"), 100_000)
	var wg sync.WaitGroup
	wg.Go(NewPump(runnerproto.Stdout, bytes.NewReader(a), frames).Run)
	wg.Go(NewPump(runnerproto.Stderr, bytes.NewReader(b), frames).Run)
	wg.Wait()
	all := to.Bytes()
	if !bytes.Equal(payload(t, bytes.NewReader(all), runnerproto.Stdout), a) || !bytes.Equal(payload(t, bytes.NewReader(all), runnerproto.Stderr), b) {
		t.Error("the streams mixed")
	}
}

func TestNothingFollowsATornFrame(t *testing.T) {
	to := sink{room: 10}
	f := NewFrames(&to)
	if err := f.Send(runnerproto.Stdout, make([]byte, 20)); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	to.room = 0
	if err := f.Send(runnerproto.Stdout, make([]byte, 8)); !errors.Is(err, ErrBroken) {
		t.Error("a frame after a torn one")
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte("hello"), uint8(3), uint8(2))
	f.Add([]byte{}, uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size, piece uint8) {
		if size == 0 || piece == 0 {
			return
		}
		tl := newTail(int(size))
		for rest := data; len(rest) > 0; {
			n := min(int(piece), len(rest))
			tl.write(rest[:n])
			rest = rest[n:]
		}
		parts := tl.parts()
		got := append(append([]byte{}, parts[0]...), parts[1]...)
		if want := data[max(0, len(data)-int(size)):]; !bytes.Equal(got, want) {
			t.Errorf("%q of %q in pieces of %d", got, want, piece)
		}
	})
}

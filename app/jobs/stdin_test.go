package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// pipe keeps what is written to it.
type pipe struct {
	bytes.Buffer
	fail error
}

func (p *pipe) Write(b []byte) (int, error) {
	if p.fail != nil {
		return 0, p.fail
	}
	return p.Buffer.Write(b)
}

func (p *pipe) Close() error { return nil }

func TestFeeder_WritesWhatWasAcceptedInItsOrder(t *testing.T) {
	t.Parallel()
	f := newFeeder([]byte("first "), false)
	var to pipe
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.feed(t.Context(), &to)
	}()
	order := make([]string, 8*50+1)
	order[0] = "first "
	var wg sync.WaitGroup
	var mu sync.Mutex
	for c := range 8 {
		wg.Go(func() {
			for n := range 50 {
				data := fmt.Sprintf("%d.%d;", c, n)
				v, replayed, err := f.write(data[:len(data)-1], []byte(data), false)
				if err != nil || replayed || v.To-v.From != int64(len(data)) {
					t.Errorf("%+v, %v", v, err)
				}
				mu.Lock()
				order[v.Sequence-1] = data
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if _, _, err := f.write("end", nil, true); err != nil {
		t.Fatal(err)
	}
	<-done
	if want := strings.Join(order, ""); to.String() != want || f.view().Written != int64(len(want)) || !f.view().Closed {
		t.Errorf("%+v", f.view())
	}
}

func TestFeeder_AKeyIsOneWriteWhileItsOwnerLives(t *testing.T) {
	t.Parallel()
	f := newFeeder(nil, false)
	first, _, err := f.write("k", []byte("abc"), true)
	if err != nil {
		t.Fatal(err)
	}
	f.end()
	if v, replayed, err := f.write("k", []byte("abc"), true); err != nil || !replayed || v != first {
		t.Errorf("%+v, %t, %v", v, replayed, err)
	}
	for _, c := range []struct {
		data string
		end  bool
	}{{"abd", true}, {"abc", false}} {
		if _, _, err := f.write("k", []byte(c.data), c.end); !errors.Is(err, fault.OperationConflict) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, _, err := f.write("l", []byte("abc"), false); !errors.Is(err, fault.OperationConflict) {
		t.Errorf("after the end: %v", err)
	}
}

func TestFeeder_BoundsWhatItAccepts(t *testing.T) {
	t.Parallel()
	f := newFeeder(make([]byte, limits.StdinWriteBytes), false)
	n := limits.StdinWriteBytes
	for i := 0; ; i++ {
		_, _, err := f.write(fmt.Sprint(i), make([]byte, limits.StdinWriteBytes), false)
		if err != nil {
			if !errors.Is(err, fault.LimitReached) || n != limits.StdinJobBytes {
				t.Errorf("%d accepted, %v", n, err)
			}
			break
		}
		n += limits.StdinWriteBytes
	}
	// A refused write took nothing; what fits, none here, would still be accepted.
	if v := f.view(); v.Accepted != limits.StdinJobBytes || v.Closed {
		t.Errorf("%+v", v)
	}
	small := newFeeder(nil, false)
	for i := range limits.StdinWrites {
		if _, _, err := small.write(fmt.Sprint(i), []byte("x"), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := small.write("more", []byte("x"), false); !errors.Is(err, fault.LimitReached) {
		t.Error(err)
	}
}

func TestFeeder_LetsGoOfWhatNobodyReads(t *testing.T) {
	t.Parallel()
	for name, feed := range map[string]func(*feeder){
		"the command closed its input": func(f *feeder) { f.feed(t.Context(), &pipe{fail: io.ErrClosedPipe}) },
		"the command is being ended": func(f *feeder) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			f.feed(ctx, &pipe{fail: io.ErrClosedPipe})
		},
	} {
		f := newFeeder([]byte("one"), false)
		if _, _, err := f.write("k", []byte("two"), false); err != nil {
			t.Fatal(err)
		}
		feed(f)
		if v := f.view(); !v.Closed || v.Written != 0 || len(f.queue) != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

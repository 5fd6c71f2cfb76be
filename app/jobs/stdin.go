package jobs

import (
	"context"
	"crypto/sha256"
	"io"
	"sync"

	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// feeder is the input of one Job: accepted in one order, written in that order,
// never kept once it is written. Its bounds are on what is accepted, so that a
// command which never reads holds at most limits.StdinJobBytes of memory.
type feeder struct {
	mu       sync.Mutex
	wake     chan struct{} // one token: something is new
	queue    [][]byte
	accepted int64
	written  int64
	writes   int64
	closing  bool // nothing more is accepted, and EOF follows what was
	over     bool // the command takes no more
	keys     map[string]fed
}

// fed is an accepted write as its key remembers it.
type fed struct {
	sum  [sha256.Size]byte
	view WriteView
}

func newFeeder(initial []byte, end bool) *feeder {
	f := &feeder{wake: make(chan struct{}, 1), keys: map[string]fed{}, closing: end}
	if len(initial) > 0 {
		f.queue, f.accepted, f.writes = [][]byte{initial}, int64(len(initial)), 1
	}
	return f
}

// write accepts bytes, all of them or none. The same key with the same bytes
// answers the first acceptance.
func (f *feeder) write(key string, data []byte, end bool) (WriteView, bool, error) {
	flag := byte(0)
	if end {
		flag = 1
	}
	sum := sha256.Sum256(append([]byte{flag}, data...))
	f.mu.Lock()
	defer f.mu.Unlock()
	if k, ok := f.keys[key]; ok {
		if k.sum != sum {
			return WriteView{}, false, fault.New(fault.OperationConflict, "the key was used for another write").At("operation_key").
				Hint("use a new key for each write")
		}
		return k.view, true, nil
	}
	switch {
	case f.over, f.closing:
		return WriteView{}, false, fault.New(fault.OperationConflict, "the Job's input has ended").At("job_id").
			Hint("what was accepted before was written in order")
	case f.writes >= limits.StdinWrites:
		return WriteView{}, false, fault.New(fault.LimitReached, "%d writes, no more are accepted", f.writes).At("data").
			Hint("write more at once, in another Job")
	case f.accepted+int64(len(data)) > limits.StdinJobBytes:
		return WriteView{}, false, fault.New(fault.LimitReached, "a Job takes %d bytes of input, %d are left", limits.StdinJobBytes, limits.StdinJobBytes-f.accepted).
			At("data").Hint("put larger input into a file of the repository")
	}
	f.writes++
	v := WriteView{Sequence: f.writes, From: f.accepted, To: f.accepted + int64(len(data)), Closed: end}
	f.accepted, f.closing = v.To, end
	if len(data) > 0 {
		f.queue = append(f.queue, data)
	}
	f.keys[key] = fed{sum, v}
	select {
	case f.wake <- struct{}{}:
	default:
	}
	return v, false, nil
}

// feed is the Job's standardcode.Feed: it writes until the input has ended or
// the command takes no more.
func (f *feeder) feed(ctx context.Context, pipe io.WriteCloser) {
	defer f.end()
	for {
		next, last := f.next()
		switch {
		case next != nil:
			n, err := pipe.Write(next)
			f.mu.Lock()
			f.written += int64(n)
			f.mu.Unlock()
			clear(next)
			if err != nil {
				return // the command ended, or closed its input: both are normal
			}
		case last:
			return
		default:
			select {
			case <-ctx.Done():
				return
			case <-f.wake:
			}
		}
	}
}

// next takes the next piece; last says that none will come.
func (f *feeder) next() (piece []byte, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return nil, f.closing
	}
	piece = f.queue[0]
	f.queue[0], f.queue = nil, f.queue[1:]
	return piece, false
}

// end lets go of what nobody will read.
func (f *feeder) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	for _, p := range f.queue {
		clear(p)
	}
	f.queue = nil
}

func (f *feeder) view() *StdinView {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &StdinView{Accepted: f.accepted, Written: f.written, Closed: f.closing || f.over}
}

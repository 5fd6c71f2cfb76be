package jobs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/jobproto"
	"cyberagent/domain/limits"
)

// Session speaks command-runtime.v2 for one Manager: requests come in as lines,
// answers go out as lines. A request that waits for something does not keep the
// next ones waiting, so answers carry the request's id and may change places; what
// does not wait is done in the order of the lines, so input is accepted in the
// order in which it was sent.
type Session struct {
	m    *Manager
	in   io.Reader
	out  io.Writer
	work sync.WaitGroup
	// room bounds the requests that wait.
	room chan struct{}

	writing sync.Mutex
	broken  error
	fail    context.CancelCauseFunc
}

// NewSession makes a Session; Serve does the work.
func NewSession(m *Manager, in io.Reader, out io.Writer) *Session {
	return &Session{m: m, in: in, out: out, room: make(chan struct{}, limits.RuntimeRequests)}
}

// stuck is how long the end waits for answers that nobody takes.
const stuck = 2 * time.Second

// Serve answers until the input ends, or ctx does, or nobody takes the answers.
// At the end of the input it answers what was asked for; then, and otherwise at
// once, it cancels the Jobs that are left and waits for their recorded ends.
// Errors: cancelled when ctx ended, internal when the answers cannot be written.
func (s *Session) Serve(ctx context.Context) error {
	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.loop(ctx)
		s.work.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	// Whatever ended, the Jobs end in the ordinary way, which bounds itself.
	err := s.m.Close(context.WithoutCancel(ctx))
	select {
	case <-ended:
	case <-time.After(stuck):
	}
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			return cause
		}
		return fault.New(fault.Cancelled, "the session was interrupted; its Jobs were cancelled").Hint("begin a new session")
	}
	return err
}

// line is one of the input, or that there is one which is too long.
type line struct {
	text []byte
	long bool
}

// loop takes lines until the input or ctx ends.
func (s *Session) loop(ctx context.Context) {
	lines := make(chan line)
	go read(ctx, s.in, lines)
	for {
		select {
		case <-ctx.Done():
			return
		case l, ok := <-lines:
			if !ok {
				return
			}
			s.take(ctx, l)
		}
	}
}

// read cuts the input into lines. One that is too long is passed over without
// being kept. An input that cannot be read has ended.
func read(ctx context.Context, in io.Reader, to chan<- line) {
	defer close(to)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var l line
		more := true
		var err error
		for more {
			var part []byte
			part, err = r.ReadSlice('\n')
			more = errors.Is(err, bufio.ErrBufferFull)
			if int64(len(l.text)+len(part)) > limits.RuntimeLineBytes+1 { // with its newline
				l = line{long: true}
			}
			if !l.long {
				l.text = append(l.text, part...)
			}
		}
		l.text = bytes.TrimSuffix(l.text, []byte{'\n'})
		if l.long || len(bytes.TrimSpace(l.text)) > 0 {
			select {
			case to <- l:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// take decodes one line and does it.
func (s *Session) take(ctx context.Context, l line) {
	if l.long {
		s.answer(jobproto.Request{}, Answer{}, jobproto.LineTooLong())
		return
	}
	r, err := jobproto.Decode(l.text)
	if err != nil {
		s.answer(r, Answer{}, err)
		return
	}
	if !waits(r) {
		a, err := s.do(ctx, r)
		s.answer(r, a, err)
		return
	}
	select {
	case s.room <- struct{}{}:
	default:
		s.answer(r, Answer{}, fault.New(fault.LimitReached, "%d requests are waiting, no more may", limits.RuntimeRequests).
			At("action").Hint("read the answers first"))
		return
	}
	s.work.Go(func() {
		defer func() { <-s.room }()
		a, err := s.do(ctx, r)
		s.answer(r, a, err)
	})
}

// waits says whether a request may take long.
func waits(r jobproto.Request) bool {
	switch r.Action {
	case jobproto.Run, jobproto.Start, jobproto.Wait:
		return true
	case jobproto.Read:
		return r.Follow || r.Patience > 0
	case jobproto.List, jobproto.WriteStdin, jobproto.Cancel, jobproto.Kill:
	}
	return false
}

func (s *Session) do(ctx context.Context, r jobproto.Request) (Answer, error) {
	switch r.Action {
	case jobproto.Run:
		return s.m.Run(ctx, r.Key, r.Mode, r.Launches)
	case jobproto.Start:
		return s.m.Start(ctx, r.Key, r.Launches[0])
	case jobproto.List:
		return s.m.List(ctx)
	case jobproto.Read:
		if r.Follow {
			return s.m.Follow(ctx, r.Job, r.Cursor, r.Most, func(a Answer) error { return s.write(r, a) })
		}
		return s.m.Read(ctx, r.Job, r.Cursor, r.Most, r.Patience)
	case jobproto.Wait:
		return s.m.Wait(ctx, r.Job, r.Patience)
	case jobproto.WriteStdin:
		return s.m.Write(ctx, r.Job, r.Key, r.Data, r.Close)
	case jobproto.Cancel:
		return s.m.Cancel(ctx, r.Job)
	case jobproto.Kill:
		return s.m.Kill(ctx, r.Job)
	}
	return Answer{}, fault.New(fault.Internal, "the action %q is not done", r.Action)
}

// answer writes the one answer to a request.
func (s *Session) answer(r jobproto.Request, a Answer, err error) {
	a.Type = TypeAnswer
	if err != nil {
		a = Answer{Type: TypeAnswer, Status: StatusError, Error: errorView(err)}
	}
	_ = s.write(r, a) // nobody left to tell; Serve says it
}

// write writes one line, whole. After one that could not be written the session
// ends.
func (s *Session) write(r jobproto.Request, a Answer) error {
	a.Protocol, a.Request, a.Action = jobproto.Protocol, r.ID, r.Action
	if a.Status == "" {
		a.Status = StatusOK
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		return fault.Wrap(fault.Internal, err, "unencodable answer")
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if _, err := s.out.Write(b.Bytes()); err != nil {
		s.broken = fault.Wrap(fault.Internal, err, "cannot write the answers; the Jobs were cancelled").
			Hint("begin a new session; list says how the Jobs ended")
		s.fail(s.broken)
	}
	return s.broken
}

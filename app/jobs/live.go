package jobs

import (
	"context"
	"sync"

	"cyberagent/app/standardcode"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// live is a Job in its owner's memory.
type live struct {
	clock  ports.Clock
	cancel context.CancelFunc
	killed sync.Once
	kill   chan struct{}
	stdin  *feeder // nil for a closed one
	// launched is closed when the launch is decided: admitted, or refused with err.
	launched chan struct{}
	decided  sync.Once
	done     chan struct{} // closed after the last step
	intent   string        // digest of everything that was asked for, input included

	// stepping serialises the steps in the ledger.
	stepping sync.Mutex

	mu      sync.Mutex
	job     job.Job
	admit   bool // the ledger has an admission
	err     error
	result  *standardcode.Result
	out     *job.Output
	streams map[runnerproto.Stream]*stream
	changed chan struct{} // closed and made anew with every change
	cleaner func() Cleaner
}

// stream is what arrived of one of the command's streams.
type stream struct {
	name    string
	clean   Cleaner
	arrived int64
	// held is the stream's tail, which comes after a gap. How long the gap is only
	// the runner's report says.
	held []byte
}

func newLive(clock ports.Clock, cleaner func() Cleaner, l job.Launch) *live {
	v := &live{
		clock: clock, kill: make(chan struct{}), launched: make(chan struct{}), done: make(chan struct{}),
		out: job.NewOutput(l.Keep), changed: make(chan struct{}), cleaner: cleaner, cancel: func() {},
		streams: map[runnerproto.Stream]*stream{
			runnerproto.Stdout: {name: runnerproto.Stdout.String(), clean: cleaner()},
			runnerproto.Stderr: {name: runnerproto.Stderr.String(), clean: cleaner()},
		},
	}
	if l.Stdin == isolation.StdinPipe {
		v.stdin = newFeeder(append([]byte{}, l.Initial...), l.Close)
	}
	return v
}

// decide says that the launch is decided.
func (v *live) decide() { v.decided.Do(func() { close(v.launched) }) }

// sink takes output as it comes; it never waits for a reader.
func (v *live) sink(s runnerproto.Stream, p []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	st := v.streams[s]
	if st == nil {
		return
	}
	first := min(int64(len(p)), max(runnerproto.LiveBytes-st.arrived, 0))
	st.arrived += int64(len(p))
	v.show(st, p[:first])
	st.held = append(st.held, p[first:]...) // at most runnerproto.TailBytes
	v.notify()
}

func (v *live) show(st *stream, p []byte) {
	v.out.Write(st.name, v.clock.Now(), st.clean.Clean(p))
}

// drain shows what is held, after saying what is missing before it.
func (v *live) drain(r *standardcode.Result) {
	for _, s := range []runnerproto.Stream{runnerproto.Stdout, runnerproto.Stderr} {
		st := v.streams[s]
		if missing := sizeOf(r, st.name) - st.arrived; missing > 0 {
			v.out.Write(st.name, v.clock.Now(), st.clean.Flush())
			st.clean = v.cleaner() // what the gap swallowed must not swallow more
			v.out.Omit(st.name, v.clock.Now(), missing)
		}
		v.show(st, st.held)
		v.out.Write(st.name, v.clock.Now(), st.clean.Flush())
		st.held = nil
	}
}

// sizeOf is how many bytes the runner saw of a stream; 0 when nobody knows.
func sizeOf(r *standardcode.Result, name string) int64 {
	if r == nil {
		return 0
	}
	for _, a := range r.Artifacts {
		if a.Stream == name {
			return a.SizeBytes
		}
	}
	return 0
}

// notify wakes everybody who waits for a change. The caller holds mu.
func (v *live) notify() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// now returns the Job as it is, and what is closed when that changes.
func (v *live) now() (job.Job, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.job, v.changed
}

// view is what a supervisor sees.
func (v *live) view() *JobView {
	v.mu.Lock()
	defer v.mu.Unlock()
	view := viewOf(v.job)
	view.Owned, view.Result = true, v.result
	p, err := v.out.Read(v.out.End(), 1)
	if err == nil {
		view.End, view.Base, view.Dropped = p.End, p.Base, p.Dropped
	}
	if v.stdin != nil {
		view.Stdin = v.stdin.view()
	}
	return &view
}

// viewOf is what the ledger knows.
func viewOf(j job.Job) JobView {
	return JobView{
		ID: j.ID, Run: j.Run, State: j.State, Version: j.Version, Reason: j.Reason, StdinPolicy: j.Stdin,
		Preparation: j.Preparation, Approval: j.Approval, Execution: j.Admission, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
}

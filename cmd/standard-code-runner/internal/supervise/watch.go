//go:build linux

package supervise

import (
	"fmt"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
	"cyberagent/internal/procs"
)

// Watcher enforces the workspace's growth and the host's headroom while the
// command runs. It never waits for output.
type Watcher struct {
	ws    *tree.Tree
	names *tree.Names
	dev   uint64 // the workspace's
	cache int    // descriptor of the cache's root
	quota runnerproto.Quota
	base  tree.Found
	free  Space // when the baseline was taken
	pace  *pace

	verdict chan Verdict
	done    chan struct{}

	// Written by the watcher until done, read afterwards.
	peak      tree.Usage
	scans     int64
	exact     map[tree.FileID]string
	cachePeak int64
	cacheFull bool
	last      time.Time
	slowest   time.Duration
}

// NewWatcher makes a Watcher over a baseline, what was free at that time, and the
// names that appear since.
func NewWatcher(ws *tree.Tree, names *tree.Names, cache int, q runnerproto.Quota, base tree.Found, free Space) (*Watcher, error) {
	var at unix.Stat_t
	if err := unix.Fstat(ws.FD(), &at); err != nil {
		return nil, fmt.Errorf("stat of the workspace: %w", err)
	}
	p, err := newPace(free)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		ws: ws, names: names, dev: at.Dev, cache: cache, quota: q, base: base, free: free, pace: p, exact: map[tree.FileID]string{},
		verdict: make(chan Verdict, 1), done: make(chan struct{}),
	}, nil
}

// Verdict receives at most once. Everything has been killed then.
func (w *Watcher) Verdict() <-chan Verdict { return w.verdict }

// Stop ends the watcher and waits for it.
func (w *Watcher) Stop() {
	w.pace.end()
	<-w.done
	w.pace.close()
}

// Run watches until Stop or a verdict.
func (w *Watcher) Run() {
	defer close(w.done)
	now := time.Now()
	wire := &tripwire{quota: w.quota, high: w.free, first: w.free.Bytes, nextFull: now.Add(idleMin), nextStill: now.Add(idleMin)}
	w.last = now
	var cached time.Time
	for {
		free, err := FreeSpace(w.ws.FD())
		if err != nil {
			w.end(Verdict{runnerproto.StopAccounting, err.Error()})
			return
		}
		v := Headroom(free, w.quota)
		if v.Stop == runnerproto.StopNone {
			names := w.names.New()
			wire.note(free, names)
			w.pace.saw(free, names, wire.calm(free))
			v = w.look(wire, free)
		}
		if v.Stop != runnerproto.StopNone {
			w.end(v)
			return
		}
		if w.last.Sub(cached) >= cacheTick {
			w.lookAtCache()
			cached = w.last
		}
		if w.pace.sleep() {
			return
		}
		w.looked()
	}
}

// looked takes note of a look at the free space.
func (w *Watcher) looked() {
	now := time.Now()
	w.slowest = max(w.slowest, now.Sub(w.last))
	w.last = now
}

func (w *Watcher) end(v Verdict) {
	Kill()
	w.verdict <- v
}

// look scans when the trip-wire says so. What a scan of a running command finds
// may be wrong, for entries move: before it ends the command, it is confirmed
// with everything stopped.
func (w *Watcher) look(wire *tripwire, free Space) Verdict {
	how := wire.see(time.Now(), free)
	if how == nothing {
		return Verdict{}
	}
	begin := startClock()
	var thaw func()
	if how == scan {
		running := w.countRunning(wire, free)
		if running.verdict.Stop == runnerproto.StopNone && running.thaw == nil {
			wire.scanned(time.Now(), free, running.growth, begin.spent(), scan)
			wire.names = running.names
			return Verdict{}
		}
		thaw = running.thaw
	}
	begin = startClock()
	if thaw == nil {
		thaw = freeze()
	}
	// Nothing moves any more: what is free now belongs to the count.
	if now, err := FreeSpace(w.ws.FD()); err == nil {
		free = now
	}
	g, v, _ := w.count()
	if v.Stop == runnerproto.StopNone && wire.doubtful(free, g) {
		v = w.lookBehind(wire, free, g)
	}
	if v.Stop != runnerproto.StopNone {
		return v // stopped until it is killed
	}
	_ = w.names.New() // all of them were counted
	thaw()
	wire.scanned(time.Now(), free, g, begin.spent(), frozen)
	return Verdict{}
}

// clock measures a cost.
type clock struct {
	at        time.Time
	processor time.Duration
}

func startClock() clock { return clock{time.Now(), processorTime()} }

func (c clock) spent() cost { return cost{time.Since(c.at), processorTime() - c.processor} }

// processorTime is what the runner has used so far; it is alone in its process.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// lookBehind adds up what the command's open files without a name take. What it may
// not look into (a process that is not dumpable, a descriptor on its way through a
// socket) the owner process finds on the host.
func (w *Watcher) lookBehind(wire *tripwire, free Space, growth tree.Usage) Verdict {
	begin := time.Now()
	hidden := procs.Nameless(pids(), w.dev, limits.UnattributedBytes)
	if hidden > limits.UnattributedBytes {
		return Verdict{runnerproto.StopGrowthUnattributed, fmt.Sprintf(
			"the command holds %d bytes or more in open files without a name, %d are allowed", hidden, limits.UnattributedBytes)}
	}
	now := time.Now()
	wire.explained(now, free, growth, hidden, now.Sub(begin))
	return Verdict{}
}

// running is a count of what may move meanwhile.
type running struct {
	growth  tree.Usage
	verdict Verdict
	names   int64  // that appeared meanwhile
	thaw    func() // not nil: everything was stopped meanwhile
}

// countRunning counts while the command runs, and keeps an eye on the trip-wire:
// where a count takes long, the command could pass its quota many times meanwhile.
// Then it is stopped at once.
func (w *Watcher) countRunning(wire *tripwire, free Space) running {
	var r running
	var thaw func()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.growth, r.verdict, _ = w.count()
	}()
	// What fell before the count is growth until the count says that it is not.
	meanwhile := tripwire{quota: wire.quota, high: free, growth: tree.Usage{
		Bytes:   wire.growth.Bytes + wire.high.Bytes - free.Bytes,
		Entries: wire.growth.Entries + max(wire.high.Inodes-free.Inodes, wire.names),
	}}
	again := time.NewTicker(slowTick)
	defer again.Stop()
	for {
		select {
		case <-done:
			r.names, r.thaw = meanwhile.names, thaw
			return r
		case <-again.C:
		}
		now, err := FreeSpace(w.ws.FD())
		if err != nil || thaw != nil {
			continue // the next look at the free space says so, too
		}
		w.looked()
		meanwhile.note(now, w.names.New())
		if meanwhile.far(now) && wire.standing.allows(time.Now()) {
			thaw = freeze()
		}
	}
}

// count scans once and judges, as far as the quota.
func (w *Watcher) count() (g tree.Usage, v Verdict, shut int64) {
	return w.judge(w.ws.ScanUntil(w.base.Plus(tree.Usage{Bytes: w.quota.GrowthBytes, Entries: w.quota.GrowthEntries})))
}

func (w *Watcher) judge(found tree.Found, err error) (g tree.Usage, v Verdict, shut int64) {
	w.scans++
	if err != nil {
		return tree.Usage{}, Verdict{runnerproto.StopAccounting, err.Error()}, 0
	}
	g = found.Minus(w.base.Usage)
	w.peak = w.peak.Max(g)
	maps.Copy(w.exact, found.Exact)
	return g, Growth(g, w.quota), found.Shut
}

func (w *Watcher) lookAtCache() {
	var fs unix.Statfs_t
	if unix.Fstatfs(w.cache, &fs) != nil {
		return
	}
	w.cachePeak = max(w.cachePeak, (int64(fs.Blocks)-int64(fs.Bfree))*fs.Bsize)
	if fs.Bfree == 0 || fs.Ffree == 0 {
		w.cacheFull = true
	}
}

// Result is what the watcher saw and what one last count, when nothing runs any
// more, adds. It must be called after Stop.
type Result struct {
	Growth    runnerproto.Growth
	Verdict   Verdict
	Exact     string // a file of exactly the ceiling that was not there before, or empty
	CachePeak int64
	CacheFull bool
	// Restore says that there are entries to give access back to, or that the
	// count failed.
	Restore bool
}

// Finish counts a last time.
func (w *Watcher) Finish() Result {
	w.lookAtCache()
	g, v, shut := w.judge(w.ws.Scan())
	r := Result{Verdict: v, CachePeak: w.cachePeak, CacheFull: w.cacheFull}
	r.Growth = runnerproto.Growth{
		BaseBytes: w.base.Bytes, BaseEntries: w.base.Entries, Bytes: g.Bytes, Entries: g.Entries,
		PeakBytes: w.peak.Bytes, PeakEntries: w.peak.Entries, Scans: w.scans,
		MaxGapMillis: w.slowest.Milliseconds(),
	}
	for id, path := range w.exact {
		if _, before := w.base.Exact[id]; !before && (r.Exact == "" || path < r.Exact) {
			r.Exact = path
		}
	}
	r.Restore = shut > 0
	if v.Stop == runnerproto.StopAccounting {
		r.Restore = true
		r.Verdict.Detail = fmt.Sprintf("at the end: %s", v.Detail)
	}
	return r
}

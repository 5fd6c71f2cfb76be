//go:build linux

package supervise

import (
	"fmt"
	"maps"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/cmd/standard-code-runner/internal/tree"
	"cyberagent/domain/runnerproto"
)

// tick is how often free space is looked at.
const tick = 5 * time.Millisecond

// Watcher enforces the workspace's growth and the host's headroom while the
// command runs. It never waits for output.
type Watcher struct {
	ws    *tree.Tree
	cache int // descriptor of the cache's root
	quota runnerproto.Quota
	base  tree.Found
	free  Space // when the baseline was taken

	verdict chan Verdict
	stop    chan struct{}
	done    chan struct{}

	// Written by the watcher until done, read afterwards.
	peak      tree.Usage
	scans     int64
	exact     map[tree.FileID]string
	cachePeak int64
	cacheFull bool
	slowest   time.Duration
}

// NewWatcher makes a Watcher over a baseline and what was free at that time.
func NewWatcher(ws *tree.Tree, cache int, q runnerproto.Quota, base tree.Found, free Space) *Watcher {
	return &Watcher{
		ws: ws, cache: cache, quota: q, base: base, free: free, exact: map[tree.FileID]string{},
		verdict: make(chan Verdict, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// Verdict receives at most once. Everything has been killed then.
func (w *Watcher) Verdict() <-chan Verdict { return w.verdict }

// Stop ends the watcher and waits for it.
func (w *Watcher) Stop() {
	close(w.stop)
	<-w.done
}

// Run watches until Stop or a verdict.
func (w *Watcher) Run() {
	defer close(w.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	now := time.Now()
	wire := &tripwire{quota: w.quota, high: w.free, nextFull: now.Add(idleMin)}
	last := now
	for {
		free, err := FreeSpace(w.ws.FD())
		if err != nil {
			w.end(Verdict{runnerproto.StopAccounting, err.Error()})
			return
		}
		v := Headroom(free, w.quota)
		if v.Stop == runnerproto.StopNone {
			v = w.look(wire, free)
		}
		if v.Stop != runnerproto.StopNone {
			w.end(v)
			return
		}
		w.lookAtCache()
		select {
		case <-w.stop:
			return
		case <-ticker.C:
		}
		now := time.Now()
		w.slowest = max(w.slowest, now.Sub(last))
		last = now
	}
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
	begin := time.Now()
	if how == scan {
		g, v, _ := w.count()
		if v.Stop == runnerproto.StopNone {
			now := time.Now()
			wire.scanned(now, free, g, now.Sub(begin), scan)
			return Verdict{}
		}
	}
	begin = time.Now()
	thaw := freeze()
	g, v, _ := w.count()
	if v.Stop != runnerproto.StopNone {
		return v // stopped until it is killed
	}
	thaw()
	now := time.Now()
	wire.scanned(now, free, g, now.Sub(begin), frozen)
	return Verdict{}
}

// count scans once and judges.
func (w *Watcher) count() (g tree.Usage, v Verdict, shut int64) {
	found, err := w.ws.Scan()
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
	g, v, shut := w.count()
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

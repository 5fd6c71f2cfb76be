package selftest

import (
	"slices"
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
)

// Edge is one moment at which a process is killed, and what must be true of the
// admission afterwards.
type Edge struct {
	Actor standardcode.Actor
	At    standardcode.Moment
	// During is how long after the moment at the most the process dies: in the
	// middle of a call of the engine or of git, or a little later; what is right is
	// then decided by the log. Zero means at the moment itself.
	During time.Duration
	// Lingers says that the command stays until somebody ends it.
	Lingers bool
	// Pipe says that the command's stdin is a pipe.
	Pipe bool
	// Unrecorded says that nothing was admitted: the repeated execute is the first.
	Unrecorded bool
	// Least and Most bound the starts of the command that its own evidence may show
	// before anything is repeated.
	Least, Most int
	// Ends are the recorded ends that are right, status/reason.
	Ends []string
	// Bases are the situations in which an edge of recovery finds the admission, one
	// after the other; what is right is theirs.
	Bases []Base
}

// Base is where the owner died before the recovery that is killed.
type Base struct {
	At    standardcode.Moment
	Right Edge
}

// Name is what the reports and --edge call it.
func (e Edge) Name() string {
	if e.During > 0 {
		return string(e.Actor) + ".during." + string(e.At)
	}
	return e.Actor.At(e.At)
}

// Exempt is an event that an actor does not write, with the reason.
type Exempt struct {
	Actor  standardcode.Actor `json:"actor"`
	Event  string             `json:"event"`
	Reason string             `json:"reason"`
}

// Exempts returns the events without an edge.
func Exempts() []Exempt {
	const never = "recovery creates and starts nothing"
	const owner = "only an owner that watched the command to its end writes it"
	var all []Exempt
	add := func(a standardcode.Actor, reason string, events ...lifecycle.Event) {
		for _, e := range events {
			all = append(all, Exempt{a, e.String(), reason})
		}
	}
	add(standardcode.Recoverer, never, lifecycle.CreateIntent, lifecycle.CreateDone, lifecycle.StartIntent, lifecycle.StartDone)
	add(standardcode.Recoverer, "recovery adopts nothing, so it attaches nothing", lifecycle.StdinIntent, lifecycle.StdinDone)
	add(standardcode.Recoverer, owner, lifecycle.ExitDone)
	return all
}

func exempt(a standardcode.Actor, e lifecycle.Event) bool {
	return slices.ContainsFunc(Exempts(), func(x Exempt) bool { return x.Actor == a && x.Event == e.String() })
}

func end(s result.Status, r result.Reason) string { return string(s) + "/" + string(r) }

// The ends that occur.
var (
	endNeverStarted = end(result.Cancelled, result.NeverStarted)
	endStopped      = end(result.Cancelled, result.OwnerLost) // met running, and stopped
	endUnwatched    = end(result.Failed, result.OwnerLost)    // ended while nobody watched
	endSucceeded    = end(result.Succeeded, result.Exited)
)

// Edges returns every moment: before and after each event of the lifecycle that
// an actor writes, inside the two transactions that keep more than an entry, and
// the moments between.
func Edges() []Edge {
	var all []Edge
	for _, who := range []standardcode.Actor{standardcode.Executor, standardcode.Recoverer} {
		for _, e := range lifecycle.Events() {
			if !exempt(who, e) {
				all = append(all, around(who, e)...)
			}
		}
		if who == standardcode.Executor {
			all = append(all, executing()...)
		} else {
			all = append(all, recovering()...)
		}
	}
	return all
}

// around makes the edges of one event. An event that situation does not know has
// no right end, so its edges fail until somebody decides what is right.
func around(who standardcode.Actor, e lifecycle.Event) []Edge {
	before, after := situation(e)
	if who == standardcode.Recoverer {
		before, after = Edge{Bases: lost}, Edge{Bases: lost}
	}
	all := []Edge{before.at(who, standardcode.Before(e))}
	if e == lifecycle.CreateIntent || e == lifecycle.FinalizeDone {
		all = append(all, before.at(who, standardcode.Within(e)))
	}
	return append(all, after.at(who, standardcode.After(e)))
}

func (e Edge) at(who standardcode.Actor, m standardcode.Moment) Edge {
	e.Actor, e.At = who, m
	return e
}

func (e Edge) during(d time.Duration, who standardcode.Actor, m standardcode.Moment) Edge {
	e.During = d
	return e.at(who, m)
}

// What is right when the owner dies, in the order of a life.
var (
	unrecorded   = Edge{Unrecorded: true, Ends: []string{endSucceeded}}
	neverStarted = Edge{Ends: []string{endNeverStarted}}
	// A start that was cut off may have happened or not.
	startSent = Edge{Most: 1, Ends: []string{endNeverStarted, endStopped, endUnwatched}}
	started   = Edge{Most: 1, Ends: []string{endStopped, endUnwatched}}
	running   = Edge{Least: 1, Most: 1, Lingers: true, Ends: []string{endStopped}}
	// Stdin is attached beside a command that runs: it may not have come to its
	// evidence.
	attaching = Edge{Most: 1, Lingers: true, Pipe: true, Ends: []string{endStopped}}
	unwatched = Edge{Least: 1, Most: 1, Ends: []string{endUnwatched}}
	reported  = Edge{Least: 1, Most: 1, Ends: []string{endSucceeded}}
)

// What a recovery finds before it is killed. Whoever finishes it decides alike.
var (
	lostRunning = Base{standardcode.MomentOutput, running}
	// lostAfterRun are those that leave a Checkpoint.
	lostAfterRun = []Base{
		lostRunning, {standardcode.After(lifecycle.ExitDone), reported}, {standardcode.MomentExited, unwatched},
	}
	lost = append(slices.Clip(lostAfterRun), Base{standardcode.After(lifecycle.StartIntent), neverStarted})
)

// situation is what is right when the owner dies before and after an event.
func situation(e lifecycle.Event) (before, after Edge) {
	switch e {
	case lifecycle.CreateIntent:
		return unrecorded, neverStarted
	case lifecycle.CreateDone, lifecycle.StartIntent:
		return neverStarted, neverStarted
	case lifecycle.StartDone:
		return started, started
	case lifecycle.StdinIntent, lifecycle.StdinDone:
		return attaching, attaching
	case lifecycle.ExitDone:
		return unwatched, reported
	case lifecycle.RemoveIntent, lifecycle.RemoveDone, lifecycle.FinalizeDone:
		return reported, reported
	}
	return Edge{}, Edge{}
}

// died is what is right when the owner died at a random moment after the last
// event of the log.
func died(last lifecycle.Event) Edge {
	if last == lifecycle.StartIntent {
		return startSent
	}
	_, after := situation(last)
	return after
}

// executing are the owner's moments between events. In the middle of a call the
// moment is random.
func executing() []Edge {
	const who = standardcode.Executor
	return []Edge{
		neverStarted.during(80*time.Millisecond, who, standardcode.MomentCreating),
		neverStarted.at(who, standardcode.MomentCreated),
		startSent.during(200*time.Millisecond, who, standardcode.MomentStarting),
		started.at(who, standardcode.MomentStarted),
		attaching.at(who, standardcode.MomentAttaching),
		attaching.at(who, standardcode.MomentAttached),
		running.at(who, standardcode.MomentOutput),
		unwatched.at(who, standardcode.MomentExited),
		reported.during(100*time.Millisecond, who, standardcode.MomentRemoving),
		reported.at(who, standardcode.MomentAbsent),
		reported.at(who, standardcode.MomentCapturing),
		reported.during(40*time.Millisecond, who, standardcode.MomentCapturing),
		reported.at(who, standardcode.MomentCaptured),
	}
}

// recovering are recovery's own.
func recovering() []Edge {
	const who = standardcode.Recoverer
	every, ran, live := Edge{Bases: lost}, Edge{Bases: lostAfterRun}, Edge{Bases: []Base{lostRunning}}
	return []Edge{
		every.at(who, standardcode.MomentLooked),
		every.at(who, standardcode.MomentTaken),
		live.at(who, standardcode.MomentStopping),
		live.during(60*time.Millisecond, who, standardcode.MomentStopping),
		live.at(who, standardcode.MomentStopped),
		every.at(who, standardcode.MomentRemoving),
		every.during(100*time.Millisecond, who, standardcode.MomentRemoving),
		every.at(who, standardcode.MomentAbsent),
		ran.at(who, standardcode.MomentCapturing),
		ran.during(40*time.Millisecond, who, standardcode.MomentCapturing),
		ran.at(who, standardcode.MomentCaptured),
	}
}

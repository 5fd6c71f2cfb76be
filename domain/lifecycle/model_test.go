package lifecycle_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
)

// The model check: one admission, one engine, the process that owns it and two
// that recover it, each as the program orders its steps (model_processes_test.go).
// A breadth-first search visits every system that any interleaving can reach and
// holds the promises against each of them. State.Next, Decide, result.Decide and
// Lease.Live are the real ones; the ledger, the engine and the files are as small
// as the promises allow.
//
// Nothing is atomic but one transaction, one request that the engine carries out
// and one look. A request is sent in one step, carried out in a later one and
// answered in a third, so whoever sent it may be dead or stale when it takes
// effect. A paused process is one that takes no step for a while; what tells it
// from a slow one is that its lease runs out meanwhile, which may happen at any
// time. Power loss is every process killed and the engine dead.
//
// Where one step stands for two of the program's, they commute: recovery's look at
// the ledger and at the engine (who holds the lease is the only one to change the
// log), and the owner's look at the authority and its start:intent. The engine is
// worse than the real one: its adapter also inspects before it starts or removes.
// Every owner wants to attach stdin, again and again. Left out, because they decide
// nothing else: the quota's reasons, a Drydock that is quarantined instead of
// captured, the next command of the Run.

// system is everything at one moment. It is its own hash key.
type system struct {
	// The ledger. Of the log it keeps what the program reads from it.
	state     uint8 // index of lifecycle.States
	intended  bool  // the log has a start:intent
	verdict   uint8 // the last one in the log
	cancelled bool
	holder    uint8 // the newest lease's owner; nobody: its process is dead or it was released
	expired   bool
	ends      uint8 // terminal receipts
	recorded  bool  // a Checkpoint receipt
	recordedW uint8 // what of the files it holds

	// The engine and the files.
	up      bool
	box     uint8 // our one container
	starts  uint8
	foreign uint8
	flight  uint8 // requests sent and not carried out
	files   uint8 // 1 when the command wrote something
	// attached is how often stdin was attached.
	attached uint8

	owner     ownerProcess
	recoverer [2]recovererProcess

	acted uint8 // the verdict under which recovery first touched the container
	wrong uint8 // a broken promise that only the transition shows
}

type ownerProcess struct{ at, evidence, captured uint8 }

type recovererProcess struct{ at, plan, verdict, captured uint8 }

// Who takes a step.
const (
	nobody uint8 = iota // as a lease's holder
	theOwner
	firstRecoverer
	secondRecoverer
)

// box values. A created one that was started is what an engine shows that died
// before it saved the start.
const (
	boxAbsent uint8 = iota
	boxCreated
	boxRunning
	boxPaused
	boxExited
)

// foreign values: a container that somebody else made.
const (
	noForeign uint8 = iota
	foreignName
	foreignLabel
)

// flight bits. The container is made once, so each request is about the same one
// and a second of its kind has no other effect.
const (
	createSent uint8 = 1 << iota
	startSent
	freezeSent
	stopSent
	removeSent
)

// The promises.
const (
	promiseOnce       = "the command is started at most once"
	promiseAttached   = "standard input is attached at most once"
	promiseForeign    = "a foreign container is never removed"
	promiseOneEnd     = "a terminal state is written once and never lost"
	promiseNothing    = "no started container outlives the end"
	promiseAttributed = "the changes are in exactly one Checkpoint, or there are none"
	promiseFenced     = "a stale owner's write changes nothing"
	promiseVerdict    = "whoever finishes after a crash decides alike"
	promiseWritten    = "the log knows of a start before the engine does"
	promiseTruth      = "the end says what happened"
	promiseQuiet      = "after a last recovery nothing owned is left"
	promiseConverges  = "one uninterrupted recovery finishes, or names what it preserves"
	promiseIdempotent = "a second recovery finds nothing to do"
)

// wrong bits.
const (
	wrongForeign uint8 = 1 << iota
	wrongEnd
	wrongFence
	wrongVerdict
	wrongSecond
)

// rules are what can be broken on purpose. The zero value is the program.
type rules struct {
	next   func(lifecycle.State, lifecycle.Event) (lifecycle.State, error)
	decide func(lifecycle.Situation) lifecycle.Plan

	unfenced      bool // append looks at the table only
	unlabelled    bool // removal takes whatever Find shows
	unproven      bool // remove:done is written when the request is sent
	verdictLate   bool // recovery stops first and records its verdict after it
	asksAgain     bool // the owner wants a second start when the answer is open
	startsFirst   bool // the owner sends start before it records the intent
	capturesFirst bool // the owner records the files before it removes the container

	// lone leaves out the second recoverer.
	lone bool
}

// answer is Decide's, made small.
type answer struct {
	preserve bool
	plan     uint8
	verdict  uint8
}

// model is the rules as tables, so that a search asks the domain each question
// once.
type model struct {
	rules
	states   []lifecycle.State
	events   []lifecycle.Event
	steps    []lifecycle.Step
	verdicts []result.Verdict // index 0 is none
	evidence []evidence
	edges    [][]int8
	answers  map[question]answer
	alive    [2]bool // Lease.Live before and after the expiry
	out      []successor
	telling  bool // steps are told in full
}

// question is what Decide is asked, made small.
type question struct {
	state, verdict                            uint8
	seen                                      lifecycle.Seen
	intended, recorded, cancelled, unmodified bool
}

type successor struct {
	system
	who  uint8
	what string
}

// plan bits, in the order of the steps.
const (
	planStart uint8 = 1 << iota // a fault: recovery has no such step
	planStop
	planRemove
	planCheckpoint
	planFinalize
)

const stepStart lifecycle.Step = "start"

func newModel(r rules) *model {
	if r.next == nil {
		r.next = lifecycle.State.Next
	}
	if r.decide == nil {
		r.decide = lifecycle.Decide
	}
	m := &model{
		rules: r, states: lifecycle.States(), events: lifecycle.Events(),
		steps:    []lifecycle.Step{stepStart, lifecycle.StepStop, lifecycle.StepRemove, lifecycle.StepCheckpoint, lifecycle.StepFinalize},
		verdicts: []result.Verdict{{}}, answers: map[question]answer{},
	}
	for _, s := range m.states {
		row := make([]int8, len(m.events))
		for i, e := range m.events {
			row[i] = -1
			if next, err := r.next(s, e); err == nil {
				row[i] = int8(slices.Index(m.states, next))
			}
		}
		m.edges = append(m.edges, row)
	}
	lease := lifecycle.Lease{BootID: "boot", ExpiresAt: limits.LeaseTTL}
	m.alive = [2]bool{lease.Live(lifecycle.Boot{ID: "boot"}), lease.Live(lifecycle.Boot{ID: "boot", Since: limits.LeaseTTL})}
	m.evidence = gatherEvidence(m)
	return m
}

// code is a verdict's index.
func (m *model) code(v result.Verdict) uint8 {
	for i, known := range m.verdicts {
		if known.Status == v.Status && known.Reason == v.Reason {
			return uint8(i)
		}
	}
	m.verdicts = append(m.verdicts, v)
	return uint8(len(m.verdicts) - 1)
}

// answer asks Decide, once for each question.
func (m *model) answer(q question) answer {
	if a, ok := m.answers[q]; ok {
		return a
	}
	s := lifecycle.Situation{
		State: m.states[q.state], Seen: q.seen, StartIntended: q.intended, Checkpointed: q.recorded,
		Cancelled: q.cancelled, DrydockUnchanged: q.unmodified,
	}
	if q.verdict != 0 {
		v := m.verdicts[q.verdict]
		s.Reported = &v
	}
	p := m.decide(s)
	a := answer{preserve: p.Preserve}
	if !p.Preserve {
		a.verdict = m.code(result.Verdict{Status: p.Status, Reason: p.Reason})
		last := -1
		for _, step := range p.Steps {
			i := slices.Index(m.steps, step)
			if i <= last {
				panic(fmt.Sprintf("the model cannot follow the plan %v", p.Steps))
			}
			a.plan |= 1 << i
			last = i
		}
	}
	m.answers[q] = a
	return a
}

// index is an event's.
func (m *model) index(e lifecycle.Event) int { return slices.Index(m.events, e) }

func (m *model) is(s *system, state lifecycle.State) bool { return m.states[s.state] == state }

// holds says whether who owns the newest lease and it is live.
func (m *model) holds(s *system, who uint8) bool {
	return s.holder == who && m.live(s)
}

func (m *model) live(s *system) bool {
	if s.expired {
		return m.alive[1]
	}
	return m.alive[0]
}

// append is one transaction on the log, as adapters/ledger does it: the lease,
// then the table.
func (m *model) append(s *system, who uint8, e lifecycle.Event) bool {
	// The end is written with a clock that was read before its transaction began.
	// Then only the generation counts.
	fenced := m.holds(s, who) || (e == lifecycle.FinalizeDone && s.holder == who)
	if !fenced && !m.unfenced {
		return false
	}
	next := m.edges[s.state][m.index(e)]
	if next < 0 {
		return false
	}
	if !fenced {
		s.wrong |= wrongFence
	}
	if m.is(s, lifecycle.Finalized) && uint8(next) != s.state {
		s.wrong |= wrongEnd
	}
	s.state = uint8(next)
	if e == lifecycle.StartIntent {
		s.intended = true
	}
	return true
}

// appendVerdict is append with a verdict in the entry's detail.
func (m *model) appendVerdict(s *system, who uint8, e lifecycle.Event, v uint8) bool {
	if !m.append(s, who, e) {
		return false
	}
	if v != 0 {
		if s.verdict != 0 && s.verdict != v && !m.corrected(s, s.verdict, v) {
			s.wrong |= wrongVerdict
		}
		s.verdict = v
	}
	return true
}

// finalize is the transaction of the end: the log, the receipts, the Checkpoint
// and the lease.
func (m *model) finalize(s *system, who, v uint8, captured bool, w uint8) bool {
	if !m.appendVerdict(s, who, lifecycle.FinalizeDone, v) {
		return false
	}
	if s.acted != 0 && s.acted != v && !m.corrected(s, s.acted, v) {
		s.wrong |= wrongVerdict
	}
	s.ends = min(s.ends+1, 2)
	if captured {
		s.recorded, s.recordedW = true, w
	}
	s.holder, s.expired = nobody, false
	return true
}

// corrected says that never_started was only what recovery expected, and that
// the files say otherwise.
func (m *model) corrected(s *system, was, is uint8) bool {
	return s.intended && m.verdicts[was].Reason == result.NeverStarted && m.verdicts[is].Reason == result.EngineLost
}

// broken names the promise that a system breaks, or nothing.
func (m *model) broken(s *system) string {
	final := m.is(s, lifecycle.Finalized)
	switch {
	case s.wrong&wrongForeign != 0:
		return promiseForeign
	case s.wrong&wrongFence != 0:
		return promiseFenced
	case s.wrong&wrongVerdict != 0:
		return promiseVerdict
	case s.wrong&wrongEnd != 0, s.ends > 1, final != (s.ends == 1):
		return promiseOneEnd
	case s.starts > 1:
		return promiseOnce
	case s.attached > 1:
		return promiseAttached
	case s.starts > 0 && !s.intended:
		return promiseWritten
	case final && s.box != boxAbsent && (s.box != boxCreated || s.starts > 0):
		return promiseNothing
	case final && s.files != s.recordedW:
		return promiseAttributed
	case final && !m.truthful(s):
		return promiseTruth
	}
	return ""
}

// truthful holds the end against what happened. never_started may be said of a
// command that was started and changed nothing: no one can tell any more.
func (m *model) truthful(s *system) bool {
	switch m.verdicts[s.verdict].Reason {
	case result.StartFailed:
		return s.starts == 0
	case result.Exited:
		return s.starts == 1
	case result.NeverStarted:
		return s.files == 0
	default:
		return true
	}
}

// quiet says that no process is left and the engine answers. What is in flight
// may still come.
func quiet(s *system) bool {
	return s.up && s.owner.at == ownerGone && s.recoverer[0].at == idle && s.recoverer[1].at == idle
}

// settled plays one uninterrupted recovery, and a second, and names the promise
// that they break.
func (m *model) settled(s system) (string, []successor) {
	after, path := m.recovery(s)
	final := m.is(&after, lifecycle.Finalized)
	// Only these may be preserved: a stranger's container, and an engine that
	// contradicts the log because it lost a start.
	lost := s.box == boxCreated && s.starts > 0
	startedByLog := m.is(&s, lifecycle.Running) || m.is(&s, lifecycle.Attaching) || m.is(&s, lifecycle.Attached) || m.is(&s, lifecycle.Exited)
	excused := s.foreign != noForeign || (lost && startedByLog)
	if broken := m.broken(&after); broken != "" {
		return broken, path
	}
	switch {
	case !final && !excused:
		return promiseConverges, path
	case final && !excused && after.box != boxAbsent:
		return promiseQuiet, path
	}
	again, more := m.recovery(after)
	if again != after {
		return promiseIdempotent, append(path, more...)
	}
	return "", path
}

// recovery lets the first recoverer take every step that goes well, and the
// engine carry out its requests.
func (m *model) recovery(s system) (system, []successor) {
	var path []successor
	for range 60 {
		m.out = m.out[:0]
		switch at := s.recoverer[0].at; {
		case at == awaitsStop && s.flight&stopSent != 0:
			m.carryOut(&s, stopSent)
		case at == awaitsRemove && s.flight&removeSent != 0:
			m.carryOut(&s, removeSent)
		case at == stops && s.box == boxCreated && s.flight&startSent != 0:
			m.carryOut(&s, startSent) // a fault: recovery's own
		default:
			m.recover(&s, 0)
		}
		if len(m.out) == 0 {
			break
		}
		s = m.out[0].system
		path = append(path, m.out[0])
		if s.recoverer[0].at == idle {
			break
		}
	}
	return s, path
}

// search is one run of the model.
type search struct {
	m       *model
	systems []system
	parent  []int32
	depth   int
	moves   int
	// complete says that nothing is beyond the depth.
	complete bool
	// found maps each broken promise to its first system.
	found map[string]int32
}

// explore visits every system within depth steps (0: all of them), or until a
// promise is broken that it looks for. It does not go on from a broken one.
func explore(m *model, depth int, until string) *search {
	x := &search{m: m, found: map[string]int32{}}
	first := canonical(system{up: true})
	index := map[system]int32{first: 0}
	x.systems, x.parent = []system{first}, []int32{-1}
	for from, to := 0, 1; from < to; from, to = to, len(x.systems) {
		if depth > 0 && x.depth == depth {
			return x
		}
		x.depth++
		for i := from; i < to; i++ {
			s := x.systems[i]
			broken := m.broken(&s)
			if broken == "" && quiet(&s) {
				broken, _ = m.settled(s)
			}
			if broken != "" {
				if _, ok := x.found[broken]; !ok {
					x.found[broken] = int32(i)
				}
				if broken == until {
					return x
				}
				continue
			}
			for _, n := range m.successors(s) {
				x.moves++
				c := canonical(n.system)
				if _, ok := index[c]; !ok {
					index[c] = int32(len(x.systems))
					x.systems, x.parent = append(x.systems, c), append(x.parent, int32(i))
				}
			}
		}
	}
	x.complete = true
	return x
}

// canonical gives both recoverers one order: they are the same program.
func canonical(s system) system {
	a, b := s.recoverer[0], s.recoverer[1]
	if !less(a, b) {
		return s
	}
	s.recoverer[0], s.recoverer[1] = b, a
	switch s.holder {
	case firstRecoverer:
		s.holder = secondRecoverer
	case secondRecoverer:
		s.holder = firstRecoverer
	}
	return s
}

func less(a, b recovererProcess) bool {
	rank := func(r recovererProcess) uint32 {
		return uint32(r.at)<<24 | uint32(r.plan)<<16 | uint32(r.verdict)<<8 | uint32(r.captured)
	}
	return rank(a) < rank(b)
}

// path tells how a system is reached: each step and what it left.
func (x *search) path(promise string) string {
	var chain []system
	for i := x.found[promise]; i >= 0; i = x.parent[i] {
		chain = append(chain, x.systems[i])
	}
	slices.Reverse(chain)
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %s\n", promise)
	x.m.telling = true
	now := chain[0]
	line := func(n successor) {
		fmt.Fprintf(&b, "  %-2s %-62s %s\n", []string{"", "A", "B", "C"}[n.who], n.what, x.m.describe(&n.system))
	}
	for _, want := range chain[1:] {
		for _, n := range x.m.successors(now) {
			if canonical(n.system) == want {
				now = n.system
				line(n)
				break
			}
		}
	}
	if x.m.broken(&now) == "" {
		_, last := x.m.settled(now)
		for _, n := range last {
			line(n)
		}
	}
	return b.String()
}

// describe is a system in one line.
func (m *model) describe(s *system) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log %s", m.states[s.state])
	if v := m.verdicts[s.verdict]; s.verdict != 0 {
		fmt.Fprintf(&b, " (%s/%s)", v.Status, v.Reason)
	}
	fmt.Fprintf(&b, ", lease %s", []string{"nobody's", "A's", "B's", "C's"}[s.holder])
	if s.expired {
		b.WriteString(" and over")
	}
	fmt.Fprintf(&b, ", container %s", []string{"absent", "created", "running", "paused", "exited"}[s.box])
	if s.starts > 0 {
		fmt.Fprintf(&b, ", starts %d", s.starts)
	}
	for i, name := range []string{"create", "start", "freeze", "stop", "remove"} {
		if s.flight&(1<<i) != 0 {
			fmt.Fprintf(&b, ", %s in flight", name)
		}
	}
	if s.files > 0 {
		b.WriteString(", files changed")
	}
	if s.recorded {
		b.WriteString(", Checkpoint")
	}
	if s.foreign != noForeign {
		b.WriteString(", foreign container")
	}
	if !s.up {
		b.WriteString(", engine down")
	}
	return b.String()
}

// shortDepth bounds the search with -short; without it everything is visited.
const shortDepth = 20

func report(t *testing.T, x *search) {
	t.Helper()
	t.Logf("%d systems visited by %d steps, depth %d, everything reachable: %v", len(x.systems), x.moves, x.depth, x.complete)
}

func depthOf(t *testing.T, full int) int {
	t.Helper()
	if testing.Short() && (full == 0 || full > shortDepth) {
		return shortDepth
	}
	return full
}

func holds(t *testing.T, r rules, depth int) {
	t.Helper()
	x := explore(newModel(r), depthOf(t, depth), "")
	report(t, x)
	for _, promise := range slices.Sorted(maps.Keys(x.found)) {
		t.Errorf("%s", x.path(promise))
	}
	if !testing.Short() && depth == 0 && !x.complete {
		t.Error("not everything was visited")
	}
	if !testing.Short() {
		x.everyStateMet(t)
	}
}

// everyStateMet guards against a model that holds because nothing happens.
func (x *search) everyStateMet(t *testing.T) {
	t.Helper()
	met := map[string]bool{}
	for i := range x.systems {
		s := &x.systems[i]
		met[string(x.m.states[s.state])] = true
		met[fmt.Sprint("container ", s.box)] = true
		met["a container after the end"] = met["a container after the end"] || (x.m.is(s, lifecycle.Finalized) && s.box != boxAbsent)
		met["a stale owner at work"] = met["a stale owner at work"] || (s.holder > theOwner && s.owner.at < ownerGone)
		met["two recoverers at work"] = met["two recoverers at work"] || (s.recoverer[0].at != idle && s.recoverer[1].at != idle)
	}
	for q := range x.m.answers {
		met[fmt.Sprint("recovery sees ", q.seen)] = true
	}
	want := []string{"a container after the end", "a stale owner at work", "recovery sees ambiguous", "recovery sees foreign", "recovery sees unreachable"}
	for _, s := range lifecycle.States() {
		want = append(want, string(s))
	}
	for box := boxAbsent; box <= boxExited; box++ {
		want = append(want, fmt.Sprint("container ", box))
	}
	if !x.m.lone {
		want = append(want, "two recoverers at work")
	}
	for _, w := range want {
		if !met[w] {
			t.Errorf("the search never met %q", w)
		}
	}
}

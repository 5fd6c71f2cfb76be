package lifecycle_test

import "cyberagent/domain/lifecycle"

// see is what Find and the classification of its answer say.
func see(s *system) lifecycle.Seen {
	switch {
	case !s.up:
		return lifecycle.SeenUnreachable
	case s.foreign != noForeign && s.box != boxAbsent:
		return lifecycle.SeenAmbiguous
	case s.foreign != noForeign:
		return lifecycle.SeenForeign
	}
	return [...]lifecycle.Seen{
		boxAbsent: lifecycle.SeenAbsent, boxCreated: lifecycle.SeenCreated, boxRunning: lifecycle.SeenRunning,
		boxPaused: lifecycle.SeenPaused, boxExited: lifecycle.SeenExited,
	}[s.box]
}

// answerAtOnce drops requests that can have no effect any more: a container is
// addressed by its id, so one that is gone stays gone, and one that ended can
// only be removed (or started, which is what must never happen).
func (s *system) answerAtOnce() {
	switch s.box {
	case boxAbsent:
		s.flight &= createSent
	case boxCreated, boxExited:
		s.flight &^= freezeSent | stopSent
	}
}

// carryOut lets the engine do one request that it was sent.
func (m *model) carryOut(s *system, request uint8) {
	n := *s
	n.flight &^= request
	what := ""
	switch request {
	case createSent:
		what = "the engine creates the container"
		if n.foreign == foreignName {
			what = "the engine refuses to create: the name is taken"
			break
		}
		n.box = boxCreated
	case startSent:
		// An engine starts an exited container again.
		what = "the engine starts the container"
		if n.box == boxCreated || n.box == boxExited {
			n.box = boxRunning
			n.starts = min(n.starts+1, 2)
		}
	case freezeSent:
		what = "the engine freezes the container"
		if n.box == boxRunning {
			n.box = boxPaused
		}
	case stopSent:
		what = "the engine ends the container"
		if n.box == boxRunning || n.box == boxPaused {
			n.box = boxExited
		}
	case removeSent:
		what = "the engine removes the container"
		n.box = boxAbsent
	}
	m.emit(n, nobody, what)
}

// killings are kill -9, one process at a time: power loss is all of them, and
// the engine's death.
func (m *model) killings(s *system) {
	if s.owner.at != ownerBegins && s.owner.at != ownerGone {
		m.emit(leave(*s), theOwner, "is killed")
	}
	for i := range s.recoverer {
		if s.recoverer[i].at != idle {
			m.emit(giveUp(*s, i), firstRecoverer+uint8(i), "is killed")
		}
	}
}

// environment is everything that no process of ours does.
func (m *model) environment(s *system) {
	change := func(what string, c func(*system)) {
		n := *s
		c(&n)
		m.emit(n, nobody, what)
	}
	if m.is(s, lifecycle.Admitted) {
		return // nothing is promised yet
	}
	if s.holder != nobody && !s.expired {
		m.emit(func() system { n := *s; n.expired = true; return n }(), s.holder, "is paused, its lease runs out")
	}
	if !s.cancelled && !m.is(s, lifecycle.Finalized) {
		change("an operator cancels", func(n *system) { n.cancelled = true })
	}
	m.command(change, s)
	m.strangers(change, s)
	if !s.up {
		change("the engine answers again", func(n *system) { n.up = true })
		return
	}
	for request := createSent; request <= removeSent; request <<= 1 {
		if s.flight&request != 0 {
			m.carryOut(s, request)
		}
	}
	change("the engine hangs", func(n *system) { n.up = false })
	m.deaths(change, s)
}

// command is what the started command does by itself.
func (m *model) command(change func(string, func(*system)), s *system) {
	if s.box != boxRunning {
		return
	}
	if s.files == 0 {
		change("the command changes a file", func(n *system) { n.files = 1 })
	}
	change("the command ends", func(n *system) { n.box = boxExited })
}

// strangers make and remove containers with our name or our label.
func (m *model) strangers(change func(string, func(*system)), s *system) {
	if s.foreign != noForeign {
		change("the stranger's container is removed by its owner", func(n *system) { n.foreign = noForeign })
		return
	}
	if s.box == boxAbsent {
		change("a stranger makes a container of our name", func(n *system) { n.foreign = foreignName })
	}
	change("a stranger makes a container with our label", func(n *system) { n.foreign = foreignLabel })
}

// deaths of the engine: what it was sent is lost, what ran has ended, and what
// it shows of our container afterwards may be old, or nothing.
func (m *model) deaths(change func(string, func(*system)), s *system) {
	dies := func(n *system, box uint8) { n.up, n.flight, n.box = false, 0, box }
	switch s.box {
	case boxRunning, boxPaused:
		change("the engine dies, the container with it", func(n *system) { dies(n, boxExited) })
		change("the engine dies and forgets that it started the container", func(n *system) { dies(n, boxCreated) })
	default:
		change("the engine dies", func(n *system) { dies(n, s.box) })
	}
	if s.box != boxAbsent {
		change("the engine dies and loses the container", func(n *system) { dies(n, boxAbsent) })
	}
}

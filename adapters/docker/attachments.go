package docker

import (
	"net"
	"slices"
	"sync"
	"time"

	"cyberagent/ports"
)

// attachment is one hijacked connection. An engine whose client does not read
// hangs with the container, so Kill and Remove must be able to end it.
type attachment struct {
	conn    net.Conn
	abandon func() // lets go of the readers: what still comes is dropped
	stalled func(time.Duration) bool
}

func (a *attachment) close() { _ = a.conn.Close() }

// attachments are the open ones of each container, and to which a stdin was
// ever attached.
type attachments struct {
	mu    sync.Mutex
	open  map[ports.ContainerID][]*attachment
	stdin map[ports.ContainerID]bool
}

func (s *attachments) add(c ports.ContainerID, a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[ports.ContainerID][]*attachment{}
	}
	s.open[c] = append(s.open[c], a)
}

func (s *attachments) drop(c ports.ContainerID, a *attachment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(s.open[c]), func(o *attachment) bool { return o == a })
	if s.open[c] = rest; len(rest) == 0 {
		delete(s.open, c)
	}
}

// each calls fn for the container's open attachments.
func (s *attachments) each(c ports.ContainerID, fn func(*attachment)) {
	s.mu.Lock()
	list := slices.Clone(s.open[c])
	s.mu.Unlock()
	for _, a := range list {
		fn(a)
	}
}

// firstStdin says whether no stdin was attached before, and notes this one.
func (s *attachments) firstStdin(c ports.ContainerID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stdin == nil {
		s.stdin = map[ports.ContainerID]bool{}
	}
	first := !s.stdin[c]
	s.stdin[c] = true
	return first
}

func (s *attachments) forget(c ports.ContainerID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stdin, c)
}

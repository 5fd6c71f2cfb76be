package containerd

import (
	"io"
	"slices"
	"sync"

	"cyberagent/ports"
)

// attachment is what is open of one attaching.
type attachment struct {
	closers []io.Closer

	mu   sync.Mutex
	done bool
}

func (a *attachment) close() {
	a.mu.Lock()
	first := !a.done
	a.done = true
	a.mu.Unlock()
	if !first {
		return
	}
	for _, c := range a.closers {
		_ = c.Close()
	}
}

func (a *attachment) closed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

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

// take returns the container's open attachments and forgets them.
func (s *attachments) take(c ports.ContainerID) []*attachment {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.open[c]
	delete(s.open, c)
	return list
}

func (s *attachments) closeAll() {
	s.mu.Lock()
	var all []*attachment
	for c, list := range s.open {
		all = append(all, list...)
		delete(s.open, c)
	}
	s.mu.Unlock()
	for _, a := range all {
		a.close()
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

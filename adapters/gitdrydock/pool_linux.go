package gitdrydock

import (
	"context"
	"sync"
)

// pool is a stack of directories that workers take from and add to until none
// is left. The last added is walked first, which keeps the stack short.
type pool struct {
	mu    sync.Mutex
	more  *sync.Cond
	stack []string
	busy  int
	err   error
}

// newPool begins at the root, which is the empty path.
func newPool() *pool {
	p := &pool{stack: []string{""}}
	p.more = sync.NewCond(&p.mu)
	return p
}

// run walks with n workers, each with a function of its own, and returns the
// first error. An error or the end of ctx ends the walk.
func (p *pool) run(ctx context.Context, n int, worker func(i int) func(path string) error) error {
	stop := context.AfterFunc(ctx, func() { p.fail(ctx.Err()) })
	defer stop()
	var wg sync.WaitGroup
	for i := range n {
		walk := worker(i)
		wg.Go(func() {
			for {
				path, ok := p.next()
				if !ok {
					return
				}
				if err := walk(path); err != nil {
					p.fail(err)
				}
				p.done()
			}
		})
	}
	wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.more.Broadcast()
}

// push adds directories.
func (p *pool) push(paths []string) {
	if len(paths) == 0 {
		return
	}
	p.mu.Lock()
	p.stack = append(p.stack, paths...)
	p.mu.Unlock()
	p.more.Broadcast()
}

// next takes a directory; false when the walk is over.
func (p *pool) next() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.err != nil:
			return "", false
		case len(p.stack) > 0:
			path := p.stack[len(p.stack)-1]
			p.stack = p.stack[:len(p.stack)-1]
			p.busy++
			return path, true
		case p.busy == 0:
			return "", false
		}
		p.more.Wait()
	}
}

// done says that the directory that next gave is walked.
func (p *pool) done() {
	p.mu.Lock()
	p.busy--
	over := p.busy == 0
	p.mu.Unlock()
	if over {
		p.more.Broadcast()
	}
}

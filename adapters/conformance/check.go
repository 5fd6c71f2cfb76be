package conformance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// patience bounds one check. It is a guard against a hang, not a measure.
const patience = 3 * time.Minute

// Check is one named invariant.
type Check struct {
	Topic string
	// Name is a sentence that says what always holds.
	Name string
	// Holds names what it is an invariant of: "port 3", or the contract's property.
	Holds string
	// Kernel says that it needs real processes.
	Kernel bool
	// Alone says that it ends engines, so it runs after the others, by itself, on an
	// engine of the suite's own.
	Alone bool

	run func(*C)
}

// Checks returns every check, in the order of the matrix.
func Checks() []Check {
	return slices.Concat(
		identityChecks(), createChecks(), mountChecks(), userChecks(), seccompChecks(), networkChecks(), limitChecks(), tmpfsChecks(),
		streamChecks(), exitChecks(), waitChecks(), removeChecks(), ownerChecks(), faultChecks(), restartChecks(),
	)
}

func topic(name string, list ...Check) []Check {
	for i := range list {
		list[i].Topic = name
	}
	return list
}

// C is what a check works with. It records failures, so that a check can also be
// run in the expectation that it fails.
type C struct {
	*lab

	ctx      context.Context
	patience time.Duration
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

// Errorf records a failure and goes on.
func (c *C) Errorf(format string, args ...any) { c.record(format, args...) }

// Fatalf records a failure and ends the check. Only the check's own goroutine
// may call it.
func (c *C) Fatalf(format string, args ...any) {
	c.record(format, args...)
	runtime.Goexit()
}

// must ends the check when err is not nil.
func (c *C) must(err error) {
	if err != nil {
		c.record("%v", err)
		runtime.Goexit()
	}
}

// record notes a failure at the line that called one of the three above.
func (c *C) record(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, file, line, _ := runtime.Caller(2)
	c.failures = append(c.failures, fmt.Sprintf("%s:%d: ", file[strings.LastIndexByte(file, '/')+1:], line)+fmt.Sprintf(format, args...))
}

// cleanup runs fn after the check, the last first.
func (c *C) cleanup(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cleanups = append(c.cleanups, fn)
}

// tempDir makes a directory that is removed after the check. Another uid passes
// through it.
func (c *C) tempDir() string {
	dir, err := os.MkdirTemp(c.dir, "check-")
	c.must(err)
	c.must(os.Chmod(dir, 0o755))
	c.cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// try runs a check and returns its failures.
func (l *lab) try(ctx context.Context, run func(*C)) []string { return l.tryFor(ctx, patience, run) }

// tryFor is try with another guard.
func (l *lab) tryFor(ctx context.Context, patience time.Duration, run func(*C)) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := &C{lab: l, ctx: ctx, patience: patience}
	c.call(func() { run(c) })
	for i := len(c.cleanups) - 1; i >= 0; i-- {
		c.call(c.cleanups[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.failures)
}

// call runs fn in a goroutine that Fatalf may end. One that outlives the check's
// patience is left behind and is a failure.
func (c *C) call(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				c.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		fn()
	}()
	select {
	case <-done:
	case <-time.After(c.patience + 30*time.Second):
		c.Errorf("the check hangs")
	}
}

// soon is a guard for what must end by itself: calls whose context ended, and
// closes. The port gives them a second; a busy machine gets more.
const soon = time.Minute

// within fails the check when fn does not end soon.
func (c *C) within(what string, fn func()) {
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
	case <-time.After(soon):
		c.Fatalf("%s does not end", what)
	}
}

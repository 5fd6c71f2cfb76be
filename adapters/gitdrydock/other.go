//go:build !linux

package gitdrydock

import (
	"context"
	"io"
	"runtime"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// layout has no meaning here: every method answers platform_unsupported.
type layout struct{}

// errPlatform is the answer of every method: the walker's guarantees rest on
// Linux system calls, and a Drydock with weaker ones would be another promise.
func errPlatform() error {
	return fault.New(fault.PlatformBlocked, "Drydocks need Linux; this is %s", runtime.GOOS).
		Hint("run cyberagent on the Linux machine that runs the engine")
}

func (d *Drydocks) Inspect(context.Context, string) (drydock.Source, error) {
	return drydock.Source{}, errPlatform()
}

func (d *Drydocks) Create(context.Context, id.Drydock, id.Checkpoint, drydock.Source) (drydock.Place, drydock.Capture, error) {
	return drydock.Place{}, drydock.Capture{}, errPlatform()
}

func (d *Drydocks) Capture(context.Context, drydock.Place, id.Checkpoint, id.Checkpoint) (drydock.Capture, error) {
	return drydock.Capture{}, errPlatform()
}

func (d *Drydocks) Drift(context.Context, drydock.Place, id.Checkpoint, int) ([]drydock.Change, int, error) {
	return nil, 0, errPlatform()
}

func (d *Drydocks) Changes(context.Context, drydock.Place, id.Checkpoint, id.Checkpoint) ([]drydock.Change, error) {
	return nil, errPlatform()
}

func (d *Drydocks) Diff(context.Context, drydock.Place, id.Checkpoint, id.Checkpoint, io.Writer) error {
	return errPlatform()
}

func (d *Drydocks) Plan(context.Context, drydock.Place, id.Checkpoint, id.Checkpoint, int) (drydock.Plan, error) {
	return drydock.Plan{}, errPlatform()
}

func (d *Drydocks) Rewind(context.Context, drydock.Place, drydock.RewindOrder, func(drydock.Capture) error) (drydock.Rewound, error) {
	return drydock.Rewound{}, errPlatform()
}

func (d *Drydocks) Adopt(context.Context, drydock.Place, id.Checkpoint, id.Checkpoint, drydock.Place, id.Checkpoint) (drydock.Capture, error) {
	return drydock.Capture{}, errPlatform()
}

func (d *Drydocks) Deliver(context.Context, drydock.Place, id.Checkpoint) (drydock.Delivery, error) {
	return drydock.Delivery{}, errPlatform()
}

func (d *Drydocks) Survey(context.Context, drydock.Drydock) (drydock.Remains, error) {
	return drydock.Remains{}, errPlatform()
}

func (d *Drydocks) Clean(context.Context, drydock.Drydock) (drydock.Remains, error) {
	return drydock.Remains{}, errPlatform()
}

func (d *Drydocks) Strays(context.Context, []id.Drydock) ([]drydock.Doubt, error) {
	return nil, errPlatform()
}

func (d *Drydocks) History(context.Context, drydock.Place) (drydock.Storage, error) {
	return drydock.Storage{}, errPlatform()
}

func (d *Drydocks) Compact(context.Context, drydock.Place) (before, after drydock.Storage, err error) {
	return before, after, errPlatform()
}

// Idle says no: nothing here is ever to be finished.
func (d *Drydocks) Idle(context.Context, id.Drydock) bool { return false }

func (d *Drydocks) Verify(context.Context, drydock.Place) error { return errPlatform() }

// ReadFiles implements ports.Worktrees.
func (d *Drydocks) ReadFiles(context.Context, drydock.Place, string, []string, int64) (map[string][]byte, error) {
	return nil, errPlatform()
}

// CheckWorkdir implements ports.Worktrees.
func (d *Drydocks) CheckWorkdir(context.Context, drydock.Place, string) error { return errPlatform() }

func (d *Drydocks) Mask(context.Context) (isolation.MaskFacts, error) {
	return isolation.MaskFacts{}, errPlatform()
}

func (d *Drydocks) Free(context.Context, string) (drydock.Free, error) {
	return drydock.Free{}, errPlatform()
}

func (d *Drydocks) Usage(context.Context, string) (drydock.Usage, error) {
	return drydock.Usage{}, errPlatform()
}

// Hidden says that it cannot look here.
func (d *Drydocks) Hidden(context.Context, string, int) (int64, bool) { return 0, false }

// Namespaces returns nil: this host has none to compare.
func (d *Drydocks) Namespaces() map[string]uint64 { return nil }

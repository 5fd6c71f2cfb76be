package enginecheck

import (
	"context"
	"io"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// run starts the container, waits for its end and returns the runner's line.
func (s *Service) run(ctx context.Context, c ports.ContainerID) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout+limits.EngineCall)
	defer cancel()
	out, err := s.Engine.Attach(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	line := make(chan []byte, 1)
	go func() { _, _ = io.Copy(io.Discard, out.Stdout) }()
	go func() {
		b, _ := io.ReadAll(io.LimitReader(out.Stderr, limits.RunnerReportBytes+1))
		_, _ = io.Copy(io.Discard, out.Stderr)
		line <- b
	}()
	if err := s.Engine.Start(ctx, c); err != nil {
		return nil, err
	}
	if _, err := s.Engine.Wait(ctx, c); err != nil {
		return nil, err
	}
	select {
	case b := <-line:
		return b, nil
	case <-time.After(limits.EngineProbeCall):
		return nil, fault.New(fault.RunnerFailure, "the container ended and its output did not").Hint("run the check again")
	}
}

// Sweep removes what killed checks left, and returns how many there were. Only a
// container with exactly the labels of this installation and of a workspace that
// a check made is touched.
func (s *Service) Sweep(ctx context.Context) (int, error) {
	left, err := s.Scratches.Abandoned(ctx)
	if err != nil {
		return 0, err
	}
	for n, a := range left {
		if err := s.clear(ctx, a); err != nil {
			return n, err
		}
	}
	return len(left), nil
}

// clear removes a check's container, proves its absence, and then removes the
// workspace: while that exists somebody will look again.
func (s *Service) clear(ctx context.Context, a id.Admission) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limits.EngineCall)
	defer cancel()
	found, err := s.Engine.Find(ctx, a)
	for _, c := range found {
		if err == nil {
			err = s.Engine.Remove(ctx, c.ID, s.ownership(a))
		}
	}
	if err != nil {
		return fault.Wrap(fault.CleanupPending, err, "the container of the check could not be removed yet").
			Hint("when the engine answers again, run `cyberagent engine check`")
	}
	return s.Scratches.Remove(ctx, a)
}

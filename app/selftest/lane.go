package selftest

import (
	"context"
	"fmt"

	"cyberagent/app/approvals"
	"cyberagent/app/drydocks"
	"cyberagent/app/runs"
	"cyberagent/app/standardcode"
	"cyberagent/domain/approval"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
)

// lane is one Run with its Drydock, on which commands follow one another.
type lane struct {
	s   *Service
	run id.Run
	// drydock is where the last command left it.
	drydock drydocks.View
	keys    int
}

// openLane makes a Run on a new source, with all the authority that it needs.
func (s *Service) openLane(ctx context.Context, n int) (*lane, error) {
	source, err := s.Files.Source(ctx)
	if err != nil {
		return nil, err
	}
	l := &lane{s: s}
	r, err := s.Runs.Create(ctx, runs.CreateInput{Title: "selftest", Workspace: source, OperationKey: fmt.Sprintf("lane-%d", n)})
	if err != nil {
		return nil, err
	}
	l.run = r.RunID
	if _, err := s.Runs.SetProfile(ctx, l.run, run.ProfileDocker, l.key("profile")); err != nil {
		return nil, err
	}
	if _, err := s.Runs.SetPermission(ctx, l.run, run.WorkspaceAccess, l.key("permission")); err != nil {
		return nil, err
	}
	src, err := s.Drydocks.Inspect(ctx, l.run)
	if err != nil {
		return nil, err
	}
	l.drydock, err = s.Drydocks.Create(ctx, drydocks.CreateInput{Run: l.run, TrustDigest: src.TrustDigest, OperationKey: l.key("drydock")})
	return l, err
}

// key is an operation key that was not used before in this Run.
func (l *lane) key(verb string) string {
	l.keys++
	return fmt.Sprintf("%s-%d", verb, l.keys)
}

// How long a command stays, in seconds: atOnce it ends by itself, lingering until
// somebody ends it.
const (
	atOnce    = "0"
	aMoment   = "0.5"
	lingering = "600"
)

// approve prepares a command that stays for some seconds and approves it.
func (l *lane) approve(ctx context.Context, token, seconds string, pipe bool) (Order, error) {
	o := Order{
		Act: standardcode.Executor, Run: l.run, Generation: l.drydock.Generation, Checkpoint: l.drydock.CheckpointID,
		Key: l.key("execute"), Token: token, Seconds: seconds, Pipe: pipe,
	}
	p, err := l.s.StandardCode.Prepare(ctx, o.Execute().Request, l.key("prepare"))
	if err != nil {
		return o, err
	}
	o.Prep, o.Approval = p.PreparationID, p.Approval.ID
	_, err = l.s.Approvals.Review(ctx, approvals.ReviewInput{
		Preparation: o.Prep, Decision: approval.Approve, Reviewer: "selftest", OperationKey: l.key("review"),
	})
	return o, err
}

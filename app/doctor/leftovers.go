package doctor

import (
	"context"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/phrase"
	"cyberagent/ports"
)

// leftovers compares what the engine holds of this installation with what the
// ledger says is under way.
func (s *Service) leftovers(ctx context.Context, r *Report, e ports.Engine, facts ports.LedgerFacts) {
	if !facts.Present {
		return
	}
	check := string(e.Engine()) + "/leftovers"
	l, done, err := s.Open(ctx)
	if err != nil {
		fe := fault.From(err)
		r.add(check, Failure, fe.Error(), fe.Remedy)
		return
	}
	defer done()
	open := map[id.Admission]bool{}
	err = l.Read(ctx, func(rec ports.Records) error {
		all, err := rec.OpenAdmissions("")
		for _, a := range all {
			open[a.ID] = true
		}
		return err
	})
	if err != nil {
		fe := fault.From(err)
		r.add(check, Failure, fe.Error(), fe.Remedy)
		return
	}
	owned, err := e.FindOwned(ctx, l.Installation())
	if err != nil {
		fe := fault.From(err)
		r.add(check, Failure, fe.Error(), fe.Remedy)
		return
	}
	ended := 0
	for _, c := range owned {
		if !open[id.Admission(c.Labels[isolation.LabelAdmission])] {
			ended++
		}
	}
	switch {
	case ended > 0:
		r.add(check, Warning, phrase.Count(ended, "container")+" of commands that have ended", "cyberagent run standard-code recover --all")
	case len(open) > 0:
		r.add(check, OK, phrase.Count(len(open), "command")+" under way; `cyberagent run standard-code recover --all --dry-run` says whether one needs recovery", "")
	default:
		r.add(check, OK, "no container of ours, no command under way", "")
	}
}

package drydocks

import (
	"context"
	"errors"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/ports"
)

// last reads the Run's Drydock, or the one that was cleaned last.
func (s *Service) last(ctx context.Context, rid id.Run) (st state, err error) {
	err = s.Ledger.Read(ctx, func(rec ports.Records) (err error) {
		if st, err = readState(rec, rid); errors.Is(err, fault.DrydockNotReady) {
			st, err = readCleaned(rec, rid)
		}
		return err
	})
	return st, err
}

// readCleaned reads the Drydock of a Run that was cleaned last (not_found).
func readCleaned(rec ports.Records, rid id.Run) (st state, err error) {
	if st.drydock, err = rec.CleanedDrydockOfRun(rid); err == nil {
		st.steps, err = rec.ListSteps(st.drydock.ID)
	}
	return st, err
}

// absent says why a Run has no Drydock that a verb could work on, and what to do: it
// was cleaned (drydock_not_ready), or there never was one (not_found).
func absent(rec ports.Records, rid id.Run, err error) error {
	if !errors.Is(err, fault.NotFound) {
		return err
	}
	r, err := rec.Run(rid)
	if err != nil {
		return err
	}
	next := r.Remedy()
	if r.Eligible() == nil {
		next = "make one from the source as it is now: `cyberagent drydock create " + string(rid) + "`"
	}
	st, err := readCleaned(rec, rid)
	switch {
	case errors.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "the Run %s has no Drydock", rid).At("run").Hint("%s", next)
	case err != nil:
		return err
	}
	for _, s := range st.steps {
		if s.Verb == drydock.VerbDeliver && s.Phase == drydock.Done {
			next += "; the patch that was delivered stays in deliveries/ of the home"
			break
		}
	}
	return fault.New(fault.DrydockNotReady, "the Drydock %s was cleaned at %s (receipt %s): its files and Checkpoints are gone",
		st.drydock.ID, st.drydock.UpdatedAt.UTC().Format(time.DateTime+"Z"), st.cleanedBy()).At("run").Hint("%s", next).
		With("drydock_id", string(st.drydock.ID)).With("cleaned_by", string(st.cleanedBy()))
}

// cleanedBy is the receipt of the clean-up, empty where there is none.
func (st state) cleanedBy() id.Receipt {
	if n := len(st.steps); n > 0 && st.steps[n-1].Verb == drydock.VerbCleanup && st.steps[n-1].Phase == drydock.Done {
		return st.steps[n-1].Receipt
	}
	return ""
}

// cleanedView is what is left to say of a cleaned Drydock.
func cleanedView(st state) View {
	v := view(st.drydock)
	v.CleanedBy = st.cleanedBy()
	v.Intact, v.IntactError, v.Path, v.Branch = false, "it was cleaned", "", ""
	return v
}

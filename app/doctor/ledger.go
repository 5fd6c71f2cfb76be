package doctor

import (
	"context"
	"fmt"

	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
	"cyberagent/ports"
)

// ledger examines the file and says whether it can be opened without being
// changed.
func (s *Service) ledger(ctx context.Context, r *Report) (facts ports.LedgerFacts) {
	f, err := s.Ledger.Examine(ctx)
	if err != nil {
		e := fault.From(err)
		r.add("ledger", Failure, e.Error(), e.Remedy)
		return ports.LedgerFacts{}
	}
	switch {
	case !f.Present:
		r.add("ledger", OK, f.Path+" does not exist yet; the first Run makes it", "")
		return f
	case f.Schema > f.Newest:
		r.add("ledger", Failure, fmt.Sprintf("%s has schema %s, this program knows %s", f.Path, f.Schema, f.Newest), "use the newer cyberagent that wrote it")
		return ports.LedgerFacts{}
	case f.Integrity != "ok":
		r.add("ledger", Failure, f.Path+" is damaged: "+f.Integrity, "restore it from a backup")
		return ports.LedgerFacts{}
	case f.Foreign:
		r.add("ledger", Warning, f.Path+" belongs to another user", "run as the user who owns it: the approvals in it are that user's")
	case f.Mode&0o077 != 0:
		r.add("ledger", Warning, fmt.Sprintf("%s has mode %04o; others can read it", f.Path, f.Mode), "chmod 600 "+phrase.Word(f.Path))
	case f.Schema < f.Newest:
		r.add("ledger", OK, fmt.Sprintf("%s has schema %s; the next verb brings it to %s", f.Path, f.Schema, f.Newest), "")
	default:
		r.add("ledger", OK, fmt.Sprintf("%s, schema %s, mode %04o", f.Path, f.Schema, f.Mode), "")
	}
	if f.Schema < f.Newest {
		return ports.LedgerFacts{} // opening it would migrate it
	}
	return f
}

func mib(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }

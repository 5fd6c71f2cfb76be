package approvals

import (
	"context"
	"fmt"

	"cyberagent/domain/approval"
	"cyberagent/ports"
)

// Images are the digests of images that something of the ledger still needs, each
// with what: a preparation that can be executed or decided, or a command that has
// not ended.
func (s *Service) Images(ctx context.Context) (map[string][]string, error) {
	out := map[string][]string{}
	now := s.Clock.Now()
	err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		clear(out)
		all, err := rec.ListApprovals("")
		if err != nil {
			return err
		}
		for _, a := range all {
			if st := a.Status(now); st != approval.Pending && st != approval.Approved {
				continue
			}
			p, err := rec.Preparation(a.Preparation)
			if err != nil {
				return err
			}
			if usable(rec, p) == nil {
				digest := p.Authority.ImageDigest
				out[digest] = append(out[digest], fmt.Sprintf("preparation %s of %s is %s", p.ID, p.Run, a.Status(now)))
			}
		}
		open, err := rec.OpenAdmissions("")
		for _, a := range open {
			out[a.ImageID] = append(out[a.ImageID], fmt.Sprintf("command %s of %s has not ended", a.ID, a.Run))
		}
		return err
	})
	return out, err
}

// Package retention decides which records of closed Runs may leave the ledger.
//
// A Run goes whole or not at all, and only when nothing can come back to it: it is
// closed, no command and no Job of it is open, every Drydock is cleaned, and no
// process that ever owned one of its commands still lives. What stays of it is the
// Run's own row and a Receipt, which refuse everything that its old approvals and
// operation keys could ask for.
package retention

import (
	"slices"
	"strings"
	"time"

	"cyberagent/domain/id"
)

// History is what the ledger holds of one closed Run.
type History struct {
	Run id.Run
	// Admissions are its commands; Records are all rows that hang on the Run, theirs
	// among them; Bytes is what those hold, without what the file adds.
	Admissions, Records, Bytes int64
	// Oldest is when the Run was made, Newest when anything of it changed last.
	Oldest, Newest time.Time
	// OpenAdmissions and OpenJobs have not ended; Drydocks are not cleaned.
	OpenAdmissions, OpenJobs, Drydocks int64
	// Owners held leases that nobody released: processes that died, or that were
	// stopped while another took over.
	Owners []id.Owner
}

// Receipt says what of a Run went, and when. It is kept for ever.
type Receipt struct {
	Run                        id.Run
	Key                        string
	Admissions, Records, Bytes int64
	Oldest, Newest, At         time.Time
}

// Over says whether everything of the Run is older than the time.
func (h History) Over(before time.Time) bool { return h.Newest.Before(before) }

// Hold says why the records of a Run that is over must stay, "" when they may go.
// lives tells of an owner's process.
func (h History) Hold(lives func(id.Owner) bool) string {
	switch {
	case h.OpenAdmissions > 0:
		return "a command of it has not ended: cyberagent run standard-code recover " + string(h.Run)
	case h.OpenJobs > 0:
		return "a Job of it has not ended"
	case h.Drydocks > 0:
		return "its Drydock is not cleaned: cyberagent drydock cleanup " + string(h.Run)
	case slices.ContainsFunc(h.Owners, lives):
		// It could create a container late, which only its records prove to be ours.
		return "a process that once owned a command of it still lives"
	}
	return ""
}

// Receipt is what is kept when the records go at a time, under an operation key.
func (h History) Receipt(key string, at time.Time) Receipt {
	return Receipt{
		Run: h.Run, Key: key, Admissions: h.Admissions, Records: h.Records, Bytes: h.Bytes,
		Oldest: h.Oldest, Newest: h.Newest, At: at,
	}
}

// Total is what several Runs hold together. Its Run is empty.
func Total(all []History) History {
	var t History
	for _, h := range all {
		t.Admissions, t.Records, t.Bytes = t.Admissions+h.Admissions, t.Records+h.Records, t.Bytes+h.Bytes
		if t.Oldest.IsZero() || h.Oldest.Before(t.Oldest) {
			t.Oldest = h.Oldest
		}
		if h.Newest.After(t.Newest) {
			t.Newest = h.Newest
		}
	}
	return t
}

// Sort orders them by the Run's id, which is by age.
func Sort(all []History) {
	slices.SortFunc(all, func(a, b History) int { return strings.Compare(string(a.Run), string(b.Run)) })
}

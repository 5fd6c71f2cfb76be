package lifecycle

import (
	"time"

	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/manifest"
	"cyberagent/domain/run"
)

// Admission is the immutable record that an approved preparation may run once,
// on one engine, by one process.
type Admission struct {
	ID             id.Admission
	Run            id.Run
	Preparation    id.Preparation
	Approval       id.Approval
	Permission     run.Permission
	ManifestSHA256 string
	CommandSHA256  string
	Authority      manifest.Authority
	ImageID        string // what the engine resolved the digest to
	Stdin          isolation.Stdin
	OperationKey   string
	CreatedAt      time.Time
}

// Entry is one line of the write-ahead log. Detail holds metadata only: ids,
// counts, codes.
type Entry struct {
	Admission  id.Admission
	Sequence   int64 // from 1, without a gap
	Event      Event
	Owner      id.Owner
	Generation int64 // of the lease
	Detail     map[string]string
	At         time.Time
}

// EventsOf returns the kinds of a log's entries.
func EventsOf(log []Entry) []Event {
	out := make([]Event, len(log))
	for i, e := range log {
		out[i] = e.Event
	}
	return out
}

// Boot is a reading of the clock that decides about leases: it runs while the
// machine sleeps, starts anew with each boot, and no one can set it.
type Boot struct {
	ID    string
	Since time.Duration
}

// Lease is one process's claim on an admission. Generation grows with every
// new owner; whoever holds an older one changes nothing any more.
type Lease struct {
	Admission  id.Admission
	Owner      id.Owner
	Generation int64
	BootID     string
	ExpiresAt  time.Duration // since boot
	Released   bool
}

// Live says whether the lease still counts at a reading of the clock. Another
// boot ends every lease.
func (l Lease) Live(now Boot) bool {
	return !l.Released && l.BootID == now.ID && now.Since < l.ExpiresAt
}

// Trusted says until when its owner may act, given when its last successful
// renewal began.
func Trusted(renewalBegan time.Duration) time.Duration {
	return renewalBegan + limits.LeaseTTL - limits.LeaseMargin
}

// Cancellation is an operator's sticky wish that an admission ends.
type Cancellation struct {
	Admission id.Admission
	Reason    string
	By        string
	At        time.Time
}

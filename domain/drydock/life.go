package drydock

import "time"

// next is the life of a Drydock. Ready and delivered follow themselves: a new
// Checkpoint, a second delivery. Recovery required is where every verb that
// changes files passes through, so that one that was cut off is never taken for
// done. Nothing follows cleaned.
var next = map[Status][]Status{
	Preparing:        {Ready, RecoveryRequired, Cleaned},
	Ready:            {Ready, Delivered, RecoveryRequired, Cleaned},
	Delivered:        {Ready, Delivered, RecoveryRequired, Cleaned},
	RecoveryRequired: {Ready, Delivered, RecoveryRequired, Cleaned},
	Cleaned:          {},
}

// Statuses returns every status.
func Statuses() []Status { return []Status{Preparing, Ready, Delivered, RecoveryRequired, Cleaned} }

// CanBecome says whether to may follow s.
func (s Status) CanBecome(to Status) bool {
	for _, n := range next[s] {
		if n == to {
			return true
		}
	}
	return false
}

// Whole says that the recorded Checkpoint is what the files were when the last
// verb ended: there is something to deliver, to fork, or to go on from.
func (d Drydock) Whole() bool { return d.Status == Ready || d.Status == Delivered }

// Expired says that nobody asked for the Drydock to be kept until now.
func (d Drydock) Expired(now time.Time) bool { return !now.Before(d.ExpiresAt) }

// Deliver records that the Checkpoint was handed out: the next generation.
func (d Drydock) Deliver(now time.Time) Drydock {
	d.Generation++
	d.Status, d.Reason, d.UpdatedAt = Delivered, "", now
	return d
}

// Settle records that a verb which changed no recorded file ended: the status
// that was before it, the next generation.
func (d Drydock) Settle(s Status, reason string, now time.Time) Drydock {
	d.Generation++
	d.Status, d.Reason, d.UpdatedAt = s, reason, now
	return d
}

// Clean records that nothing of the Drydock is left but its history.
func (d Drydock) Clean(now time.Time) Drydock {
	d.Generation++
	d.Status, d.Reason, d.UpdatedAt = Cleaned, "", now
	return d
}

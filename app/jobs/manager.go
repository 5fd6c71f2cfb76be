package jobs

import (
	"context"
	"slices"
	"sync"
	"time"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/ports"
)

// Manager owns the Jobs of one Run in this process. It is safe for use by many
// goroutines; Close it when done.
type Manager struct {
	s     *Service
	run   id.Run
	gates admission.Gates
	owner id.Owner

	unlock   func()
	stopBeat context.CancelFunc
	beaten   chan struct{}
	work     sync.WaitGroup

	mu      sync.Mutex
	trusted time.Duration // since boot
	closed  error         // why nothing is launched any more
	jobs    []*live       // in the order of their launches
	byKey   map[string]*live
}

// keptJobs is how many ended Jobs stay in memory beside those that have not.
const keptJobs = 256

// Open makes this process the owner of Jobs of a Run, and makes the Jobs of dead
// owners interrupted. Errors: not_found for an unknown Run, and the ledger's.
func (s *Service) Open(ctx context.Context, rid id.Run, gates admission.Gates) (*Manager, error) {
	m := &Manager{s: s, run: rid, gates: gates, owner: id.Owner(s.IDs.New(id.KindOwner)), byKey: map[string]*live{}, beaten: make(chan struct{})}
	if err := s.Ledger.Read(ctx, func(rec ports.Records) error {
		_, err := rec.Run(rid)
		return err
	}); err != nil {
		return nil, err
	}
	if _, err := s.Reconcile(ctx, ""); err != nil {
		return nil, err
	}
	var err error
	if m.unlock, err = s.Locks.Hold(m.owner); err != nil {
		return nil, err
	}
	boot := s.Clock.Boot()
	if err := s.Ledger.Write(ctx, func(rec ports.Records) error {
		_, err := rec.AddJobOwner(job.Owner{ID: m.owner, Run: rid, StartedAt: s.Clock.Now()}, boot)
		return err
	}); err != nil {
		m.unlock()
		return nil, err
	}
	m.trusted = lifecycle.Trusted(boot.Since)
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stopBeat = stop
	go m.beat(beat)
	return m, nil
}

// Close ends every Job as cancel does, waits for their ends, and gives the claim
// back. ctx ends the waiting; the ends are recorded by recovery then.
func (m *Manager) Close(ctx context.Context) error {
	m.shut(fault.New(fault.Cancelled, "this session is ending").Hint("begin a new one"))
	ended := make(chan struct{})
	go func() {
		m.work.Wait()
		close(ended)
	}()
	var err error
	select {
	case <-ended:
		err = m.s.Ledger.Write(context.WithoutCancel(ctx), func(rec ports.Records) error { return rec.ReleaseJobOwner(m.owner) })
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.stopBeat()
	<-m.beaten
	m.unlock()
	return err
}

// shut refuses launches from now on and cancels what is under way.
func (m *Manager) shut(why error) {
	m.mu.Lock()
	if m.closed == nil {
		m.closed = why
	}
	all := slices.Clone(m.jobs)
	m.mu.Unlock()
	for _, v := range all {
		m.stop(context.Background(), v)
	}
}

// beat renews the claim; without it the Jobs are somebody else's to interrupt, so
// they end.
func (m *Manager) beat(ctx context.Context) {
	defer close(m.beaten)
	tick := time.NewTicker(limits.LeaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := m.s.Clock.Boot()
		err := m.s.Ledger.Write(ctx, func(rec ports.Records) error {
			_, err := rec.RenewJobOwner(m.owner, began)
			return err
		})
		m.mu.Lock()
		if err == nil {
			m.trusted = lifecycle.Trusted(began.Since)
		}
		lost := fault.CodeOf(err) == fault.LeaseLost || m.s.Clock.Boot().Since >= m.trusted
		m.mu.Unlock()
		if lost && ctx.Err() == nil {
			m.shut(fault.New(fault.LeaseLost, "this session lost its claim on its Jobs").Hint("begin a new session"))
			return
		}
	}
}

// find returns a Job that this process owns.
func (m *Manager) find(jid id.Job) *live {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.jobs {
		if v.id() == jid {
			return v
		}
	}
	return nil
}

func (v *live) id() id.Job {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.job.ID
}

// owned returns a Job of this session, or says why it is none.
func (m *Manager) owned(ctx context.Context, jid id.Job) (*live, error) {
	if v := m.find(jid); v != nil {
		return v, nil
	}
	if _, err := m.recorded(ctx, jid); err != nil {
		return nil, err
	}
	return nil, fault.New(fault.NotFound, "%s is not a Job of this session", jid).At("job_id").
		Hint("its output and input went with its owner; list says how it ended")
}

// recorded returns a Job of the Run from the ledger.
func (m *Manager) recorded(ctx context.Context, jid id.Job) (j job.Job, err error) {
	err = m.s.Ledger.Read(ctx, func(rec ports.Records) error {
		if j, err = rec.Job(jid); err == nil && j.Run != m.run {
			err = fault.New(fault.NotFound, "%s is not a Job of this Run", jid)
		}
		return err
	})
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		err = fault.From(err).At("job_id").Hint("list names the Jobs of this Run")
	}
	return j, err
}

// tidy lets the oldest output of ended Jobs go, and the oldest of many ended
// Jobs.
func (m *Manager) tidy() {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ended := int64(0), 0
	var keep []*live
	for _, v := range slices.Backward(m.jobs) {
		v.mu.Lock()
		if v.job.State.Terminal() {
			ended++
			if kept += v.out.Kept(); kept > limits.JobsOutputBytes {
				kept -= v.out.Kept()
				v.out.Forget()
			}
		}
		v.mu.Unlock()
		if ended <= keptJobs || !v.ended() {
			keep = append(keep, v)
			continue
		}
		delete(m.byKey, v.keyName())
	}
	slices.Reverse(keep)
	m.jobs = keep
}

func (v *live) ended() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

func (v *live) keyName() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.job.OperationKey
}

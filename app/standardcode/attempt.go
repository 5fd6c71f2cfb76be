package standardcode

import (
	"context"
	"strconv"
	"sync"
	"time"

	"cyberagent/app/operation"
	"cyberagent/domain/command"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/ports"
)

// attempt is one owner's work on one admission: from the intent to create to
// the recorded end. It acts only while it holds the lease.
type attempt struct {
	s       *Service
	engine  ports.Engine
	adm     lifecycle.Admission
	drydock drydock.Drydock
	command command.Command
	spec    isolation.Spec
	key     operation.Key

	live     Sink
	progress func(string)
	feed     Feed
	kill     <-chan struct{}

	unlock func()
	// renewing guards lease and trusted, which the heartbeat moves on.
	renewing sync.Mutex
	lease    lifecycle.Lease
	trusted  time.Duration

	base      level
	container ports.ContainerID
	stdout    *collector
	stderr    *collector
	started   time.Time
	// hung says that the engine did not answer, or did not end the container, in
	// time.
	hung    bool
	details map[string]string
}

func newAttempt(s *Service, e ports.Engine, adm lifecycle.Admission, d drydock.Drydock, c command.Command, spec isolation.Spec, key operation.Key) *attempt {
	return &attempt{
		s: s, engine: e, adm: adm, drydock: d, command: c, spec: spec, key: key,
		stdout: newCollector(), stderr: newCollector(), details: map[string]string{}, unlock: func() {},
	}
}

func (a *attempt) say(step string) {
	if a.progress != nil {
		a.progress(step)
	}
}

// begin takes the owner's lock and writes, in one transaction, the consumed
// approval, the admission, the lease and create:intent. After it the container
// may exist.
func (a *attempt) begin(ctx context.Context) error {
	owner := id.Owner(a.s.IDs.New(id.KindOwner))
	unlock, err := a.s.Locks.Hold(owner)
	if err != nil {
		return err
	}
	a.unlock = unlock
	boot := a.s.Clock.Boot()
	now := a.s.Clock.Now()
	a.s.hit(Executor, Before(lifecycle.CreateIntent))
	err = a.s.Ledger.Write(ctx, func(rec ports.Records) error {
		if err := unchanged(rec, a.adm.Run, a.adm.Authority); err != nil {
			return err
		}
		open, err := rec.OpenAdmissions(a.adm.Run)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			return notFinished(open[0].ID, "").Hint("wait for it")
		}
		appr, err := rec.Approval(a.adm.Approval)
		if err != nil {
			return err
		}
		used, err := appr.Consume(a.adm.Preparation, a.adm.ID, now)
		if err != nil {
			return err
		}
		if err := rec.AddAdmission(a.adm); err != nil {
			return err
		}
		if err := rec.AddConsumption(used); err != nil {
			return err
		}
		if a.lease, err = rec.TakeLease(a.adm.ID, owner, boot, false); err != nil {
			return err
		}
		if err := a.key.Record(rec, nil, now); err != nil {
			return err
		}
		if err := rec.Append(a.entry(lifecycle.CreateIntent, nil), boot); err != nil {
			return err
		}
		defer a.s.hit(Executor, Within(lifecycle.CreateIntent))
		return rec.AddEvent(event(a.adm.Run, "command.admitted", string(a.adm.ID), now, "engine", string(a.adm.Authority.Engine)))
	})
	if err != nil {
		unlock()
		a.unlock = func() {}
		return err
	}
	a.trusted = lifecycle.Trusted(boot.Since)
	a.s.hit(Executor, After(lifecycle.CreateIntent))
	return nil
}

// release ends this process's claim. What is not finished is now anybody's to
// recover.
func (a *attempt) release() { a.unlock() }

func (a *attempt) entry(e lifecycle.Event, detail map[string]string) lifecycle.Entry {
	return lifecycle.Entry{
		Admission: a.adm.ID, Event: e, Owner: a.lease.Owner, Generation: a.lease.Generation,
		Detail: detail, At: a.s.Clock.Now(),
	}
}

// append writes one line of the log under the lease.
func (a *attempt) append(ctx context.Context, e lifecycle.Event, detail map[string]string) error {
	if err := a.own(); err != nil {
		return err
	}
	a.renewing.Lock()
	entry := a.entry(e, detail)
	a.renewing.Unlock()
	a.s.hit(Executor, Before(e))
	defer a.s.hit(Executor, After(e))
	return a.s.Ledger.Write(ctx, func(rec ports.Records) error {
		return rec.Append(entry, a.s.Clock.Boot())
	})
}

// own says whether this process may still act: its last renewal is recent
// enough that nobody else can have taken the lease.
func (a *attempt) own() error {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	if a.s.Clock.Boot().Since < a.trusted {
		return nil
	}
	return leaseLost(a.adm.ID)
}

func leaseLost(adm id.Admission) error {
	return fault.New(fault.LeaseLost, "this process no longer owns command %s", adm).
		Hint("run `cyberagent run standard-code recover --admission %s`", adm)
}

// beat renews the lease until ctx ends; lost is closed when it cannot.
func (a *attempt) beat(ctx context.Context, lost chan<- struct{}) {
	tick := time.NewTicker(limits.LeaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := a.s.Clock.Boot()
		a.renewing.Lock()
		old := a.lease
		a.renewing.Unlock()
		var next lifecycle.Lease
		err := a.s.Ledger.Write(ctx, func(rec ports.Records) (err error) {
			next, err = rec.RenewLease(old, began)
			return err
		})
		switch {
		case err == nil:
			a.renewing.Lock()
			a.lease, a.trusted = next, lifecycle.Trusted(began.Since)
			a.renewing.Unlock()
		case is(err, fault.LeaseLost), a.own() != nil:
			close(lost)
			return
		}
	}
}

// verdictDetail is how a decision travels in the log, for recovery.
func verdictDetail(v result.Verdict) map[string]string {
	d := map[string]string{"status": string(v.Status), "reason_code": string(v.Reason)}
	if v.ExitCode != nil {
		d["exit_code"] = strconv.Itoa(*v.ExitCode)
	}
	if v.Signal != "" {
		d["signal"] = v.Signal
	}
	return d
}

// verdictOf reads it back; nil when the entry has none.
func verdictOf(d map[string]string) *result.Verdict {
	if d["status"] == "" || d["reason_code"] == "" {
		return nil
	}
	v := &result.Verdict{Status: result.Status(d["status"]), Reason: result.Reason(d["reason_code"]), Signal: d["signal"]}
	if n, err := strconv.Atoi(d["exit_code"]); err == nil {
		v.ExitCode = &n
	}
	return v
}

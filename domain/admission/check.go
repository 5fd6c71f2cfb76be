package admission

import (
	"cyberagent/domain/fault"
)

// Blocker is the stable word for what stands in the way (contract section 4).
type Blocker string

// Remediation is the stable word for what to do.
type Remediation string

// Verdict is one check's answer. Detail is one sentence for a person.
type Verdict struct {
	Check       string
	Allowed     bool
	Reason      fault.Code
	BlockedBy   Blocker
	Remediation Remediation
	Detail      string
	Advice      string // what to do, with the values of this case
	Source      string // who gave the value that is refused, empty where nobody did
}

// Check is one rule. Evaluate returns every refusal of its rule; none means
// allowed or not gathered.
type Check struct {
	ID       string
	Evaluate func(Evidence) []Verdict
}

// Checks returns every check in the contract's order.
func Checks() []Check {
	return []Check{
		gates, engineReachable, engineAPI, enginePlatform, engineHost, engineCapacity,
		imageConfigured, imagePresent, imageProfile, imageProtocol, dependencies,
		runEligible, runProfile, runPermission, drydockReady,
	}
}

// Evaluate runs every check and returns every refusal, in order.
func Evaluate(e Evidence) []Verdict {
	var refused []Verdict
	for _, c := range Checks() {
		for _, v := range c.Evaluate(e) {
			v.Check, v.Source = c.ID, source(v.Remediation, e)
			v.Advice = advise(v.Remediation, e)
			refused = append(refused, v)
		}
	}
	return refused
}

// Error turns refusals into the error that prepare and execute answer: the code
// of the first, all of them in the details. It returns nil for none.
func Error(refused []Verdict) error {
	if len(refused) == 0 {
		return nil
	}
	first := refused[0]
	e := fault.New(first.Reason, "%s", first.Detail).Hint("%s", first.Advice).
		With("blocked_by", string(first.BlockedBy)).With("remediation", string(first.Remediation))
	all := ""
	for i, v := range refused {
		if i > 0 {
			all += "; "
		}
		all += string(v.Reason) + ": " + v.Detail
	}
	if len(refused) > 1 {
		e = e.With("all_blockers", all)
	}
	return e
}

func refuse(reason fault.Code, by Blocker, fix Remediation, detail string) Verdict {
	return Verdict{Reason: reason, BlockedBy: by, Remediation: fix, Detail: detail}
}

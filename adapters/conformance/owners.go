package conformance

import (
	"slices"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

func ownerChecks() []Check {
	return topic("ownership and foreigners",
		Check{Name: "FindOwned finds an installation's containers in every state, and no other's", Holds: "port: FindOwned", run: findOwned},
		Check{Name: "Find finds by the name and by the label, whoever made it", Holds: "port: Find", run: find},
		Check{Name: "labels and name are the contract's, exactly", Holds: "contract: labels", run: labelled},
		Check{Name: "Remove touches nothing that another owns", Holds: "port 6", run: removeForeign},
	)
}

func (c *C) owned(inst id.Installation) []ports.ContainerID {
	found, err := c.engine.FindOwned(c.ctx, inst)
	c.must(err)
	var ids []ports.ContainerID
	for _, k := range found {
		ids = append(ids, k.ID)
	}
	slices.Sort(ids)
	return ids
}

func findOwned(c *C) {
	inst, other := id.Installation(enginetest.NewID(id.KindInstallation)), id.Installation(enginetest.NewID(id.KindInstallation))
	if got := c.owned(inst); len(got) > 0 {
		c.Errorf("before: %v", got)
	}
	fresh := c.order(order{inst: inst}, "exit", "0").create()
	over := c.order(order{inst: inst}, "exit", "0")
	over.run()
	run := c.order(order{inst: inst}, "sleep", "60000").begin().ready()
	theirs := c.order(order{inst: other}, "exit", "0").create()
	want := []ports.ContainerID{fresh.id, over.id, run.id}
	slices.Sort(want)
	if got := c.owned(inst); !slices.Equal(got, want) {
		c.Errorf("%v, want %v", got, want)
	}
	if got := c.owned(other); !slices.Equal(got, []ports.ContainerID{theirs.id}) {
		c.Errorf("%v, want %v", got, theirs.id)
	}
}

func find(c *C) {
	mine := c.job("exit", "0").create()
	theirs := c.order(order{inst: id.Installation(enginetest.NewID(id.KindInstallation))}, "exit", "0").create()
	for _, j := range []*job{mine, theirs} {
		found, err := c.engine.Find(c.ctx, j.owner.Admission)
		c.must(err)
		if len(found) != 1 || found[0].ID != j.id || found[0].Name != j.spec.Name() {
			c.Errorf("%+v, want %s", found, j.id)
		}
	}
	if found, err := c.engine.Find(c.ctx, id.Admission(enginetest.NewID(id.KindAdmission))); err != nil || len(found) > 0 {
		c.Errorf("%+v %v", found, err)
	}
}

func labelled(c *C) {
	j := c.job("exit", "0").create()
	k, err := j.Inspect(c.ctx, j.id)
	c.must(err)
	want := map[string]string{
		"cyberagent.installation": string(j.owner.Installation), "cyberagent.admission": string(j.owner.Admission), "cyberagent.contract": "1",
	}
	if len(k.Labels) != len(want) || k.Name != "standard-code-"+string(j.owner.Admission) {
		c.Errorf("%s %v", k.Name, k.Labels)
	}
	for l, v := range want {
		if k.Labels[l] != v {
			c.Errorf("%s=%q, want %q", l, k.Labels[l], v)
		}
	}
}

func removeForeign(c *C) {
	j := c.job("sleep", "60000").begin().ready()
	for _, owner := range []ports.Ownership{
		{Admission: j.owner.Admission, Installation: id.Installation(enginetest.NewID(id.KindInstallation))},
		{Admission: id.Admission(enginetest.NewID(id.KindAdmission)), Installation: j.owner.Installation},
		{},
	} {
		c.code(c.engine.Remove(c.ctx, j.id, owner), fault.RecoveryRequired)
	}
	k, err := c.keeper.Inspect(c.ctx, j.id)
	c.must(err)
	if k.State != ports.StateRunning || k.Labels[isolation.LabelAdmission] != string(j.owner.Admission) {
		c.Errorf("it was touched: %+v", k)
	}
}

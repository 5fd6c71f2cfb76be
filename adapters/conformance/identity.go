package conformance

import (
	"slices"
	"strings"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

func identityChecks() []Check {
	return topic("identity and image",
		Check{Name: "the engine says what it is and changes nothing", Holds: "port: EngineProbe", run: probed},
		Check{Name: "an image is found by its digest and read exactly", Holds: "port: Images", run: imageRead},
		Check{Name: "an absent image is an answer, and refused at create", Holds: "port: Images", run: imageAbsent},
		Check{Name: "an image is listed by its tags, with its own id, until they are taken away", Holds: "port: ImageStore", run: imageTagged},
		Check{Name: "what an image brings along is not in effect", Holds: "contract: image", Kernel: true, run: imageHostile},
		Check{Name: "what cannot be taken from an image is refused or not in effect", Holds: "contract: image", Kernel: true, run: imageIndelible},
	)
}

func probed(c *C) {
	for range 2 {
		f, err := c.engine.Probe(c.ctx)
		c.must(err)
		if f.Reachability != admission.Reachable || f.Engine != c.engine.Engine() || f.Version == "" || !f.APISupported || f.HostArch == "" {
			c.Errorf("it says of itself %+v", f)
		}
	}
}

func imageRead(c *C) {
	f, err := c.engine.InspectImage(c.ctx, c.image.Digest)
	c.must(err)
	if !f.Present || f.ID == "" || f.OS != "linux" || f.Arch != c.facts.HostArch || !slices.Equal(f.Entrypoint, []string{isolation.RunnerPath}) ||
		len(f.Env)+len(f.Cmd)+len(f.Volumes)+len(f.Ports)+len(f.OnBuild) > 0 || f.Healthcheck ||
		len(f.Labels) != 1 || f.Labels[isolation.LabelProtocol] != runnerproto.Protocol {
		c.Errorf("the suite's image is read as %+v", f)
	}
	again, err := c.engine.InspectImage(c.ctx, f.ID)
	c.must(err)
	if again.ID != f.ID || !again.Present {
		c.Errorf("by its own id %s: %+v", f.ID, again)
	}
}

func imageTagged(c *C) {
	img, untag, err := load(c.ctx, c.keeper, nil) // its id is its own: the tag is in it
	c.must(err)
	defer func() { c.must(untag()) }()
	f, err := c.engine.InspectImage(c.ctx, img.Digest)
	c.must(err)
	repository, _, _ := strings.Cut(img.Tag, ":")
	// listed is what is said of the image's own tag: others may have the same name.
	listed := func() (ids []string) {
		all, err := c.engine.Tagged(c.ctx, repository)
		c.must(err)
		for _, t := range all {
			if strings.HasSuffix(t.Tag, img.Tag) {
				ids = append(ids, t.ID)
			}
		}
		return ids
	}
	if got := listed(); !slices.Equal(got, []string{f.ID}) {
		c.Errorf("the tag %s is listed with %v, its image is %s", img.Tag, got, f.ID)
	}
	if all, err := c.engine.Tagged(c.ctx, "cyberagent.local/nobody"); err != nil || len(all) > 0 {
		c.Errorf("of a name that nobody has: %v %v", all, err)
	}
	c.must(c.engine.Untag(c.ctx, img.Tag))
	if got := listed(); len(got) > 0 {
		c.Errorf("a tag that was taken away is listed with %v", got)
	}
	again, err := c.engine.InspectImage(c.ctx, img.Digest)
	if c.must(err); again.Present {
		c.Errorf("an image without a name stays: %+v", again)
	}
}

func imageAbsent(c *C) {
	none := "sha256:" + strings.Repeat("0", 64)
	for _, digest := range []string{none, c.image.Tag, "", "sha256:x", strings.TrimPrefix(c.image.Digest, "sha256:"), c.image.Digest[:20]} {
		if f, err := c.engine.InspectImage(c.ctx, digest); err != nil || f.Present {
			c.Errorf("the absent image %q is answered with %+v %v", digest, f, err)
		}
	}
	j := c.order(order{imageID: none}, "exit", "0")
	_, _, err := j.Create(c.ctx, j.spec)
	c.code(err, fault.ImageUnavailable)
	j.absent()
}

// absent fails the check when the admission has a container.
func (j *job) absent() {
	found, err := j.c.keeper.Find(j.c.ctx, j.owner.Admission)
	j.c.must(err)
	if len(found) > 0 {
		j.c.Errorf("there is %+v", found)
	}
}

func hostile(config Object) {
	config["Env"] = []string{"LD_PRELOAD=/evil.so", "TOKEN=a=b"}
	config["Cmd"] = []string{"prefix"}
	config["User"] = "root"
	config["WorkingDir"] = "/etc"
	config["StopSignal"] = "SIGUSR1"
	config["OnBuild"] = []string{"RUN true"}
	config["Healthcheck"] = Object{"Test": []string{"CMD", isolation.RunnerPath}, "Interval": 1_000_000}
}

func imageHostile(c *C) {
	img := c.load(hostile)
	f, err := c.engine.InspectImage(c.ctx, img.Digest)
	c.must(err)
	if len(f.Env) < 2 || len(f.OnBuild) != 1 || len(f.Cmd) != 1 || !f.Healthcheck {
		c.Errorf("read as %+v", f)
	}
	o := c.order(order{imageID: f.ID}, "exit", "3").clean().run()
	c.contract(o.report)
	if o.report.ExitCode != 3 {
		c.Errorf("%+v", o.report)
	}
}

func imageIndelible(c *C) {
	img := c.load(func(config Object) {
		config["Volumes"] = Object{"/leak": Object{}}
		config["ExposedPorts"] = Object{"80/tcp": Object{}}
		config["Labels"] = map[string]string{isolation.LabelProtocol: runnerproto.Protocol, "theirs": "yes"}
	})
	f, err := c.engine.InspectImage(c.ctx, img.Digest)
	c.must(err)
	if len(f.Volumes) != 1 || len(f.Ports) != 1 || f.Labels["theirs"] != "yes" {
		c.Errorf("read as %+v", f)
	}
	j := c.order(order{imageID: f.ID}, "exit", "0")
	if _, _, err := j.Create(c.ctx, j.spec); err != nil {
		c.code(err, fault.ImageUnsafe)
		j.absent()
		return
	}
	c.contract(j.clean().run().report)
}

// clean creates and compares what is read back.
func (j *job) clean() *job {
	j.create()
	if d := isolation.Compare(j.spec, j.props); len(d) > 0 {
		j.c.Errorf("read back: %+v", d)
	}
	return j
}

// contract fails the check when the runner measured anything else than the
// contract.
func (c *C) contract(r runnerproto.Report) {
	if d := isolation.Mismatches(r.Facts, isolation.Expected()); len(d) > 0 || r.Outcome == runnerproto.OutcomeRefused {
		c.Errorf("measured: %+v", d)
	}
}

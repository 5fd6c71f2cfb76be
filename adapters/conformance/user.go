package conformance

import (
	"maps"
	"slices"
	"strings"
)

func userChecks() []Check {
	return topic("user and capabilities",
		Check{Name: "the user is 65532 without groups or privileges", Holds: "contract: user, capabilities", Kernel: true, run: noPrivileges},
		Check{Name: "the command is alone and its environment is the toolchain's", Holds: "contract: environment, namespaces", Kernel: true, run: alone},
	)
}

func noPrivileges(c *C) {
	_, p := c.look()
	const none, ids = "0000000000000000", "65532 65532 65532 65532"
	want := map[string]string{
		"Uid": ids, "Gid": ids, "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2",
	}
	got := maps.Clone(p.Status)
	if g := got["Groups"]; g != "" && g != "65532" { // some engines repeat the user's own
		c.Errorf("the groups are %q", g)
	}
	delete(got, "Groups")
	if !maps.Equal(got, want) {
		c.Errorf("%v, want %v", got, want)
	}
	c.measured("user.uids", "user.gids", "user.groups", "capabilities.inheritable", "capabilities.permitted", "capabilities.effective",
		"capabilities.bounding", "capabilities.ambient", "no_new_privileges")
}

func alone(c *C) {
	_, p := c.look()
	if len(p.Pids) != 2 || p.Pids[0] != 1 || p.Workdir != "/workspace" || p.Stdin != "" || p.Descriptors != 3 {
		c.Errorf("pids %v, in %s, stdin %q, %d descriptors", p.Pids, p.Workdir, p.Stdin, p.Descriptors)
	}
	if want := []string{"-x", "--", "$HOME", "a b", ""}; !slices.Equal(p.Args, want) {
		c.Errorf("the arguments are %q", p.Args)
	}
	for _, v := range p.Environment {
		if name, _, _ := strings.Cut(v, "="); name == "HOSTNAME" || name == "TERM" {
			c.Errorf("the environment has the engine's %s", v)
		}
	}
	c.denied("reading the runner's", p.First, "EACCES", "EPERM", "EIO")
	c.measured("process.pid", "environment", "stdin.tty", "namespace.cgroup", "namespace.ipc", "namespace.mnt", "namespace.net", "namespace.pid", "namespace.uts")
}

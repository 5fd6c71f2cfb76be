package conformance

func seccompChecks() []Check {
	return topic("seccomp",
		Check{Name: "calls that reach beyond the container are denied", Holds: "contract: seccomp", Kernel: true, run: callsDenied},
		Check{Name: "the profile is the product's", Holds: "contract: seccomp", Kernel: true, run: profile},
	)
}

func callsDenied(c *C) {
	_, p := c.look()
	if len(p.Calls) != 17 {
		c.Errorf("%d calls were tried", len(p.Calls))
	}
	c.denied("the call", p.Calls, "EPERM")
}

func profile(c *C) {
	c.measured("seccomp.mode", "seccomp.keyctl", "seccomp.io_uring_setup", "seccomp.socket(AF_VSOCK)", "seccomp.socket(AF_ALG)", "seccomp.prlimit64(pid 2)")
}

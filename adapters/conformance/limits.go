package conformance

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"cyberagent/domain/runnerproto"
)

func limitChecks() []Check {
	return topic("limits",
		Check{Name: "memory, processes and processors are limited as the kernel says", Holds: "contract: resources", Kernel: true, run: groupLimits},
		Check{Name: "a command beyond its memory is ended and that is counted", Holds: "contract: resources", Kernel: true, run: memoryEnds},
		Check{Name: "processes beyond 128 are refused and the runner reports", Holds: "contract: resources", Kernel: true, run: pidsRefused},
		Check{Name: "the process limits are the contract's", Holds: "contract: resources", Kernel: true, run: processLimits},
		Check{Name: "a file beyond 16 MiB is refused and named", Holds: "contract: resources", Kernel: true, run: fileSize},
	)
}

func groupLimits(c *C) {
	_, p := c.look()
	quota, _, _ := strings.Cut(p.Groups["quota"], " ")
	if p.Groups["memory"] != "2147483648" || p.Groups["pids"] != "128" || quota != "200000" {
		c.Errorf("%v", p.Groups)
	}
	c.measured("cgroup.memory_bytes", "cgroup.memory_swap_bytes", "cgroup.pids", "cgroup.milli_cpus")
}

func memoryEnds(c *C) {
	o := c.job("memory").run()
	if o.report.Outcome != runnerproto.OutcomeSignaled || o.report.Signal != "SIGKILL" || o.report.Events.OOMKills < 1 {
		c.Errorf("%s %s %d, %+v", o.report.Outcome, o.report.Signal, o.report.ExitCode, o.report.Events)
	}
	if o.exit.Code != 0 || o.exit.Interrupted {
		c.Errorf("the runner did not end by itself: %+v", o.exit)
	}
}

func pidsRefused(c *C) {
	o := c.job("pids").run()
	var n int
	var word string
	if _, err := fmt.Sscan(o.stdout, &n, &word); err != nil || word != "EAGAIN" || n >= 128 || n < 16 {
		c.Errorf("%q %v", o.stdout, err)
	}
	if o.report.Outcome != runnerproto.OutcomeExited || o.report.Events.PidsDenied == 0 {
		c.Errorf("%s, %+v", o.report.Outcome, o.report.Events)
	}
}

func processLimits(c *C) {
	_, p := c.look()
	want := map[string][2]int64{"fsize": {16 << 20, 16 << 20}, "core": {0, 0}, "nofile": {4096, 4096}, "msgqueue": {0, 0}}
	if !maps.Equal(p.Rlimits, want) {
		c.Errorf("%v, want %v", p.Rlimits, want)
	}
	c.measured("rlimit.core", "rlimit.fsize", "rlimit.msgqueue", "rlimit.nofile")
}

func fileSize(c *C) {
	o := c.job("file").run()
	if !o.report.Events.FileSizeHit {
		c.Errorf("%s %d %q: %+v", o.report.Outcome, o.report.ExitCode, o.stdout, o.report.Events)
	}
	if o.stdout != "" && !strings.HasPrefix(o.stdout, strconv.Itoa(16<<20)+" EFBIG") {
		c.Errorf("%q", o.stdout)
	}
}

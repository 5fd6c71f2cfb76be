package cgroup

import (
	"fmt"
	"strconv"
	"strings"
)

// Unlimited is the value of a limit that is not set.
const Unlimited = int64(-1)

// v1Unlimited is where cgroup v1 begins to mean "no limit": the largest multiple
// of the page size, whatever the page's size is.
const v1Unlimited = int64(1) << 62

func (g Group) number(controller, v1, v2 string) (int64, error) {
	s, err := g.read(controller, v1, v2)
	if err != nil {
		return 0, err
	}
	return parseLimit(s)
}

func parseLimit(s string) (int64, error) {
	if s == "max" || s == "-1" {
		return Unlimited, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil && n >= v1Unlimited {
		return Unlimited, nil
	}
	return n, err
}

// Memory is the limit in bytes.
func (g Group) Memory() (int64, error) {
	return g.number("memory", "memory.limit_in_bytes", "memory.max")
}

// MemorySwap is the limit of memory and swap together, in bytes.
func (g Group) MemorySwap() (int64, error) {
	if !g.v2 {
		return g.number("memory", "memory.memsw.limit_in_bytes", "")
	}
	swap, err := g.number("memory", "", "memory.swap.max")
	if err != nil {
		return 0, err
	}
	mem, err := g.Memory()
	if err != nil || swap == Unlimited || mem == Unlimited {
		return Unlimited, err
	}
	return mem + swap, nil
}

// Pids is the limit of tasks.
func (g Group) Pids() (int64, error) { return g.number("pids", "pids.max", "pids.max") }

// MilliCPUs is the bandwidth limit in thousandths of a CPU.
func (g Group) MilliCPUs() (int64, error) {
	if g.v2 {
		s, err := g.read("cpu", "", "cpu.max")
		if err != nil {
			return 0, err
		}
		return parseCPUMax(s)
	}
	quota, err := g.number("cpu", "cpu.cfs_quota_us", "")
	if err != nil {
		return 0, err
	}
	period, err := g.number("cpu", "cpu.cfs_period_us", "")
	if err != nil {
		return 0, err
	}
	return milli(quota, period)
}

func parseCPUMax(s string) (int64, error) {
	f := strings.Fields(s)
	if len(f) != 2 {
		return 0, fmt.Errorf("cgroup: cpu.max %q", s)
	}
	quota, err := parseLimit(f[0])
	if err != nil {
		return 0, err
	}
	period, err := parseLimit(f[1])
	if err != nil {
		return 0, err
	}
	return milli(quota, period)
}

func milli(quota, period int64) (int64, error) {
	switch {
	case quota == Unlimited:
		return Unlimited, nil
	case period <= 0 || quota < 0 || quota > v1Unlimited/1000:
		return 0, fmt.Errorf("cgroup: %d of %d us", quota, period)
	}
	return quota * 1000 / period, nil
}

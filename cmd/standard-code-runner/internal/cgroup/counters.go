package cgroup

import (
	"strconv"
	"strings"
)

// Unknown is the value of a counter that this kernel does not have.
const Unknown = int64(-1)

// Counters are what the kernel counted since the container began.
type Counters struct {
	OOMKills   int64
	PidsDenied int64
	PeakMemory int64 // bytes
	PeakPids   int64 // tasks, the runner's threads among them
}

// Counters reads what there is; the rest is Unknown.
func (g Group) Counters() Counters {
	num := func(controller, v1, v2 string) int64 {
		n, err := g.number(controller, v1, v2)
		if err != nil {
			return Unknown
		}
		return n
	}
	key := func(controller, v1, v2, word string) int64 {
		s, err := g.read(controller, v1, v2)
		if err != nil {
			return Unknown
		}
		return keyed(s, word)
	}
	return Counters{
		OOMKills:   key("memory", "memory.oom_control", "memory.events", "oom_kill"),
		PidsDenied: key("pids", "pids.events", "pids.events", "max"),
		PeakMemory: num("memory", "memory.max_usage_in_bytes", "memory.peak"),
		PeakPids:   num("pids", "pids.peak", "pids.peak"),
	}
}

// keyed reads a flat keyed file: a word and a number a line.
func keyed(text, word string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == word {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n >= 0 {
				return n
			}
		}
	}
	return Unknown
}

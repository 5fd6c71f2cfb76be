package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Writer is one way to grow (the attacker has it under the same name).
type Writer struct{ Name, What string }

// Writers returns those that are measured. What no name shows is the owner's to
// find, and internal/e2e's to test.
func Writers() []Writer {
	return []Writer{
		{"plain", "one thread, files of 1 MiB"},
		{"parallel", "four threads, buffered writes of 1 MiB into files of 15 MiB"},
		{"direct", "the same past the page cache: O_DIRECT"},
		{"mmap", "files of 15 MiB through memory"},
		{"copy-range", "copy_file_range, 1 MiB a call"},
		{"sparse", "files of 15 MiB without a block"},
		{"small", "files of 512 bytes"},
		{"empty", "files without a byte"},
		{"links", "hard links of one file"},
		{"deep", "chains of 60 directories"},
		{"rename-in", "15 MiB prepared without a name, then named at once"},
		{"shut", "files of 1 MiB in directories of mode 000"},
		{"starved-parallel", "parallel, beside 60 spinners that also call for PID 1's priority, class and limits"},
		{"starved-small", "small, beside them"},
		{"starved-links", "links, beside them"},
	}
}

// Overshoot is how far one run came beyond the quota before everything stood
// still.
type Overshoot struct {
	// Bytes is by the quota's measure, the larger of size and what is allocated;
	// Allocated is the disk's part of it alone.
	Bytes, Allocated, Entries int64
	// Time is from the writer's own note that it crossed the quota to the last
	// change of anything in the workspace.
	Time time.Duration
	// Gap is the watcher's longest time between two looks.
	Gap time.Duration
}

// Grown is one writer's runs.
type Grown struct {
	Writer
	Runs []Overshoot
}

// MeasureGrowth lets every writer grow past the quota, runs times each. It fails
// the test when one is not stopped for it.
func MeasureGrowth(t *testing.T, f Factory, runs int) []Grown {
	t.Helper()
	l, err := open(t.Context(), f, f.Open)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := l.close(ctx); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	}()
	all := make([]Grown, 0, len(Writers()))
	for _, w := range Writers() {
		g := Grown{Writer: w}
		t.Run(w.Name, func(t *testing.T) {
			for range runs {
				for _, line := range l.try(t.Context(), func(c *C) { g.Runs = append(g.Runs, c.grow(w.Name)) }) {
					t.Errorf("%s: %s", f.Name, line)
				}
			}
			t.Log(g)
		})
		all = append(all, g)
	}
	return all
}

// grow runs one writer once.
func (c *C) grow(writer string) Overshoot {
	j := c.order(order{toolchain: attacker, timeout: time.Minute}, "grow", writer)
	o := j.run()
	if s := o.report.Stop; s != runnerproto.StopGrowthBytes && s != runnerproto.StopGrowthEntries {
		c.Fatalf("it ended by %s %s %q, not by its growth: %.300q", o.report.Outcome, s, o.report.Detail, o.stderr)
	}
	g := o.report.Growth
	over := Overshoot{Bytes: max(0, g.Bytes-limits.GrowthBytes), Entries: max(0, g.Entries-limits.GrowthEntries), Gap: time.Duration(g.MaxGapMillis) * time.Millisecond}
	over.Allocated = max(0, min(over.Bytes, allocated(j.root)-limits.GrowthBytes))
	var crossed int64
	if i := strings.Index(o.stdout, "crossed "); i >= 0 {
		_, _ = fmt.Sscanf(o.stdout[i:], "crossed %d", &crossed)
	}
	if last := lastChange(j.root); crossed > 0 && last > crossed {
		over.Time = time.Duration(last - crossed)
	}
	return over
}

// lastChange is when anything in a tree changed last, in nanoseconds.
func lastChange(root string) int64 {
	var last int64
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read changed before
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				last = max(last, st.Mtim.Nano())
			}
		}
		return nil
	})
	return last
}

// allocated is the disk space of everything in a tree.
func allocated(root string) int64 {
	var total int64
	seen := map[uint64]bool{}
	_ = filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // access was restored; what is left is nobody's
		}
		if info, err := d.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok && !seen[st.Ino] {
				seen[st.Ino] = true
				total += st.Blocks * 512
			}
		}
		return nil
	})
	return total
}

// of is one number of every run, sorted.
func (g Grown) of(number func(Overshoot) int64) []int64 {
	var all []int64
	for _, r := range g.Runs {
		all = append(all, number(r))
	}
	slices.Sort(all)
	return all
}

// String is one line for the log: each median and worst.
func (g Grown) String() string {
	pair := func(number func(Overshoot) int64, unit float64) string {
		median, worst := g.MedianAndWorst(number)
		return fmt.Sprintf("%.2f, %.2f", float64(median)/unit, float64(worst)/unit)
	}
	return fmt.Sprintf("%s: MiB %s (allocated %s), entries %s, ms %s, gap ms %s", g.Name,
		pair(func(o Overshoot) int64 { return o.Bytes }, float64(limits.MiB)), pair(func(o Overshoot) int64 { return o.Allocated }, float64(limits.MiB)),
		pair(func(o Overshoot) int64 { return o.Entries }, 1), pair(func(o Overshoot) int64 { return o.Time.Microseconds() }, 1000),
		pair(func(o Overshoot) int64 { return o.Gap.Milliseconds() }, 1))
}

// MedianAndWorst is of one number of every run.
func (g Grown) MedianAndWorst(number func(Overshoot) int64) (median, worst int64) {
	all := g.of(number)
	if len(all) == 0 {
		return 0, 0
	}
	return all[len(all)/2], all[len(all)-1]
}

package conformance

import (
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Writer is one way to grow (the attacker has it under the same name).
type Writer struct{ Name, What string }

// Writers returns those that are measured. What no name shows is the whole product's
// to find, and internal/e2e's to measure: UnnamedWriters.
func Writers() []Writer {
	return []Writer{
		{"plain", "one thread, files of 1 MiB"},
		{"parallel", "four threads, buffered writes of 1 MiB into files of 15 MiB"},
		{"direct", "the same past the page cache: O_DIRECT"},
		{"mmap", "files of 15 MiB through memory"},
		{"copy-range", "copy_file_range, 1 MiB a call"},
		{"sparse", "files of 15 MiB without a block"},
		{"small", "four threads, files of 512 bytes"},
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

// UnnamedWriters are the names of those that internal/e2e measures.
func UnnamedWriters() []string {
	return []string{"deleted", "deleted-fast", "deleted-unseen"}
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
	l, done := mustOpen(t, f)
	defer done()
	defer ownDisk(t, l.dir)()
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

// ownDisk mounts an empty filesystem on a directory: what other programs of a busy
// machine write beside the workspace would set off the watcher. The returned
// function takes it away.
func ownDisk(t *testing.T, dir string) func() {
	t.Helper()
	image := dir + ".img"
	do := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
	}
	do("truncate", "-s", "6G", image)
	do("mkfs.ext4", "-q", "-F", "-m", "0", "-i", "4096", "-E", "lazy_itable_init=1,lazy_journal_init=1", image)
	do("mount", "-o", "loop,noinit_itable", image, dir)
	do("chmod", "755", dir)
	return func() {
		do("umount", dir)
		do("rm", image)
	}
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

// pair is the median and the worst of one number of every run, in a unit.
func (g Grown) pair(number func(Overshoot) int64, unit float64, places int) (median, worst string) {
	m, w := g.MedianAndWorst(number)
	return strconv.FormatFloat(float64(m)/unit, 'f', places, 64), strconv.FormatFloat(float64(w)/unit, 'f', places, 64)
}

// cells are the numbers of a row: median and worst in turn.
func (g Grown) cells() []string {
	var all []string
	for _, n := range []struct {
		number func(Overshoot) int64
		unit   float64
		places int
	}{
		{func(o Overshoot) int64 { return o.Allocated }, float64(limits.MiB), 1}, {func(o Overshoot) int64 { return o.Bytes }, float64(limits.MiB), 1},
		{func(o Overshoot) int64 { return o.Entries }, 1, 0}, {func(o Overshoot) int64 { return o.Time.Microseconds() }, 1000, 0},
		{func(o Overshoot) int64 { return o.Gap.Milliseconds() }, 1, 0},
	} {
		m, w := g.pair(n.number, n.unit, n.places)
		all = append(all, m, w)
	}
	return all
}

// String is one line for the log.
func (g Grown) String() string { return g.Name + ": " + strings.Join(g.cells(), " ") }

// GrowthDocument writes docs/growth.md. unnamed are the rows that internal/e2e made.
func GrowthDocument(date, machine string, all []Grown, unnamed string) string {
	var b strings.Builder
	runs := 0
	for _, g := range all {
		runs = max(runs, len(g.Runs))
	}
	fmt.Fprintf(&b, `<!-- Made by "make growth". Do not edit. -->
# How far a fast writer comes

The quota is %d MiB and %d entries of growth. It is watched, not enforced by the kernel, so a fast writer passes it before
everything stands still. This is by how much, %d runs of each writer, made on %s, %s.

- Each run is one command in the fixed container on containerd, on a filesystem of its own, so that other programs of the
  machine do not set off the watcher. The overshoot is what the runner counts when nothing runs any more, less the quota.
- **Allocated** is disk space; **counted** is the quota's measure, the larger of size and allocation of each file. They differ
  for files with holes, which take no room: a writer names gigabytes of those in a millisecond, and the disk has lost nothing.
- **Time** is from the writer's own note that it crossed the quota to the last change in the workspace, 0 where it was stopped
  before it noted; **gap** is the watcher's longest time between two looks at the free space.
- "starved" writers have 60 spinning threads beside them, which also call for PID 1's class, priority and limits and send it
  signals.
- The goal is a worst overshoot of 32 MiB and 1,024 entries, and a median of 4 MiB, of what is allocated. Not met: %s.

What would take gigabytes of the disk by one call, fallocate, is not to be had in the container (docs/attacks.md).
`, limits.GrowthBytes/limits.MiB, limits.GrowthEntries, runs, date, machine, beyond(all))
	header(&b, "writer", "how", "allocated MiB, median", "worst", "counted MiB, median", "worst", "entries, median", "worst", "time ms, median", "worst", "gap ms, median", "worst")
	for _, g := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.Name, g.What, strings.Join(g.cells(), " | "))
	}
	fmt.Fprintf(&b, `
## What no name shows

Files that were deleted and are held open are in no scan. The runner looks for them when more than %d MiB went beyond the visible
growth: it stops everything and adds up the open files without a name. What it may not look into the owner process finds by the
same sign, once it is proven to be the container's. The product runs these on a filesystem of its own, on which the test looks at
the free space every millisecond; what is beyond the limit is the most that was gone less those %d MiB (less than 1 MiB of it is
the ledger's), and the time is from the limit to there. All of it is free again when the container is gone.
`, limits.UnattributedBytes/limits.MiB, limits.UnattributedBytes/limits.MiB)
	header(&b, "writer", "how", "runs", "beyond MiB, median", "worst", "time ms, median", "worst")
	b.WriteString(unnamed)
	return b.String()
}

// beyond names the writers that came further than the goal.
func beyond(all []Grown) string {
	// A directory's own block is not what the goal is about.
	const worst, median, entries = 32*limits.MiB + limits.MiB/20, 4*limits.MiB + limits.MiB/20, 1024
	var names []string
	for _, g := range all {
		m, w := g.MedianAndWorst(func(o Overshoot) int64 { return o.Allocated })
		_, e := g.MedianAndWorst(func(o Overshoot) int64 { return o.Entries })
		if m > median || w > worst || e > entries {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// MedianAndWorst is of one number of every run.
func (g Grown) MedianAndWorst(number func(Overshoot) int64) (median, worst int64) {
	all := g.of(number)
	if len(all) == 0 {
		return 0, 0
	}
	return all[len(all)/2], all[len(all)-1]
}

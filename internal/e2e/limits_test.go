package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// abuse is one way to misbehave, how it must end, and what else must be true.
type abuse struct {
	name    string
	args    []string
	timeout int
	ends    []string // status/reason; more than one where the boundary decides
	exit    int
	check   func(*testing.T, resultView)
}

var abuses = []abuse{
	{"a fork bomb fails at the limit of processes", []string{"forks"}, 120, []string{"failed/pids_limit"}, 5, func(t *testing.T, r resultView) {
		// -1 where the kernel keeps no peak.
		if n := r.Resources.PeakPids; n != -1 && (n < 100 || n > 128) {
			t.Errorf("the peak: %d processes", n)
		}
	}},
	{"a fork bomb that goes on is killed in time", []string{"stubborn_forks"}, 3, []string{"timed_out/timeout"}, 6, nil},
	{
		"a file of 17 MiB in the workspace", []string{"big_file", "/workspace"}, 120,
		// The ceiling of one file is all the growth there is: with a block of the
		// filesystem's own beside it, growth is past its limit too.
		[]string{"failed/file_size", "failed/workspace_growth_bytes"}, 5, growthWithin,
	},
	{
		"a file of 17 MiB in the cache", []string{"big_file", "/standard-code/cache/tmp"}, 120,
		[]string{"failed/file_size"}, 5, func(t *testing.T, r resultView) {
			if r.Details["file_size_path"] != "/standard-code/cache/tmp/big" {
				t.Errorf("the file is not named: %v", r.Details)
			}
		},
	},
	{
		"a file of 17 MiB that the command takes away again", []string{"big_file_removed", "/standard-code/cache/tmp/big.a"}, 120,
		[]string{"failed/exited"}, 5, func(t *testing.T, r resultView) {
			if r.Details["file_size_said"] != "/standard-code/cache/tmp/big.a" || !strings.Contains(r.Remedy, "16 MiB") {
				t.Errorf("the file or its ceiling is not named: %v, %q", r.Details, r.Remedy)
			}
		},
	},
	{"5,000 files", []string{"many_files"}, 120, []string{"failed/workspace_growth_entries"}, 5, func(t *testing.T, r resultView) {
		if heard(r) && (r.Resources.PeakEntries <= 4096 || r.Resources.PeakEntries < r.Resources.GrowthEntries) {
			t.Errorf("the peak: %+v", r.Resources)
		}
	}},
	{"64 files of 1 MiB, one each 20 ms", []string{"sixty_four"}, 120, []string{"failed/workspace_growth_bytes"}, 5, growthWithin},
	{"a gigabyte as fast as it goes", []string{"gigabyte"}, 120, []string{"failed/workspace_growth_bytes"}, 5, growthStopped},
	{"sparse files of 32 MiB", []string{"sparse"}, 120, []string{"failed/workspace_growth_bytes"}, 5, nil},
	{"output without an end", []string{"endless"}, 3, []string{"timed_out/timeout"}, 6, outputBounded},
	{"an ignored TERM", []string{"stubborn"}, 2, []string{"timed_out/timeout"}, 6, nil},
	{
		"a grandchild that holds standard output", []string{"orphan"}, 120, []string{"succeeded/exited"}, 0,
		func(t *testing.T, r resultView) {
			if r.Resources.WallMillis > 60_000 || r.Artifacts[0].SizeBytes != int64(len("the parent is done\n")) {
				t.Errorf("the end did not come with the parent: %+v, %+v", r.Resources, r.Artifacts)
			}
		},
	},
	{"too much memory", []string{"memory"}, 120, []string{"failed/oom_killed"}, 5, memoryPeak},
	{"too much memory of a child", []string{"memory_child"}, 120, []string{"failed/oom_killed"}, 5, memoryPeak},
	{"a full cache", []string{"cache"}, 120, []string{"failed/cache_full"}, 5, func(t *testing.T, r resultView) {
		if r.Resources.PeakCache < 112<<20 || r.Resources.PeakCache > 128<<20 {
			t.Errorf("the cache's peak: %d bytes", r.Resources.PeakCache)
		}
	}},
	{
		"a signal", []string{"killed"}, 120, []string{"failed/signaled"}, 5, func(t *testing.T, r resultView) {
			if r.Signal != "SIGSEGV" || r.ExitCode != nil {
				t.Errorf("signal %q, exit code %v", r.Signal, r.ExitCode)
			}
		},
	},
}

// heard says that the runner's report came. On a busy machine the owner process may
// find growth first, and ends the container with the runner in it.
func heard(r resultView) bool { return len(r.Isolation.Facts) > 0 }

// growthWithin: what a killed command left is near the limit, not what it tried.
func growthWithin(t *testing.T, r resultView) { growthAtMost(t, r, 48<<20) }

// growthStopped: how far a writer comes that takes gigabytes a second depends on when
// the machine lets the watcher look (docs/growth.md measures it), but not to its end.
func growthStopped(t *testing.T, r resultView) { growthAtMost(t, r, 512<<20) }

func growthAtMost(t *testing.T, r resultView, most int64) {
	t.Helper()
	if heard(r) && (r.Resources.PeakBytes < r.Resources.GrowthBytes || r.Resources.PeakBytes < 16<<20) {
		t.Errorf("the peak: %+v", r.Resources)
	}
	if r.Resources.GrowthBytes > most {
		t.Errorf("it grew by %d bytes before it ended", r.Resources.GrowthBytes)
	}
}

// memoryPeak: the kernel's own count of the container came close to the limit.
func memoryPeak(t *testing.T, r resultView) {
	if m := r.Resources.PeakMemory; m < 1900<<20 || m > 2<<30+1<<20 { // the kernel charges some pages ahead
		t.Errorf("the peak: %d bytes of memory", m)
	}
}

func outputBounded(t *testing.T, r resultView) {
	out := r.Artifacts[0]
	if !out.Truncated || out.Lost || out.KeptBytes > 256<<10 || out.SizeBytes <= out.KeptBytes || out.Lines == 0 {
		t.Errorf("the receipt: %+v", out)
	}
}

func TestLimits_MisbehaviourEndsWithItsReasonAndTheNextRunWorks(t *testing.T) {
	t.Parallel()
	for _, a := range abuses {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			h := MustHome(t)
			f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
			checkAbuse(t, f, a)
			f.MustRunOrdinarily(t)
		})
	}
}

// The same table on the other engine, one after the other on one Drydock.
func TestLimits_MisbehaviourEndsTheSameOnContainerd(t *testing.T) {
	t.Parallel()
	h := MustHome(t).containerd(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	for _, a := range abuses {
		t.Run(a.name, func(t *testing.T) { checkAbuse(t, f, a) })
		for _, left := range []string{"f*", "m*", "sparse*", "big"} {
			files, _ := filepath.Glob(filepath.Join(f.path, left))
			for _, file := range files {
				must(t, os.Remove(file))
			}
		}
		MustAnswer[checkpointView](t, f.call(t, "drydock", "checkpoint", f.run), 0)
		f.take(f.MustStatus(t))
	}
	f.MustRunOrdinarily(t)
}

func checkAbuse(t *testing.T, f *flow, a abuse) {
	t.Helper()
	r := f.MustRun(t, python(append([]string{"abuse.py"}, a.args...)...).within(a.timeout), a.exit)
	known := false
	for _, e := range a.ends {
		known = known || e == r.ended()
	}
	if !known {
		t.Errorf("it ended %s, want %s: %v", r.ended(), strings.Join(a.ends, " or "), r.Details)
	}
	if most := int64(a.timeout+60) * 1000; r.Resources.WallMillis > most {
		t.Errorf("it took %d ms, far beyond its timeout", r.Resources.WallMillis)
	}
	if (r.ExitCode != nil) != (r.Reason == "exited") {
		t.Errorf("%s with the exit code %v", r.ended(), r.ExitCode)
	}
	if (r.Remedy != "") != (r.Status != "succeeded") || strings.Contains(r.Remedy, "\n") {
		t.Errorf("%s, and what to do is %q", r.ended(), r.Remedy)
	}
	if u := r.Resources; heard(r) && (u.PeakMemory < 1<<20 || u.PeakPids == 0 || u.PeakCache < 0 || u.PeakBytes < u.GrowthBytes || u.PeakEntries < u.GrowthEntries) {
		t.Errorf("the peaks: %+v", u)
	}
	if r.Checkpoint.GenerationAfter != r.Checkpoint.GenerationBefore+1 || r.Recovery {
		t.Errorf("the Checkpoint: %+v", r.Checkpoint)
	}
	if a.check != nil {
		a.check(t, r)
	}
}

// Room that goes while a command runs, whoever takes it, ends the command.
func TestLimits_TooLittleRoomOnTheHostEnds(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "abuse.py"))
	o := f.MustStart(t, f.MustApprove(t, python("abuse.py", "wait").within(240)))
	filler := filepath.Join(h.dir, "filler")
	must(t, tool("fallocate", "-l", "4G", filler)) // of the home's own 6 GiB
	r := MustAnswer[resultView](t, o.Wait(t), 5)
	must(t, os.Remove(filler))
	if r.ended() != "failed/headroom" || r.Remedy == "" {
		t.Errorf("it ended %s: %q, %v", r.ended(), r.Remedy, r.Details)
	}
	f.take(f.MustStatus(t))
	f.MustRunOrdinarily(t)
}

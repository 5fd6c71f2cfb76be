//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// expect checks how a run ended.
func (r result) expect(t *testing.T, o runnerproto.Outcome, s runnerproto.Stop) {
	t.Helper()
	if r.report.Outcome != o || r.report.Stop != s {
		t.Errorf("outcome %q stop %q (detail %q, exit %d, signal %q), want %q %q",
			r.report.Outcome, r.report.Stop, r.report.Detail, r.report.ExitCode, r.report.Signal, o, s)
	}
	if !r.report.MaskIntact || !r.report.WorkspaceIntact {
		t.Errorf("mask intact %v, workspace intact %v", r.report.MaskIntact, r.report.WorkspaceIntact)
	}
}

func TestTheCommandsExitCodeArrives(t *testing.T) {
	t.Parallel()
	for code, arg := range []string{"0", "1", "2", "3"} {
		if code == 1 || code == 2 {
			continue
		}
		r := run(t, job{args: []string{"exit", arg}})
		r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
		if r.report.ExitCode != code {
			t.Errorf("exit code %d, want %d", r.report.ExitCode, code)
		}
		if d := isolation.Mismatches(r.report.Facts); len(d) != 0 {
			t.Errorf("facts: %v", d)
		}
		t.Logf("usage %+v growth %+v events %+v", r.report.Usage, r.report.Growth, r.report.Events)
	}
}

func TestASignalThatEndsTheCommandIsNamed(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"killself"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopNone)
	if r.report.Signal != "SIGKILL" || r.report.ExitCode != 0 {
		t.Errorf("signal %q code %d", r.report.Signal, r.report.ExitCode)
	}
}

func TestBothStreamsArriveWholeWithTheirReceipts(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"say", "hello", "there"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if string(r.stdout) != "hello there\n" || string(r.stderr) != "err: hello there\n" {
		t.Errorf("%q %q", r.stdout, r.stderr)
	}
}

func TestTheCommandSeesOnlyTheFixedEnvironment(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"env"}, workdir: "pkg/a", prepare: func(t *testing.T, root string) {
		must(t, os.MkdirAll(filepath.Join(root, "pkg/a"), 0o755))
	}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	out := string(r.stdout)
	for _, want := range []string{
		"wd /workspace/pkg/a\n", "args [/standard-code/bin/go env]\n", "oom 1000\n", "nice 10\n",
		"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n",
		"fd 0 /dev/null\nfd 1 pipe\nfd 2 pipe\nenv ", "env GOPROXY=off\n", "env HOME=/standard-code/cache/home\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "HOSTNAME") {
		t.Errorf("the engine's variables reached the command:\n%s", out)
	}
}

func TestAForkBombEndsAtTheTimeLimit(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"forkbomb"}, timeout: 2 * time.Second})
	r.expect(t, r.report.Outcome, runnerproto.StopTimeout)
	if r.report.Events.PidsDenied == 0 {
		t.Errorf("the pids limit was never met: %+v", r.report.Events)
	}
	if r.took > 8*time.Second {
		t.Errorf("took %s", r.took)
	}
	t.Logf("%s %+v %+v", r.took, r.report.Usage, r.report.Events)
}

func TestAFileOverTheCeilingIsNamed(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"bigfile", "17"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if e := r.report.Events; !e.FileSizeHit || e.FileSizePath != "/workspace/big" || r.report.ExitCode != 7 {
		t.Errorf("%+v, exit %d", e, r.report.ExitCode)
	}
}

// roomy is a quota that the case at hand does not meet.
func roomy() runnerproto.Quota {
	return runnerproto.Quota{GrowthBytes: 10 * limits.GiB, GrowthEntries: 1 << 20, HeadroomBytes: 1, HeadroomInodes: 1}
}

func TestTooManyEntriesStopTheCommand(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"files", "links"} {
		r := run(t, job{args: []string{act, "5000"}})
		r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthEntries)
		if r.report.Growth.Entries <= limits.GrowthEntries {
			t.Errorf("%s: %+v", act, r.report.Growth)
		}
		t.Logf("%s: %+v", act, r.report.Growth)
	}
}

func TestTooManyBytesStopTheCommand(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"megafiles", "64"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes)
	if r.report.Growth.Bytes <= limits.GrowthBytes || r.report.Growth.Bytes > 2*limits.GrowthBytes {
		t.Errorf("%+v", r.report.Growth)
	}
	t.Logf("%+v", r.report.Growth)
}

func TestManyBusyProcessesCannotHideGrowth(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"hidewrite", "80"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes)
	if r.report.Growth.Bytes > 4*limits.GrowthBytes {
		t.Errorf("%+v", r.report.Growth)
	}
	t.Logf("%+v", r.report.Growth)
}

func TestGrowthWithinTheQuotaIsAllowed(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"megafiles", "14"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if g := r.report.Growth; g.Bytes < 14*limits.MiB || g.Entries != 14 {
		t.Errorf("%+v", g)
	}
}

func TestEndlessOutputIsDrainedToTheTimeLimit(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"endless"}, timeout: 2 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTimeout)
	s := r.report.Streams[0]
	if s.Bytes <= runnerproto.LiveBytes+runnerproto.TailBytes || s.Forwarded != runnerproto.LiveBytes+runnerproto.TailBytes || int64(len(r.stdout)) != s.Forwarded {
		t.Errorf("%+v, %d arrived", s, len(r.stdout))
	}
	t.Logf("%d MiB", s.Bytes>>20)
}

func TestLongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"lines", "12"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	s := r.report.Streams[0]
	if s.Bytes != 12*limits.MiB+8 || s.Lines != 12*65536+1 || s.Forwarded != int64(len(r.stdout)) {
		t.Errorf("%+v, %d arrived", s, len(r.stdout))
	}
	if !bytes.HasSuffix(r.stdout, []byte("the end\n")) || !bytes.HasPrefix(r.stdout, []byte("0123456789abcde\n")) {
		t.Error("the ends are not there")
	}
}

func TestAnIgnoredTermIsFollowedByKill(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"stubborn"}, timeout: time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTimeout)
	if r.report.Signal != "SIGKILL" || r.report.Usage.WallMillis < 1500 || r.report.Usage.WallMillis > 6000 {
		t.Errorf("%s after %d ms", r.report.Signal, r.report.Usage.WallMillis)
	}
}

func TestAnOrphanThatHoldsStdoutDoesNotOutliveTheCommand(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"orphan", "30"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if r.took > 5*time.Second || !strings.HasPrefix(string(r.stdout), "left ") {
		t.Errorf("%s, %q", r.took, r.stdout)
	}
}

func TestADeletedOpenFileIsNoVisibleGrowth(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"deleted", "15"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if r.report.Growth.Bytes > 0 || r.report.Growth.Scans < 2 {
		t.Errorf("%+v", r.report.Growth)
	}
}

func TestTheCommandCannotForgeFramesOrTheReport(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"forge"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if r.report.ExitCode != 4 || strings.Contains(string(r.stdout), "opened") || !strings.Contains(string(r.stdout), "wrong") {
		t.Errorf("exit %d, %q", r.report.ExitCode, r.stdout)
	}
}

func TestTheCommandCannotReachTheRunner(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"peek"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if string(r.stdout) != "done\n" {
		t.Errorf("%q", r.stdout)
	}
}

func TestNoSignalButTermTouchesTheRunner(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"signal", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "27", "29", "31", "34", "64"},
		{"sigqueue"},
	} {
		r := run(t, job{args: args})
		r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
		if string(r.stdout) != "alive\n" {
			t.Errorf("%s: %q", args[0], r.stdout)
		}
	}
}

func TestATermStopsTheCommandAndSaysSo(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"signal", "15"}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTerm)
}

func TestAStdinPipeEndsWithTheHosts(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"cat"}, stdin: strings.NewReader(strings.Repeat("line\n", 20_000))})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if len(r.stdout) != 100_000 {
		t.Errorf("%d bytes came back", len(r.stdout))
	}
}

// held is an input that stays open for a while.
type held time.Duration

func (h held) Read([]byte) (int, error) {
	time.Sleep(time.Duration(h))
	return 0, io.EOF
}

func TestACommandThatNeverReadsItsStdinEnds(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"exit", "0"}, stdin: held(20 * time.Second)})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if r.took > 5*time.Second {
		t.Errorf("%s", r.took)
	}
}

func TestWhatCannotBeCountedStopsTheCommand(t *testing.T) {
	t.Parallel()
	shut := func(t *testing.T, root string) { must(t, os.Mkdir(filepath.Join(root, "roots"), 0o700)) }
	r := run(t, job{args: []string{"sleep", "5"}, during: func(t *testing.T, root, _ string) {
		time.Sleep(500 * time.Millisecond)
		shut(t, root) // of another user, and without access: no command can make one
	}})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopAccounting)
	r = run(t, job{args: []string{"say", "x"}, owned: shut})
	r.expect(t, runnerproto.OutcomeNotStarted, runnerproto.StopAccounting)
	if !strings.Contains(r.report.Detail, "open roots: permission denied") {
		t.Errorf("%q", r.report.Detail)
	}
}

func TestAHostThatStopsReadingHoldsUpTheCommandOnly(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"hidewrite", "1", "loud"}, pause: 2 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopGrowthBytes)
}

func TestOtherIsolationStartsNothing(t *testing.T) {
	t.Parallel()
	host := func(o object) object { return o["HostConfig"].(object) }
	for name, c := range map[string]struct {
		alter func(object)
		want  []string
	}{
		"a capability kept": {func(o object) { host(o)["CapAdd"] = []string{"NET_RAW"} }, []string{"capabilities.bounding"}},
		"no memory limit": {func(o object) { delete(host(o), "Memory"); delete(host(o), "MemorySwap") },
			[]string{"cgroup.memory_bytes", "cgroup.memory_swap_bytes"}},
		"the engine's seccomp profile": {func(o object) { host(o)["SecurityOpt"] = []string{"no-new-privileges:true"} }, []string{"seccomp.prlimit64(pid 2)"}},
		"a writable root":              {func(o object) { host(o)["ReadonlyRootfs"] = false }, []string{"mounts.writable", "root"}},
		"a variable of the operator's": {func(o object) { o["Env"] = []string{"TOKEN=x"} }, []string{"environment"}},
		"another mount": {func(o object) {
			host(o)["Tmpfs"].(map[string]string)["/proc/fs"] = "rw"
			host(o)["Tmpfs"].(map[string]string)["/workspace/more"] = "rw"
		}, []string{"mounts.unknown", "mounts.writable"}},
		"a larger file limit": {func(o object) { host(o)["Ulimits"] = []object{{"Name": "core", "Soft": 0, "Hard": 0}} },
			[]string{"rlimit.fsize", "rlimit.msgqueue", "rlimit.nofile"}},
	} {
		t.Run(name, func(t *testing.T) {
			marker := "ran"
			r := run(t, job{args: []string{"files", marker}, alter: c.alter})
			if r.report.Outcome != runnerproto.OutcomeRefused || len(r.stdout) != 0 {
				t.Fatalf("%q %q", r.report.Outcome, r.stdout)
			}
			var got []string
			for _, d := range r.report.Mismatches {
				got = append(got, d.Property)
			}
			for _, w := range c.want {
				if !strings.Contains(strings.Join(got, " ")+" ", w+" ") {
					t.Errorf("mismatches %v, want %q among them", r.report.Mismatches, w)
				}
			}
		})
	}
}

func TestAPrivateCgroupNamespaceIsMeasuredToo(t *testing.T) {
	t.Parallel()
	private := func(o object) { o["HostConfig"].(object)["CgroupnsMode"] = "private" }
	r := run(t, job{args: []string{"exit", "0"}, alter: private, host: func(h *isolation.Host) { h.PrivateCgroup = true }})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r = run(t, job{args: []string{"exit", "0"}, host: func(h *isolation.Host) { h.PrivateCgroup = true }})
	if r.report.Outcome != runnerproto.OutcomeRefused || len(r.report.Mismatches) != 1 || r.report.Mismatches[0].Property != "namespace.cgroup" {
		t.Errorf("%q %v", r.report.Outcome, r.report.Mismatches)
	}
}

func TestAnotherWorkspaceThanRecordedStartsNothing(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"say", "x"}, host: func(h *isolation.Host) { h.Workspace.Inode++; h.Mask.Dev++ }})
	if r.report.Outcome != runnerproto.OutcomeRefused || len(r.report.Mismatches) != 2 {
		t.Errorf("%q %v", r.report.Outcome, r.report.Mismatches)
	}
}

func TestAWorkingDirectoryOutsideIsNotEntered(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"link", "link/tmp", "missing", "file", ".git"} {
		r := run(t, job{args: []string{"say", "x"}, workdir: dir, prepare: func(t *testing.T, root string) {
			must(t, os.Symlink("/standard-code", filepath.Join(root, "link")))
			must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o644))
		}})
		r.expect(t, runnerproto.OutcomeNotStarted, runnerproto.StopNone)
		if !strings.Contains(r.report.Detail, "working directory") || len(r.stdout) != 0 {
			t.Errorf("%s: %q", dir, r.report.Detail)
		}
	}
}

func TestTooLittleHeadroomStartsNothing(t *testing.T) {
	t.Parallel()
	q := roomy()
	q.HeadroomBytes = 1 << 52
	r := run(t, job{args: []string{"say", "x"}, quota: q})
	r.expect(t, runnerproto.OutcomeNotStarted, runnerproto.StopHeadroom)
}

func TestAMissingToolIsAStartFailure(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"x"}, toolchain: "rust"})
	r.expect(t, runnerproto.OutcomeStartFailed, runnerproto.StopNone)
	if !strings.Contains(r.report.Detail, "/standard-code/bin/cargo: no such file") {
		t.Errorf("%q", r.report.Detail)
	}
}

func TestAccessIsRestoredAtTheEnd(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"mode000"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	for path, want := range map[string]os.FileMode{".": 0o700 | os.ModeDir, "shut": 0o700 | os.ModeDir, "shut/inner": 0o700 | os.ModeDir, "shut/inner/file": 0o600} {
		info, err := os.Lstat(filepath.Join(r.root, path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: %v %v, want %v", path, info.Mode(), err, want)
		}
	}
	if g := r.report.Growth; g.Entries != 3 {
		t.Errorf("%+v", g)
	}
}

func TestRepairModeRestoresAccessAndStartsNothing(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"files", "1"}, mode: runnerproto.ModeRepair, prepare: func(t *testing.T, root string) {
		must(t, os.Mkdir(filepath.Join(root, "shut"), 0o755))
		must(t, os.WriteFile(filepath.Join(root, "shut", "f"), nil, 0))
		must(t, os.Chmod(filepath.Join(root, "shut"), 0))
	}})
	r.expect(t, runnerproto.OutcomeRepaired, runnerproto.StopNone)
	if info, err := os.Lstat(filepath.Join(r.root, "shut/f")); err != nil || info.Mode() != 0o600 || len(r.report.Unreadable) != 0 {
		t.Errorf("%v %v %v", info, err, r.report.Unreadable)
	}
	if _, err := os.Lstat(filepath.Join(r.root, "f00000")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something ran: %v", err)
	}
}

func TestDeepTreesAreCounted(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"deep", "60"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if g := r.report.Growth; g.Entries != 61 {
		t.Errorf("%+v", g)
	}
}

func TestAFullCacheIsSeen(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"fillcache"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if !r.report.Events.CacheFull || r.report.Usage.CachePeakBytes != limits.CacheBytes || r.report.ExitCode != 6 {
		t.Errorf("%+v %+v", r.report.Events, r.report.Usage)
	}
}

func TestMemoryIsTakenFromTheCommandNotFromTheRunner(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"memory"}, alter: func(object) {}, within: 40 * time.Second, timeout: 30 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopNone)
	if r.report.Signal != "SIGKILL" || r.report.Events.OOMKills < 1 {
		t.Errorf("%q %+v", r.report.Signal, r.report.Events)
	}
}

func TestTheCacheIsExecutable(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"exec"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if string(r.stdout) != "hello\n" {
		t.Errorf("%q %q", r.stdout, r.stderr)
	}
}

func TestAMaskThatVanishesIsReported(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"sleep", "1"}, during: func(t *testing.T, root, _ string) {
		time.Sleep(300 * time.Millisecond)
		other := filepath.Join(root, "other")
		must(t, os.WriteFile(other, []byte("gitdir: /elsewhere\n"), 0o644))
		must(t, os.Rename(other, filepath.Join(root, ".git")))
	}})
	if r.report.Outcome != runnerproto.OutcomeExited || r.report.MaskIntact || !r.report.WorkspaceIntact {
		t.Errorf("%+v", r.report)
	}
}

func TestAnotherProtocolIsRefusedWithoutAReport(t *testing.T) {
	t.Parallel()
	r, report := raw(t, job{args: []string{"say", "x"}, alter: func(o object) { o["Cmd"] = []string{runnerproto.ProtocolV1, "{}"} }})
	if r.code != 1 {
		t.Errorf("exit %d", r.code)
	}
	if _, err := runnerproto.DecodeReport(report, admission, manifest); err == nil {
		t.Error("that was taken for a report")
	}
}

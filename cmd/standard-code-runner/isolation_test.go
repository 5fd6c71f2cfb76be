//go:build linux

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

func TestOtherIsolationStartsNothing(t *testing.T) {
	t.Parallel()
	host := func(o object) object { return o["HostConfig"].(object) }
	// Several faults in one container: every one must be named.
	for name, c := range map[string]struct {
		alter func(object)
		want  []string
	}{
		"a capability, a variable and no limits": {func(o object) {
			host(o)["CapAdd"] = []string{"NET_RAW"}
			o["Env"] = []string{"TOKEN=x"}
			delete(host(o), "Memory")
			delete(host(o), "MemorySwap")
			host(o)["Ulimits"] = []object{{"Name": "core", "Soft": 0, "Hard": 0}}
		}, []string{
			"capabilities.bounding", "environment", "cgroup.memory_bytes", "cgroup.memory_swap_bytes",
			"rlimit.fsize", "rlimit.msgqueue", "rlimit.nofile",
		}},
		"the engine's seccomp profile, a writable root and other mounts": {func(o object) {
			host(o)["SecurityOpt"] = []string{"no-new-privileges:true"}
			host(o)["ReadonlyRootfs"] = false
			host(o)["Tmpfs"].(map[string]string)["/workspace/more"] = "rw"
		}, []string{"seccomp.prlimit64(pid 2)", "mounts.writable", "mounts.unknown", "root"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, job{args: []string{"megafiles", "1"}, alter: c.alter})
			if _, err := os.Lstat(filepath.Join(r.root, "m000")); r.report.Outcome != runnerproto.OutcomeRefused || !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("%q, and %v", r.report.Outcome, err)
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

// The larger files of an oven are for an oven: a command that has them is refused, and so
// is an oven that lacks them, for what it makes would be in parts.
func TestAFileIsAsLargeAsTheContainersUseSays(t *testing.T) {
	t.Parallel()
	larger := func(o object) {
		for _, u := range o["HostConfig"].(object)["Ulimits"].([]object) {
			if u["Name"] == "fsize" {
				u["Soft"], u["Hard"] = limits.ProjectFileBytes, limits.ProjectFileBytes
			}
		}
	}
	refused := func(r result) {
		t.Helper()
		if r.report.Outcome != runnerproto.OutcomeRefused || len(r.report.Mismatches) != 1 || r.report.Mismatches[0].Property != "rlimit.fsize" {
			t.Errorf("%q %v", r.report.Outcome, r.report.Mismatches)
		}
	}
	refused(run(t, job{args: []string{"bigfile"}, alter: larger}))
	refused(run(t, job{args: []string{"bigfile"}, mode: runnerproto.ModeBake}))
	r := run(t, job{args: []string{"exit", "0"}, mode: runnerproto.ModeBake, alter: larger})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
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
	for _, dir := range []string{"link/bin", "missing"} {
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

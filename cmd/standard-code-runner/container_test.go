//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
	r := run(t, job{args: []string{"exit", "3"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if r.report.ExitCode != 3 {
		t.Errorf("exit code %d, want 3", r.report.ExitCode)
	}
	if d := isolation.Mismatches(r.report.Facts, isolation.Expected()); len(d) != 0 {
		t.Errorf("facts: %v", d)
	}
	t.Logf("usage %+v growth %+v events %+v", r.report.Usage, r.report.Growth, r.report.Events)
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

func TestEndlessOutputIsDrainedToTheTimeLimit(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"endless"}, timeout: 3 * time.Second})
	r.expect(t, runnerproto.OutcomeSignaled, runnerproto.StopTimeout)
	s := r.report.Streams[0]
	// How much comes in that time is the machine's business; on a very busy one it is
	// less than what is passed on.
	if s.Bytes < limits.MiB || s.Forwarded != min(s.Bytes, runnerproto.LiveBytes+runnerproto.TailBytes) || int64(len(r.stdout)) != s.Forwarded {
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

func TestAStdinPipeEndsWithTheHosts(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"cat"}, stdin: strings.NewReader(strings.Repeat("line\n", 20_000))})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	r.whole(t)
	if len(r.stdout) != 100_000 {
		t.Errorf("%d bytes came back", len(r.stdout))
	}
}

// held is an input that stays open until the test is over.
type held chan struct{}

func (h held) Read([]byte) (int, error) {
	<-h
	return 0, io.EOF
}

func TestACommandThatNeverReadsItsStdinEnds(t *testing.T) {
	t.Parallel()
	open := make(held)
	t.Cleanup(func() { close(open) })
	r := run(t, job{args: []string{"exit", "0"}, stdin: open})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
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

func TestTheCacheIsExecutable(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"exec"}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	if string(r.stdout) != "hello\n" {
		t.Errorf("%q %q", r.stdout, r.stderr)
	}
}

// acl lets the container's user and an operator in: users 65532 and 1001 rwx.
func acl() []byte {
	const none = ^uint32(0)
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 7, none}, {2, 7, 1001}, {2, 7, limits.UID}, {4, 5, none}, {16, 7, none}, {32, 0, none}} {
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	return b
}

func TestAnOperatorKeepsWritingWhatTheCommandMade(t *testing.T) {
	t.Parallel()
	r := run(t, job{args: []string{"megafiles", "1"}, owned: func(t *testing.T, root string) {
		must(t, os.Chown(root, 1001, 1001))
		for _, name := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
			must(t, syscall.Setxattr(root, name, acl(), 0))
		}
	}})
	r.expect(t, runnerproto.OutcomeExited, runnerproto.StopNone)
	// The group's bits are the ACL's mask: the tool's own mode 0644 had cut it.
	info, err := os.Lstat(filepath.Join(r.root, "m000"))
	if err != nil || info.Mode().Perm()&0o060 != 0o060 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// onBothEngines runs a test with a home on each engine, one after the other.
func onBothEngines(t *testing.T, test func(*testing.T, *home)) {
	t.Run("docker", func(t *testing.T) { test(t, MustHome(t)) })
	t.Run("containerd", func(t *testing.T) { test(t, MustHome(t).containerd(t)) })
}

func TestRuntime_AJobWithAPipeIsDrivenToItsEnd(t *testing.T) {
	t.Parallel()
	onBothEngines(t, aJobWithAPipeIsDrivenToItsEnd)
}

func aJobWithAPipeIsDrivenToItsEnd(t *testing.T, h *home) {
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	j := s.MustStart(t, piped(nil, "job.py", "echo"))
	if j.State != "running" || !j.Owned || j.Run != f.run {
		t.Errorf("started: %+v", j)
	}
	write := members{"job_id": j.ID, "operation_key": "w1", "data": "one\n"}
	w := s.MustOK(t, "write_stdin", write)
	if w.Stdin.Sequence != 1 || w.Stdin.From != 0 || w.Stdin.To != 4 || w.Replayed {
		t.Errorf("written: %+v", w.Stdin)
	}
	// The same key writes nothing again; other bytes under it are a conflict.
	if again := s.MustOK(t, "write_stdin", write); !again.Replayed || !reflect.DeepEqual(again.Stdin, w.Stdin) {
		t.Errorf("repeated: %+v", again)
	}
	write["data"] = "two\n"
	if l := s.Ask(t, "write_stdin", write); l.Error == nil || l.Error.Code != "operation_conflict" {
		t.Errorf("another write of the key: %+v", l)
	}
	// Output comes while the command runs, and read waits for it.
	p := s.MustOK(t, "read", members{"job_id": j.ID, "cursor": 0, "wait_ms": 60000})
	if p.Output.text() != "heard one\n" || p.Output.Frames[0].Stream != "stdout" || p.Job.State != "running" {
		t.Errorf("read: %+v", p.Output)
	}
	rid, followed := s.Send(t, "read", members{"job_id": j.ID, "cursor": p.Output.Next, "follow": true})
	s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": "w2", "data_base64": base64.StdEncoding.EncodeToString([]byte("h\u00e9llo\n")), "close": true})
	if l := s.Ask(t, "write_stdin", members{"job_id": j.ID, "operation_key": "w3", "data": "late"}); l.Error == nil || l.Error.Code != "operation_conflict" {
		t.Errorf("a write after the end: %+v", l)
	}
	end := s.MustEnd(t, j.ID, "succeeded", "exited")
	if *end.Result.ExitCode != 0 || end.Result.Checkpoint.Changed.Added != 1 || end.Stdin.Accepted != 11 || end.Stdin.Written != 11 || !end.Stdin.Closed {
		t.Errorf("the end: %+v %+v", end.Result, end.Stdin)
	}
	last := s.MustGet(t, rid, followed)
	s.mu.Lock()
	var all []outputFrame
	for _, e := range s.events[rid] {
		all = append(all, e.Output.Frames...)
	}
	s.mu.Unlock()
	if textOf(all, "stdout") != "heard h\u00e9llo\n" || textOf(all, "stderr") != "over\n" || last.Job.State != "succeeded" {
		t.Errorf("followed: %+v, %+v", all, last)
	}
	// The log says: intent before the engine was asked, done after.
	var log []string
	for _, e := range f.MustExecutions(t)[0].Log {
		log = append(log, e.Event)
	}
	if want := "create:intent create:done start:intent start:done attach_stdin:intent attach_stdin:done exit:done remove:intent remove:done finalize:done"; strings.Join(log, " ") != want {
		t.Errorf("the log: %v", log)
	}
	if a := s.End(t); a.code != 0 || len(a.stderr) != 0 {
		t.Errorf("the session ended with %d: %s", a.code, a.stderr)
	}
	f.MustFollow(t, *end.Result)
}

func TestRuntime_FiftyOfFiftySeeTheirEOF(t *testing.T) {
	t.Parallel()
	onBothEngines(t, fiftyOfFiftySeeTheirEOF)
}

func fiftyOfFiftySeeTheirEOF(t *testing.T, h *home) {
	source := h.MustScripts(t, "job.py")
	var wg sync.WaitGroup
	for range 5 {
		f := h.MustFlow(t, source)
		wg.Go(func() {
			s := f.MustSupervise(t)
			for range 10 {
				c := piped(members{"close_stdin": true}, "-c", `import sys; n=len(sys.stdin.read()); print("end after", n)`)
				j := s.MustStart(t, c)
				s.MustEnd(t, j.ID, "succeeded", "exited")
				if frames, _ := s.MustReadAll(t, j.ID); textOf(frames, "stdout") != "end after 0\n" {
					t.Errorf("%+v", frames)
				}
			}
			s.End(t)
		})
	}
	wg.Wait()
}

func TestRuntime_InputIsBoundedWhoeverReadsIt(t *testing.T) {
	t.Parallel()
	onBothEngines(t, inputIsBoundedWhoeverReadsIt)
}

func inputIsBoundedWhoeverReadsIt(t *testing.T, h *home) {
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	piece := strings.Repeat("x", 64<<10)
	offer := func(jid string, n int) (accepted int, refusals []string) {
		for i := range n {
			l := s.Ask(t, "write_stdin", members{"job_id": jid, "operation_key": fmt.Sprintf("w%d", i), "data": piece})
			if l.Status == "ok" {
				accepted += len(piece)
			} else {
				refusals = append(refusals, l.Error.Code)
			}
		}
		return accepted, refusals
	}

	t.Run("a program that counts gets one MiB exactly", func(t *testing.T) {
		j := s.MustStart(t, piped(nil, "-c", `import sys; print(len(sys.stdin.buffer.read()))`))
		if n, refused := offer(j.ID, 16); n != 1<<20 || len(refused) != 0 {
			t.Errorf("%d accepted, %v", n, refused)
		}
		s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": "end", "close": true})
		s.MustEnd(t, j.ID, "succeeded", "exited")
		if frames, _ := s.MustReadAll(t, j.ID); textOf(frames, "stdout") != strconv.Itoa(1<<20)+"\n" {
			t.Errorf("%+v", frames)
		}
	})
	t.Run("four MiB to a program that never reads hang nothing", func(t *testing.T) {
		j := s.MustStart(t, piped(nil, "-c", `import time; print("here", flush=True); time.sleep(600)`))
		n, refused := offer(j.ID, 64)
		if n != 1<<20 || len(refused) != 48 || !slices.Contains(refused, "limit_reached") {
			t.Errorf("%d accepted, %d refused", n, len(refused))
		}
		l := s.MustOK(t, "read", members{"job_id": j.ID, "wait_ms": 60000})
		if l.Output.text() != "here\n" || l.Job.Stdin.Accepted != 1<<20 || l.Job.Stdin.Written >= 1<<20 {
			t.Errorf("%+v %+v", l.Output, l.Job.Stdin)
		}
		s.MustOK(t, "cancel", members{"job_id": j.ID})
		s.MustEnd(t, j.ID, "cancelled", "cancelled")
	})
	t.Run("input that nobody wanted is no failure", func(t *testing.T) {
		j := s.MustStart(t, piped(members{"stdin": piece, "close_stdin": true}, "-c", `print("never mind")`))
		s.MustEnd(t, j.ID, "succeeded", "exited")
	})
	s.End(t)
	f.MustHaveNoContainer(t)
}

func TestRuntime_WritesOfEightClientsArriveWholeAndInTheOrderOfAcceptance(t *testing.T) {
	t.Parallel()
	onBothEngines(t, writesOfEightClientsArriveWholeAndInTheOrderOfAcceptance)
}

func writesOfEightClientsArriveWholeAndInTheOrderOfAcceptance(t *testing.T, h *home) {
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	j := s.MustStart(t, piped(nil, "-c", `import sys; sys.stdout.write(sys.stdin.read())`))
	const clients, writes = 8, 25
	accepted := make([]string, clients*writes)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for n := range writes {
				data := strings.Repeat(string(rune('a'+c)), 1+(n*37)%500) + "\n"
				l := s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": fmt.Sprintf("c%d-%d", c, n), "data": data})
				mu.Lock()
				accepted[l.Stdin.Sequence-1] = data
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": "end", "close": true})
	s.MustEnd(t, j.ID, "succeeded", "exited")
	if frames, _ := s.MustReadAll(t, j.ID); textOf(frames, "stdout") != strings.Join(accepted, "") {
		t.Error("the command read something else than what was accepted")
	}
	s.End(t)
}

func TestRuntime_EachStopEndsItsJobInTheOrdinaryWay(t *testing.T) {
	t.Parallel()
	onBothEngines(t, eachStopEndsItsJobInTheOrdinaryWay)
}

func eachStopEndsItsJobInTheOrdinaryWay(t *testing.T, h *home) {
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	begin := func(t *testing.T, timeout int) jobView {
		j := s.MustStart(t, piped(members{"timeout_seconds": timeout}, "job.py", "stubborn"))
		if l := s.MustOK(t, "read", members{"job_id": j.ID, "wait_ms": 60000}); l.Output.text() != "ready\n" {
			t.Fatalf("%+v", l.Output)
		}
		return j
	}
	ended := func(t *testing.T, j jobView, state, reason string) {
		t.Helper()
		end := s.MustEnd(t, j.ID, state, reason)
		if end.Result.Checkpoint.AfterID == end.Result.Checkpoint.BeforeID || end.Result.Recovery {
			t.Errorf("no Checkpoint of what it wrote: %+v", end.Result.Checkpoint)
		}
		f.MustHaveNoContainer(t)
	}
	t.Run("cancel", func(t *testing.T) {
		j := begin(t, 600)
		for range 2 {
			if l := s.MustOK(t, "cancel", members{"job_id": j.ID}); l.Job.State != "stopping" && l.Job.State != "cancelled" {
				t.Errorf("%+v", l.Job)
			}
		}
		ended(t, j, "cancelled", "cancelled")
	})
	t.Run("kill", func(t *testing.T) {
		j := begin(t, 600)
		s.MustOK(t, "kill", members{"job_id": j.ID})
		ended(t, j, "cancelled", "cancelled")
	})
	t.Run("timeout", func(t *testing.T) { ended(t, begin(t, 10), "timed_out", "timeout") })
	t.Run("the permission is taken away", func(t *testing.T) {
		j := begin(t, 600)
		MustAnswer[runView](t, f.call(t, "run", "permission", f.run, "read_only"), 0)
		ended(t, j, "failed", "authority_drift")
		MustAnswer[runView](t, f.call(t, "run", "permission", f.run, "workspace_access"), 0)
	})
	t.Run("the operator cancels the execution", func(t *testing.T) {
		j := begin(t, 600)
		MustAnswer[resultView](t, f.call(t, "run", "standard-code", "cancel", "--admission", j.Execution), 0)
		ended(t, j, "cancelled", "cancelled")
	})
	t.Run("the session ends", func(t *testing.T) {
		j := begin(t, 600)
		if a := s.End(t); a.code != 0 {
			t.Errorf("%d: %s", a.code, a.stderr)
		}
		f.MustHaveNoContainer(t)
		x := f.MustExecutions(t)[0]
		if x.ID != j.Execution || x.Result == nil || x.Result.ended() != "cancelled/cancelled" {
			t.Errorf("%+v", x.Result)
		}
	})
	t.Run("a signal ends the next session", func(t *testing.T) {
		s = f.MustSupervise(t)
		j := begin(t, 600)
		s.Signal(t, syscall.SIGTERM)
		if a := s.Wait(t); a.code != 7 {
			t.Errorf("%d: %s", a.code, a.stderr)
		}
		f.MustHaveNoContainer(t)
		s = f.MustSupervise(t)
		if l := s.MustOK(t, "list", nil); (*l.Jobs)[0].ID != j.ID || (*l.Jobs)[0].State != "cancelled" || (*l.Jobs)[0].Owned {
			t.Errorf("%+v", (*l.Jobs)[0])
		}
		if l := s.Ask(t, "read", members{"job_id": j.ID}); l.Error == nil || l.Error.Code != "not_found" {
			t.Errorf("output of another owner's Job: %+v", l)
		}
		s.End(t)
	})
}

func TestRuntime_RunGoesOnFromWhereItsApprovalWasMissing(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	command := func(code string) members {
		return members{"toolchain": "python", "arguments": []string{"-c", code}, "purpose": "one of several", "network": "disabled", "credentials": "none"}
	}
	commands := []members{command(`print(open("n","a").write("1"))`), command(`print("second"); raise SystemExit(3)`), command(`print("third")`)}
	run := func(mode string) runtimeLine {
		return s.Ask(t, "run", members{"operation_key": "the-run-" + mode, "mode": mode, "commands": commands})
	}
	approve := func(l runtimeLine, index int) {
		t.Helper()
		if l.Status != "approval_required" || l.Approval.Index != index || l.Run.Items[index].Outcome != "approval_required" {
			t.Fatalf("at %d: %+v %+v", index, l.Approval, l.Error)
		}
		f.MustType(t, l.Approval)
		commands[index]["preparation_id"], commands[index]["approval_id"] = l.Approval.Preparation, l.Approval.Approval
	}
	approve(run("continue"), 0)
	l := run("continue")
	if l.Run.Items[0].Outcome != "ran" || l.Run.Items[0].Output.text() != "1\n" || l.Run.Items[2].Outcome != "skipped" {
		t.Errorf("%+v", l.Run.Items)
	}
	approve(l, 1)
	l = run("continue")
	if i := l.Run.Items; i[0].Job.ID == "" || !i[0].Replayed || i[1].Job.State != "failed" || i[1].Job.Reason != "exited" {
		t.Errorf("%+v", l.Run.Items)
	}
	approve(l, 2)
	l = run("continue")
	if l.Status != "ok" || l.Run.Items[2].Output.text() != "third\n" || !l.Run.Items[1].Replayed {
		t.Errorf("%+v", l.Run.Items)
	}
	if b, err := os.ReadFile(filepath.Join(f.path, "n")); err != nil || string(b) != "1" {
		t.Errorf("the first command ran %q times, %v", b, err)
	}
	for _, x := range f.MustExecutions(t) {
		if x.starts() != 1 {
			t.Errorf("%+v", x)
		}
	}
	// With fail_fast nothing follows a failure.
	commands = []members{command(`raise SystemExit(1)`), command(`print("never")`)}
	approve(run("fail_fast"), 0)
	if l := run("fail_fast"); l.Status != "ok" || l.Run.Items[0].Job.State != "failed" || l.Run.Items[1].Outcome != "skipped" {
		t.Errorf("%+v", l.Run.Items)
	}
	s.End(t)
	f.take(f.MustStatus(t))
	f.MustRunOrdinarily(t)
}

func TestRuntime_BadLinesAreAnsweredAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	before := f.MustState(t)
	s := f.MustSupervise(t)
	head := `{"protocol_version":"command-runtime.v2","request_id":"bad","action":"start","operation_key":"k","command":{"toolchain":"python","arguments":["-c","1"],"purpose":"p"`
	bad := []string{
		"{", "[]", "nonsense", "\xff\xfe\xfd", `{"action":"list"}`, head + `,"env":{}}}`, head + `,"purpose":"q"}}`,
		head + `,"network":"host"}}`, head + `,"credentials":"inherit"}}`, head + `,"timeout_seconds":"5"}}`,
		strings.Repeat("x", 3<<20), strings.Repeat("[", 1000),
	}
	for _, text := range bad {
		s.SendLine(t, text)
	}
	l := s.MustOK(t, "list", nil) // lines are answered in order
	if len(*l.Jobs) != 0 {
		t.Errorf("%+v", *l.Jobs)
	}
	s.mu.Lock()
	if len(s.stray) != len(bad) {
		t.Errorf("%d answers to %d bad lines", len(s.stray), len(bad))
	}
	for _, l := range s.stray {
		if l.Status != "error" || l.Error == nil || l.Error.Code != "invalid_argument" || l.Error.Remediation == "" || l.Error.Field == "" {
			t.Errorf("%+v", l)
		}
	}
	s.mu.Unlock()
	if a := s.End(t); a.code != 0 {
		t.Errorf("%d: %s", a.code, a.stderr)
	}
	if after := f.MustState(t); !slices.Equal(before.tree, after.tree) || len(f.MustExecutions(t)) != 0 {
		t.Error("something changed")
	}
}

// A reader that takes nothing for a while keeps nothing but its own answers.
func TestRuntime_ASlowReaderDoesNotHoldTheJob(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	prep := f.MustSupervise(t)
	c := piped(members{"close_stdin": true}, "job.py", "lines")
	l := prep.Ask(t, "start", members{"operation_key": "slow", "command": c})
	f.MustType(t, l.Approval)
	c["preparation_id"], c["approval_id"] = l.Approval.Preparation, l.Approval.Approval
	prep.End(t)

	s := f.superviseUnread(t)
	s.Send(t, "start", members{"operation_key": "slow", "command": c})
	eventually(t, "the command ends while nobody reads", func() bool {
		x := f.MustExecutions(t)
		return len(x) == 1 && x[0].State == "finalized"
	})
	if _, err := os.Stat(filepath.Join(f.path, "wrote")); err != nil {
		t.Error(err)
	}
	go s.read(t)
	list := s.MustOK(t, "list", nil)
	jid := (*list.Jobs)[0].ID
	frames, p := s.MustReadAll(t, jid)
	var gone, kept int64
	for _, f := range frames {
		gone, kept = gone+f.Omitted, kept+int64(len(f.Text))
	}
	want := int64(0)
	for i := range 20000 {
		want += int64(len(fmt.Sprintf("line %d ", i)) + 201)
	}
	if kept+gone != want || gone == 0 || gone != p.Dropped || kept > 512<<10 ||
		!strings.HasPrefix(textOf(frames, "stdout"), "line 0 x") || !strings.Contains(textOf(frames, "stdout"), "line 19999 x") {
		t.Errorf("%d kept and %d omitted of %d, dropped %d", kept, gone, want, p.Dropped)
	}
	s.End(t)
}

// rss is the resident memory of a process, in bytes.
func rss(t testing.TB, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	must(t, err)
	return n * int64(os.Getpagesize())
}

func TestRuntime_AFloodOfTenSecondsIsBoundedAndEndsInTime(t *testing.T) {
	t.Parallel()
	onBothEngines(t, aFloodOfTenSecondsIsBoundedAndEndsInTime)
}

func aFloodOfTenSecondsIsBoundedAndEndsInTime(t *testing.T, h *home) {
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	s.MustOK(t, "list", nil)
	idle := rss(t, s.cmd.Process.Pid)
	j := s.MustStart(t, piped(members{"timeout_seconds": 10}, "job.py", "flood"))
	most := int64(0)
	for {
		most = max(most, rss(t, s.cmd.Process.Pid))
		l := s.MustOK(t, "wait", members{"job_id": j.ID, "wait_ms": 100})
		if l.Job.State != "running" {
			break
		}
	}
	end := s.MustEnd(t, j.ID, "timed_out", "timeout")
	if ran := end.Result.Resources.WallMillis; ran < 10_000 || ran > 70_000 {
		t.Errorf("a timeout of 10 s after %d ms", ran)
	}
	seen := end.Result.Artifacts[0].SizeBytes + end.Result.Artifacts[1].SizeBytes
	t.Logf("idle %d KiB, most %d KiB, %d bytes seen", idle>>10, most>>10, seen)
	if most-idle > 64<<20 {
		t.Errorf("the owner grew from %d to %d MiB", idle>>20, most>>20)
	}
	_, p := s.MustReadAll(t, j.ID)
	if seen < 1<<20 || p.Dropped == 0 || p.End-p.Dropped > 512<<10 {
		t.Errorf("%d seen, %d dropped of %d", seen, p.Dropped, p.End)
	}
	s.End(t)
	f.MustHaveNoContainer(t)
}

// No byte of the input is in the ledger, its write-ahead log, or what the process
// says of itself.
func TestRuntime_InputIsInNoFileAndNoLog(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "job.py"))
	s := f.MustSupervise(t)
	const secret = "stdin-canary-9b71e2"
	j := s.MustStart(t, piped(members{"stdin": secret + "-initial\n"}, "-c", `import sys; print(sum(map(len, sys.stdin)))`))
	s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": "w", "data": secret + "-later\n"})
	s.Ask(t, "write_stdin", members{"job_id": j.ID, "operation_key": "w", "data": secret + "-conflict\n"})
	s.SendLine(t, `{"protocol_version":"command-runtime.v2","request_id":"x","action":"write_stdin","job_id":7,"data":"`+secret+`-refused"}`)
	look := func(when string) {
		t.Helper()
		files := 0
		must(t, filepath.WalkDir(h.dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil //nolint:nilerr // what vanishes meanwhile holds nothing
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // as above
			}
			files++
			if strings.Contains(string(b), secret) {
				t.Errorf("%s: the input is in %s", when, path)
			}
			return nil
		}))
		if files < 3 {
			t.Errorf("%d files were looked at", files)
		}
	}
	look("while it runs")
	s.MustOK(t, "write_stdin", members{"job_id": j.ID, "operation_key": "end", "close": true})
	s.MustEnd(t, j.ID, "succeeded", "exited")
	look("after its end")
	a := s.End(t)
	look("after the session")
	if strings.Contains(string(a.stderr), secret) || strings.Contains(string(a.stdout), secret) {
		t.Errorf("the process repeats its input: %s", a.stderr)
	}
	events := f.call(t, "run", "events", f.run)
	if strings.Contains(string(events.stdout), secret) {
		t.Error("the input is in an event")
	}
}

// The owner dies at each step that the log shows; what the command wrote is kept,
// and nothing adopts the Job.
func TestRuntime_AJobOfADeadOwnerIsInterrupted(t *testing.T) {
	t.Parallel()
	onBothEngines(t, aJobOfADeadOwnerIsInterrupted)
}

func aJobOfADeadOwnerIsInterrupted(t *testing.T, h *home) {
	for _, step := range []struct {
		event string
		wrote bool
	}{
		{"create:intent", false}, {"create:done", false}, {"start:intent", false}, {"start:done", false},
		{"attach_stdin:intent", false}, {"attach_stdin:done", false}, {"wrote", true}, {"fed", true}, {"remove:intent", false},
	} {
		t.Run("after "+step.event, func(t *testing.T) {
			f := h.MustFlow(t, h.MustScripts(t, "job.py"))
			s := f.MustSupervise(t)
			c := piped(nil, "job.py", "echo_then_wait")
			if step.event == "remove:intent" {
				c = piped(members{"close_stdin": true}, "-c", "open('wrote','w').write('x')")
			}
			l := s.Ask(t, "start", members{"operation_key": "k", "command": c})
			f.MustType(t, l.Approval)
			c["preparation_id"], c["approval_id"] = l.Approval.Preparation, l.Approval.Approval
			s.Send(t, "start", members{"operation_key": "k", "command": c})
			switch step.event {
			case "wrote", "fed":
				eventually(t, "the command wrote", func() bool { _, err := os.Stat(filepath.Join(f.path, "wrote")); return err == nil })
				jobs := s.MustOK(t, "list", nil)
				jid := (*jobs.Jobs)[0].ID
				if step.event == "fed" {
					s.MustOK(t, "write_stdin", members{"job_id": jid, "operation_key": "w", "data": "fed\n"})
					eventually(t, "the command answers", func() bool {
						return strings.Contains(s.MustOK(t, "read", members{"job_id": jid, "wait_ms": 1000}).Output.text(), "fed\n")
					})
				}
			default:
				f.MustReach(t, step.event)
			}
			s.Signal(t, syscall.SIGKILL)
			<-s.done

			MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", f.run), 0)
			f.MustHaveNoContainer(t)
			next := f.MustSupervise(t)
			jobs := *next.MustOK(t, "list", nil).Jobs
			want := []string{"interrupted/owner_lost"}
			if step.event == "remove:intent" { // the command has ended, and its owner may be quicker than the kill
				want = append(want, "succeeded/exited")
			}
			if len(jobs) != 1 || !slices.Contains(want, jobs[0].State+"/"+jobs[0].Reason) || jobs[0].Owned || jobs[0].Execution == "" {
				t.Errorf("%+v", jobs)
			}
			// The same request answers that Job, and launches nothing.
			again := next.Ask(t, "start", members{"operation_key": "k", "command": c})
			x := f.MustExecutions(t)
			if len(x) != 1 || x[0].starts() > 1 || x[0].State != "finalized" {
				t.Errorf("%+v", x)
			}
			if again.Status == "ok" && (!again.Replayed || again.Job.State == "running") {
				t.Errorf("repeated: %+v", again.Job)
			}
			next.End(t)
			if step.wrote {
				if d := f.MustStatus(t); x[0].Result.Checkpoint.Changed.Added != 1 || d.Checkpoint != x[0].Result.Checkpoint.AfterID || len(d.Drift) != 0 {
					t.Errorf("what it wrote is not in a Checkpoint: %+v", x[0].Result.Checkpoint)
				}
			}
		})
	}
}

// MustReach waits until the log of the flow's only execution has an event.
func (f *flow) MustReach(t testing.TB, event string) {
	t.Helper()
	db := filepath.Join(f.state, "ledger.db")
	action, phase, _ := strings.Cut(event, ":")
	const look = "import sqlite3,sys,time\n" +
		"d=sqlite3.connect('file:'+sys.argv[1]+'?mode=ro',uri=True)\n" +
		"end=time.time()+120\n" +
		"q='select count(*) from lifecycle_log l join admissions a on a.id=l.admission_id where a.run_id=? and l.action=? and l.phase=?'\n" +
		"while time.time()<end:\n" +
		"  if d.execute(q,sys.argv[2:5]).fetchone()[0]: sys.exit(0)\n" +
		"  time.sleep(0.001)\n" +
		"sys.exit(1)"
	if err := tool("python3", "-c", look, db, f.run, action, phase); err != nil {
		t.Fatalf("never reached %s: %v", event, err)
	}
}

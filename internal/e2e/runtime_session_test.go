package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// supervisor is a program that talks to one command-runtime process.
type supervisor struct {
	*process
	f      *flow
	in     io.WriteCloser
	out    io.ReadCloser
	write  sync.Mutex
	mu     sync.Mutex
	next   int
	answer map[string]chan runtimeLine
	events map[string][]runtimeLine
	stray  []runtimeLine // errors of lines that name no request
	raw    bytes.Buffer
	// drained is closed when everything that the session said was read.
	drained chan struct{}
}

// MustSupervise starts a session for the flow's Run.
func (f *flow) MustSupervise(t testing.TB) *supervisor {
	t.Helper()
	s := f.superviseUnread(t)
	go s.read(t)
	return s
}

// superviseUnread starts a session whose answers nobody reads yet.
func (f *flow) superviseUnread(t testing.TB) *supervisor {
	t.Helper()
	args := append([]string{"command-runtime", f.run}, gates...)
	s := &supervisor{
		process: &process{cmd: exec.Command(lab.binary, args...), line: strings.Join(args, " "), done: make(chan struct{})},
		f:       f, answer: map[string]chan runtimeLine{}, events: map[string][]runtimeLine{},
		drained: make(chan struct{}),
	}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = f.env, f.dir, &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	// Not the library's pipe, which is closed when the process ends, read or not.
	out, outW, err := os.Pipe()
	must(t, err)
	s.out, s.cmd.Stdout = out, outW
	must(t, s.cmd.Start())
	must(t, outW.Close())
	go func() {
		_ = s.cmd.Wait() // its state says everything
		close(s.done)
	}()
	t.Cleanup(func() {
		select {
		case <-s.done:
		default:
			_ = s.cmd.Process.Kill()
			<-s.done
		}
		_ = s.out.Close()
	})
	return s
}

// read hands every line to whoever asked for it.
func (s *supervisor) read(t testing.TB) {
	defer close(s.drained)
	r := bufio.NewReaderSize(s.out, 1<<20)
	for {
		text, err := r.ReadBytes('\n')
		if len(text) > 0 {
			l, _ := decode[runtimeLine](t, text)
			s.mu.Lock()
			s.raw.Write(text)
			switch ch := s.answer[l.Request]; {
			case l.Type == "event":
				s.events[l.Request] = append(s.events[l.Request], l)
			case ch == nil:
				s.stray = append(s.stray, l)
			default:
				ch <- l
			}
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

type members map[string]any

// Send sends a request and returns where its answer will come.
func (s *supervisor) Send(t testing.TB, action string, r members) (rid string, answer <-chan runtimeLine) {
	t.Helper()
	ch := make(chan runtimeLine, 1)
	s.mu.Lock()
	s.next++
	rid = fmt.Sprintf("r%d", s.next)
	s.answer[rid] = ch
	s.mu.Unlock()
	whole := members{"protocol_version": "command-runtime.v2", "request_id": rid, "action": action}
	maps.Copy(whole, r)
	b, err := json.Marshal(whole)
	must(t, err)
	s.SendLine(t, string(b))
	return rid, ch
}

// SendLine sends a line as it is.
func (s *supervisor) SendLine(t testing.TB, text string) {
	t.Helper()
	s.write.Lock()
	defer s.write.Unlock()
	if _, err := io.WriteString(s.in, text+"\n"); err != nil {
		t.Errorf("the session takes nothing: %v\n%s", err, s.stderr.Bytes())
	}
}

// Ask sends a request and waits for its answer.
func (s *supervisor) Ask(t testing.TB, action string, r members) runtimeLine {
	t.Helper()
	rid, ch := s.Send(t, action, r)
	return s.MustGet(t, rid, ch)
}

// MustGet waits for an answer.
func (s *supervisor) MustGet(t testing.TB, rid string, ch <-chan runtimeLine) runtimeLine {
	t.Helper()
	select {
	case l := <-ch:
		return l
	case <-time.After(patience):
		t.Fatalf("no answer to %s within %s\n%s", rid, patience, s.stderr.Bytes())
	case <-s.done:
		<-s.drained
		select {
		case l := <-ch:
			return l
		default:
			t.Fatalf("the session ended without an answer to %s\n%s", rid, s.stderr.Bytes())
		}
	}
	return runtimeLine{}
}

// MustOK is Ask for what has to go well.
func (s *supervisor) MustOK(t testing.TB, action string, r members) runtimeLine {
	t.Helper()
	l := s.Ask(t, action, r)
	if l.Status != "ok" {
		t.Fatalf("%s: %s %+v", action, l.Status, l.Error)
	}
	return l
}

// End closes the session's input and returns how it ended.
func (s *supervisor) End(t testing.TB) answer {
	t.Helper()
	must(t, s.in.Close())
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatal("the session did not end with its input")
	}
	a := s.Wait(t)
	<-s.drained
	s.mu.Lock()
	defer s.mu.Unlock()
	a.stdout = bytes.Clone(s.raw.Bytes())
	return a
}

// piped makes a python command with a stdin pipe.
func piped(more members, args ...string) members {
	c := members{"toolchain": "python", "arguments": args, "purpose": "a Job", "timeout_seconds": 120, "stdin_policy": "pipe"}
	maps.Copy(c, more)
	return c
}

// MustStart takes a command to its Job: asked for, refused without an approval,
// approved as the answer says, and asked for again.
func (s *supervisor) MustStart(t testing.TB, c members) jobView {
	t.Helper()
	key := s.f.key("job")
	l := s.Ask(t, "start", members{"operation_key": key, "command": c})
	if l.Status != "approval_required" || l.Approval == nil || l.Approval.Status != "pending" || l.Job != nil || len(l.Approval.Type) != 2 {
		t.Fatalf("without an approval: %s %+v", l.Status, l.Error)
	}
	s.f.MustType(t, l.Approval)
	again := maps.Clone(c)
	again["preparation_id"], again["approval_id"] = l.Approval.Preparation, l.Approval.Approval
	l = s.MustOK(t, "start", members{"operation_key": key, "command": again})
	if l.Job == nil || l.Job.Execution == "" || l.Job.StdinPolicy != c["stdin_policy"] {
		t.Fatalf("started: %+v", l.Job)
	}
	return *l.Job
}

// MustType does what an answer tells an operator to type.
func (f *flow) MustType(t testing.TB, need *approvalNeed) {
	t.Helper()
	for _, typed := range need.Type {
		words := strings.Fields(strings.ReplaceAll(typed, " KEY", " "+f.key("typed")))
		if words[0] != "cyberagent" {
			t.Fatalf("to be typed: %q", typed)
		}
		MustAnswer[approvalView](t, f.call(t, words[1:]...), 0)
	}
}

// MustEnd waits for a Job's end.
func (s *supervisor) MustEnd(t testing.TB, jid, state, reason string) jobView {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		l := s.MustOK(t, "wait", members{"job_id": jid, "wait_ms": 20000})
		switch l.Job.State {
		case "prepared", "running", "stopping":
			continue
		}
		if l.Job.State != state || l.Job.Reason != reason {
			t.Fatalf("%s: %s/%s, want %s/%s: %+v", jid, l.Job.State, l.Job.Reason, state, reason, l.Job.Result)
		}
		return *l.Job
	}
	t.Fatalf("%s did not end", jid)
	return jobView{}
}

// MustReadAll reads a Job's output to its present end, and checks the cursor.
func (s *supervisor) MustReadAll(t testing.TB, jid string) (frames []outputFrame, p outputPage) {
	t.Helper()
	for cursor := int64(0); ; {
		p = *s.MustOK(t, "read", members{"job_id": jid, "cursor": cursor, "max_bytes": 262144}).Output
		for _, f := range p.Frames {
			if f.From != cursor || f.To-f.From != int64(len(f.Text))+f.Omitted {
				t.Fatalf("a frame at %d after %d: %d bytes, %d omitted, to %d", f.From, cursor, len(f.Text), f.Omitted, f.To)
			}
			cursor = f.To
		}
		frames = append(frames, p.Frames...)
		if cursor != p.Next {
			t.Fatalf("read to %d, next is %d", cursor, p.Next)
		}
		if cursor == p.End {
			return frames, p
		}
	}
}

// textOf joins the text of one stream.
func textOf(frames []outputFrame, stream string) string {
	var b strings.Builder
	for _, f := range frames {
		if f.Stream == stream {
			b.WriteString(f.Text)
		}
	}
	return b.String()
}

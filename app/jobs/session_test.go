package jobs_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cyberagent/app/jobs"
	"cyberagent/domain/fault"
	"cyberagent/domain/jobproto"
)

func serve(t testing.TB, m *jobs.Manager, in string) (lines []jobs.Answer, err error) {
	t.Helper()
	var out bytes.Buffer
	err = jobs.NewSession(m, strings.NewReader(in), &out).Serve(t.Context())
	for s := bufio.NewScanner(&out); s.Scan(); {
		var a jobs.Answer
		if err := json.Unmarshal(s.Bytes(), &a); err != nil {
			t.Fatalf("%v: %s", err, s.Bytes())
		}
		lines = append(lines, a)
	}
	return lines, err
}

func ask(rid, action, more string) string {
	return fmt.Sprintf(`{"protocol_version":"command-runtime.v2","request_id":%q,"action":%q%s}`+"\n", rid, action, more)
}

func TestSession_AnswersEachLineOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	in := ask("a", "list", "") + "\n  \n" + "nonsense\n" + strings.Repeat("x", 3<<20) + "\n" + ask("b", "list", "") +
		ask("c", "kill", `,"job_id":"job_01M8M4Q82F748CCGXXBAW0955C"`) + strings.TrimSuffix(ask("d", "list", ""), "\n")
	lines, err := serve(t, l.open(t, 0), in)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range lines {
		code := fault.Code("")
		if a.Error != nil {
			code = a.Error.Code
		}
		got = append(got, fmt.Sprintf("%s:%s:%s:%s", a.Type, a.Request, a.Status, code))
	}
	want := "answer:a:ok: answer::error:invalid_argument answer::error:invalid_argument answer:b:ok: answer:c:error:not_found answer:d:ok:"
	if strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}

// stuck is a client that reads nothing.
type stuck struct{ closed chan struct{} }

func (s stuck) Write([]byte) (int, error) { <-s.closed; return 0, io.ErrClosedPipe }

func TestSession_EndsThoughNobodyReadsItsAnswers(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	m := l.open(t, 0)
	out := stuck{make(chan struct{})}
	defer close(out.closed)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- jobs.NewSession(m, r, out).Serve(ctx) }()
	if _, err := io.WriteString(w, ask("a", "list", "")); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, fault.Cancelled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// broken is a client that is gone.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSession_EndsWithoutAClient(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	r, w := io.Pipe()
	defer w.Close()
	ended := make(chan error, 1)
	go func() { ended <- jobs.NewSession(l.open(t, 0), r, broken{}).Serve(t.Context()) }()
	if _, err := io.WriteString(w, ask("a", "list", "")); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, fault.Internal) || fault.From(err).Remedy == "" {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestSession_BoundsTheRequestsThatWait(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	l.body = until
	m := l.open(t, 0)
	j := l.start(t, m, "k", launch("p"))
	var in strings.Builder
	for n := range 70 {
		in.WriteString(ask("w"+strconv.Itoa(n), "wait", fmt.Sprintf(`,"job_id":%q,"wait_ms":60000`, j.ID)))
	}
	in.WriteString(ask("end", "cancel", fmt.Sprintf(`,"job_id":%q`, j.ID)))
	lines, err := serve(t, m, in.String())
	refused := 0
	for _, a := range lines {
		if a.Error != nil && a.Error.Code == fault.LimitReached {
			refused++
		}
	}
	if err != nil || len(lines) != 71 || refused != 6 {
		t.Errorf("%d lines, %d refused, %v", len(lines), refused, err)
	}
}

// No line of whatever kind launches anything: the corpus of the codec, through a
// whole session.
func TestSession_NoLineOfTheCorpusLaunchesAnything(t *testing.T) {
	t.Parallel()
	l := newLab(t, 1)
	files, err := filepath.Glob("../../domain/jobproto/testdata/fuzz/FuzzDecode/*")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	var in bytes.Buffer
	want := 0
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		quoted := strings.TrimSuffix(strings.TrimPrefix(string(b), "go test fuzz v1\n[]byte("), ")\n")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if strings.TrimSpace(line) != "" {
				want++
			}
			in.WriteString(line + "\n")
		}
	}
	lines, err := serve(t, l.open(t, 0), in.String())
	if err != nil || len(lines) != want {
		t.Errorf("%d answers to %d lines, %v", len(lines), want, err)
	}
	if l.executed.Load() != 0 {
		t.Errorf("%d commands were executed", l.executed.Load())
	}
}

// FuzzSession feeds a whole session: it answers, it ends, and without an approval
// it launches nothing.
func FuzzSession(f *testing.F) {
	l := newLab(f, 1)
	f.Add([]byte(ask("a", "list", "")))
	f.Add([]byte(ask("a", "start", `,"operation_key":"k","command":{"toolchain":"go","arguments":["test"],"purpose":"p"}`)))
	f.Add([]byte("{\n\x00\n\xff\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lines, err := serve(t, l.open(t, 0), string(in))
		if err != nil {
			t.Error(err)
		}
		for _, a := range lines {
			if a.Protocol != jobproto.Protocol || a.Status == "" || (a.Status == jobs.StatusError) != (a.Error != nil) {
				t.Errorf("%+v", a)
			}
		}
		if l.executed.Load() != 0 {
			t.Error("something was launched")
		}
	})
}

package jobproto_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/job"
	"cyberagent/domain/jobproto"
)

const (
	tail  = "_01M8M4Q82F748CCGXXBAW0955C"
	aJob  = "job" + tail
	aPrep = "prep" + tail
	anApp = "appr" + tail
)

// line makes a request of an action with more members.
func line(action, more string) string {
	if more != "" {
		more = "," + more
	}
	return fmt.Sprintf(`{"protocol_version":"command-runtime.v2","request_id":"r1","action":"%s"%s}`, action, more)
}

// cmd makes a command with more members.
func cmd(more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"toolchain":"python","arguments":["-c","pass"],"purpose":"a test"` + more + `}`
}

func TestDecode_ReadsEveryAction(t *testing.T) {
	t.Parallel()
	launch := job.Launch{
		Command: command.Input{Toolchain: "python", Args: []string{"-c", "pass"}, Purpose: "a test"},
		Stdin:   "closed", Inline: 65536, Keep: 524288,
	}
	fed := launch
	fed.Stdin, fed.Initial, fed.Close, fed.Inline, fed.Keep = "pipe", []byte("hi\n"), true, 10, 20
	fed.Command.Timeout, fed.Command.Workdir = 7*time.Second, "pkg"
	fed.Preparation, fed.Approval = aPrep, anApp
	for text, want := range map[string]jobproto.Request{
		line("list", ""): {Action: "list"},
		line("start", `"operation_key":"k","command":`+cmd("")): {Action: "start", Key: "k", Launches: []job.Launch{launch}},
		line("start", `"operation_key":"k","command":`+cmd(`"protocol_version":"standard-code-command.v1","working_directory":"pkg","timeout_seconds":7,`+
			`"stdin_policy":"pipe","stdin":"hi\n","close_stdin":true,"inline_bytes":10,"artifact_bytes":20,"network":"disabled","credentials":"none",`+
			`"preparation_id":"`+aPrep+`","approval_id":"`+anApp+`"`)): {Action: "start", Key: "k", Launches: []job.Launch{fed}},
		line("run", `"operation_key":"k","mode":"continue","commands":[`+cmd("")+`,`+cmd("")+`]`): {
			Action: "run", Key: "k", Mode: "continue", Launches: []job.Launch{launch, launch},
		},
		line("read", `"job_id":"`+aJob+`"`): {Action: "read", Job: aJob, Most: 65536},
		line("read", `"job_id":"`+aJob+`","cursor":9,"max_bytes":5,"wait_ms":60000,"follow":true`): {
			Action: "read", Job: aJob, Cursor: 9, Most: 5, Patience: time.Minute, Follow: true,
		},
		line("wait", `"job_id":"`+aJob+`","wait_ms":1500`): {Action: "wait", Job: aJob, Patience: 1500 * time.Millisecond},
		line("write_stdin", `"job_id":"`+aJob+`","operation_key":"w","data":"é"`): {
			Action: "write_stdin", Job: aJob, Key: "w", Data: []byte("é"),
		},
		line("write_stdin", `"job_id":"`+aJob+`","operation_key":"w","data_base64":"/wA=","close":true`): {
			Action: "write_stdin", Job: aJob, Key: "w", Data: []byte{0xff, 0}, Close: true,
		},
		line("write_stdin", `"job_id":"`+aJob+`","operation_key":"w","close":true`): {
			Action: "write_stdin", Job: aJob, Key: "w", Data: []byte{}, Close: true,
		},
		line("cancel", `"job_id":"`+aJob+`"`): {Action: "cancel", Job: aJob},
		line("kill", `"job_id":"`+aJob+`"`):   {Action: "kill", Job: aJob},
	} {
		want.ID = "r1"
		for i := range want.Launches {
			if want.Launches[i].Initial == nil {
				want.Launches[i].Initial = []byte{}
			}
		}
		got, err := jobproto.Decode([]byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v, %v\nwant %+v", text, got, err, want)
		}
	}
}

// Nobody could write to the command of a run before it has ended.
func TestDecode_RunEndsItsInput(t *testing.T) {
	t.Parallel()
	r, err := jobproto.Decode([]byte(line("run", `"operation_key":"k","commands":[`+cmd(`"stdin_policy":"pipe","stdin":"x"`)+`]`)))
	if err != nil || !r.Launches[0].Close || r.Mode != job.FailFast {
		t.Errorf("%+v, %v", r, err)
	}
}

// refusals are lines that ask for nothing, each with the field at fault.
func refusals() map[string]string {
	start := func(more string) string { return line("start", `"operation_key":"k","command":`+cmd(more)) }
	read := func(more string) string { return line("read", `"job_id":"`+aJob+`",`+more) }
	write := func(more string) string { return line("write_stdin", `"job_id":"`+aJob+`","operation_key":"w",`+more) }
	return map[string]string{
		"": "line", "{": "line", "null": "action", "[]": "action", "{}": "action", `"start"`: "action",
		"\xff\xfe":                            "line",
		`{"action":"list","request_id":"r1"}`: "protocol_version",
		`{"protocol_version":"command-runtime.v1","action":"list","request_id":"r1"}`:  "protocol_version",
		`{"protocol_version":"command-runtime.v2","action":"list"}`:                    "request_id",
		`{"protocol_version":"command-runtime.v2","action":"list","request_id":"a b"}`: "request_id",
		line("explode", ""):                                      "action",
		line("LIST", ""):                                         "action",
		line("list", `"job_id":"`+aJob+`"`):                      "line",
		line("list", "") + "{}":                                  "line",
		line("list", `"action":"kill"`):                          "line",
		strings.Replace(line("list", ""), "action", "Action", 1): "line",
		line("kill", ""):                                         "job_id",
		line("kill", `"job_id":7`):                               "line",
		line("kill", `"job_id":"../x"`):                          "job_id",
		line("kill", `"job_id":"`+aJob+`","force":true`):         "line",
		line("start", `"operation_key":"k"`):                     "command",
		line("start", `"operation_key":7,"command":`+cmd("")):    "line",
		line("run", `"operation_key":"k","commands":[]`):         "commands",
		line("run", `"operation_key":"k","commands":[`+strings.Repeat(cmd("")+",", 4)+cmd("")+`]`): "commands",
		line("run", `"operation_key":"k","mode":"all","commands":[`+cmd("")+`]`):                   "mode",
		start(`"network":"host"`):                                                   "network",
		start(`"network":""`):                                                       "network",
		start(`"credentials":"inherit"`):                                            "credentials",
		start(`"protocol_version":"standard-code-command.v2"`):                      "protocol_version",
		start(`"toolchain":"sh"`):                                                   "line", // twice
		start(`"env":{"A":"b"}`):                                                    "line",
		start(`"user":"root"`):                                                      "line",
		start(`"timeout_seconds":0`):                                                "timeout_seconds",
		start(`"timeout_seconds":3601`):                                             "timeout_seconds",
		start(`"timeout_seconds":1.5`):                                              "line",
		start(`"timeout_seconds":1e99`):                                             "line",
		start(`"stdin_policy":"tty"`):                                               "stdin_policy",
		start(`"stdin":"x"`):                                                        "stdin_policy",
		start(`"stdin_policy":"pipe","stdin":"x","stdin_base64":"eA=="`):            "stdin_base64",
		start(`"stdin_policy":"pipe","stdin_base64":"not base64"`):                  "stdin_base64",
		start(`"stdin_policy":"pipe","stdin":"` + strings.Repeat("x", 65537) + `"`): "data",
		start(`"stdin_policy":"pipe","stdin":"\ud800"`):                             "line",
		start(`"inline_bytes":-1`):                                                  "inline_bytes",
		start(`"artifact_bytes":1048576`):                                           "artifact_bytes",
		start(`"preparation_id":"` + aPrep + `"`):                                   "approval_id",
		start(`"preparation_id":"` + anApp + `","approval_id":"` + anApp + `"`):     "preparation_id",
		read(`"cursor":-1`):                                                         "cursor",
		read(`"cursor":"0"`):                                                        "line",
		read(`"max_bytes":262145`):                                                  "max_bytes",
		read(`"wait_ms":60001`):                                                     "wait_ms",
		write(`"data":""`):                                                          "data",
		write(`"data":"` + strings.Repeat("x", 65537) + `"`):                        "data",
		write(`"data":"x","data_base64":"eA=="`):                                    "data_base64",
		write(`"data":"x","data":"y"`):                                              "line",
		strings.Repeat(" ", 1<<20) + line("list", ""):                               "line",
		strings.Repeat("[", 100):                                                    "line",
	}
}

func TestDecode_RefusesWhatIsNotExactlyARequest(t *testing.T) {
	t.Parallel()
	for text, field := range refusals() {
		r, err := jobproto.Decode([]byte(text))
		if !errors.Is(err, fault.InvalidArgument) || fault.From(err).Field != field || fault.From(err).Remedy == "" {
			t.Errorf("%.200q\n got %v at %q, want %q", text, err, fault.From(err).Field, field)
		}
		if !reflect.DeepEqual(r, jobproto.Request{ID: r.ID, Action: r.Action}) {
			t.Errorf("%.200q is refused and asks for %+v", text, r)
		}
	}
}

// The answer to a refused line finds its way back.
func TestDecode_NamesTheRequestThatItRefuses(t *testing.T) {
	t.Parallel()
	r, err := jobproto.Decode([]byte(line("kill", `"force":true`)))
	if err == nil || r.ID != "r1" || r.Action != "kill" {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzDecode holds every line against what a valid request may be. Its corpus is
// in testdata.
func FuzzDecode(f *testing.F) {
	for text := range refusals() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := jobproto.Decode(text)
		if err != nil {
			e := fault.From(err)
			if e.Code != fault.InvalidArgument || e.Remedy == "" || len(r.Launches) > 0 || r.Job != "" || r.Key != "" {
				t.Errorf("%+v, %+v", r, e)
			}
			return
		}
		if r.ID == "" || len(r.Launches) > 4 || len(r.Data) > 65536 || r.Cursor < 0 || bytes.ContainsAny([]byte(r.Job), "/\n") {
			t.Errorf("%+v", r)
		}
		for _, l := range r.Launches {
			if c, err := command.New(l.Command); err != nil || c.Purpose() == "" || len(l.Initial) > 65536 {
				t.Errorf("%+v, %v", l, err)
			}
			if l.Stdin != "closed" && l.Stdin != "pipe" {
				t.Errorf("stdin %q", l.Stdin)
			}
		}
	})
}

func TestCorpus_IsThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/fuzz/FuzzDecode/*")
	if err != nil || len(files) < 20 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		if b, err := os.ReadFile(name); err != nil || !bytes.HasPrefix(b, []byte("go test fuzz v1\n[]byte(")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

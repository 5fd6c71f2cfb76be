// Package jobproto reads the requests of command-runtime.v2, strictly: one JSON
// object a line, and a line that is not exactly a request asks for nothing
// (contract section 7).
package jobproto

import (
	"encoding/json"
	"time"

	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/job"
	"cyberagent/domain/limits"
)

// Protocol names requests and answers.
const Protocol = "command-runtime.v2"

// Action is what a request asks for.
type Action string

// The actions.
const (
	Run        Action = "run"
	Start      Action = "start"
	List       Action = "list"
	Read       Action = "read"
	Wait       Action = "wait"
	WriteStdin Action = "write_stdin"
	Cancel     Action = "cancel"
	Kill       Action = "kill"
)

// Actions returns every action.
func Actions() []Action { return []Action{Run, Start, List, Read, Wait, WriteStdin, Cancel, Kill} }

// Request is one valid request. Which fields have a meaning depends on Action.
type Request struct {
	ID     string
	Action Action
	Key    string // run, start, write_stdin
	// Job is of read, wait, write_stdin, cancel and kill.
	Job      id.Job
	Mode     job.Mode     // run
	Launches []job.Launch // run: 1 to 4; start: 1
	Cursor   int64        // read
	Most     int64        // read: bytes of text
	Patience time.Duration
	Follow   bool   // read: events until the Job has ended
	Data     []byte // write_stdin
	Close    bool   // write_stdin: end the input after Data
}

// envelope is what every request has.
type envelope struct {
	Protocol string `json:"protocol_version"`
	ID       string `json:"request_id"`
	Action   Action `json:"action"`
}

// Decode reads one line. Every refusal is invalid_argument and names the field,
// or line when it is no request at all; the Request then has the id and the
// action as far as they could be read, for the answer.
func Decode(line []byte) (Request, error) {
	head := headOf(line)
	r, err := decode(line, head)
	if err != nil {
		return Request{ID: head.ID, Action: head.Action}, err
	}
	return r, nil
}

// headOf reads id and action leniently: only the answer's address is taken from
// it. An id or an action that is none is left out.
func headOf(line []byte) envelope {
	var e envelope
	if json.Unmarshal(line, &e) != nil || checkID(e.ID) != nil {
		e.ID = ""
	}
	for _, a := range Actions() {
		if a == e.Action {
			return e
		}
	}
	e.Action = ""
	return e
}

func decode(line []byte, head envelope) (Request, error) {
	if int64(len(line)) > limits.RuntimeLineBytes {
		return Request{}, LineTooLong()
	}
	switch head.Action {
	case Run:
		return decodeRun(line)
	case Start:
		return decodeStart(line)
	case List:
		var q envelope
		return begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, List)
	case Read:
		return decodeRead(line)
	case Wait:
		return decodeWait(line)
	case WriteStdin:
		return decodeWrite(line)
	case Cancel, Kill:
		var q jobRequest
		r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, head.Action)
		if err != nil {
			return r, err
		}
		r.Job, err = id.ParseJob("job_id", q.Job)
		return r, err
	}
	// What is wrong with the line is more useful than that it has no action.
	var any any
	if err := canon.Strict(line, &any); err != nil {
		return Request{}, notALine(err)
	}
	return Request{}, fault.New(fault.InvalidArgument, "not one of %v", Actions()).At("action").Hint("use one of %v", Actions())
}

// LineTooLong refuses a line of more than limits.RuntimeLineBytes.
func LineTooLong() error {
	return fault.New(fault.InvalidArgument, "the line has more than %d bytes", limits.RuntimeLineBytes).At("line").
		Hint("send less in one request; input goes in several writes")
}

func notALine(err error) error {
	return fault.Wrap(fault.InvalidArgument, err, "not a request of %s", Protocol).At("line").
		Hint("send one JSON object a line, with the fields of its action and no others")
}

// begin decodes a line into q, strictly, and checks what every request has.
func begin(line []byte, q any, head func() (protocol, rid string), a Action) (Request, error) {
	if err := canon.Strict(line, q); err != nil {
		return Request{}, notALine(err)
	}
	protocol, rid := head()
	if protocol != Protocol {
		return Request{}, fault.New(fault.InvalidArgument, "%q is not %s", protocol, Protocol).At("protocol_version").Hint("use %s", Protocol)
	}
	return Request{ID: rid, Action: a}, checkID(rid)
}

// checkID accepts 1 to RuntimeIDLen of [A-Za-z0-9._:-].
func checkID(s string) error {
	if !id.ValidName(s, limits.RuntimeIDLen) {
		return fault.New(fault.InvalidArgument, "not 1 to %d of A-Z, a-z, 0-9 and . _ : -", limits.RuntimeIDLen).At("request_id").
			Hint("name each request, for example r1; its answer carries the name")
	}
	return nil
}

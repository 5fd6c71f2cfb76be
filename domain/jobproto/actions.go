package jobproto

import (
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/limits"
)

type runRequest struct {
	Protocol string    `json:"protocol_version"`
	ID       string    `json:"request_id"`
	Action   Action    `json:"action"`
	Key      string    `json:"operation_key"`
	Mode     string    `json:"mode"`
	Commands []Command `json:"commands"`
}

type startRequest struct {
	Protocol string   `json:"protocol_version"`
	ID       string   `json:"request_id"`
	Action   Action   `json:"action"`
	Key      string   `json:"operation_key"`
	Command  *Command `json:"command"`
}

type jobRequest struct {
	Protocol string `json:"protocol_version"`
	ID       string `json:"request_id"`
	Action   Action `json:"action"`
	Job      string `json:"job_id"`
}

type waitRequest struct {
	Protocol string `json:"protocol_version"`
	ID       string `json:"request_id"`
	Action   Action `json:"action"`
	Job      string `json:"job_id"`
	Millis   int64  `json:"wait_ms"`
}

type readRequest struct {
	Protocol string `json:"protocol_version"`
	ID       string `json:"request_id"`
	Action   Action `json:"action"`
	Job      string `json:"job_id"`
	Cursor   int64  `json:"cursor"`
	Most     int64  `json:"max_bytes"`
	Millis   int64  `json:"wait_ms"`
	Follow   bool   `json:"follow"`
}

type writeRequest struct {
	Protocol string `json:"protocol_version"`
	ID       string `json:"request_id"`
	Action   Action `json:"action"`
	Job      string `json:"job_id"`
	Key      string `json:"operation_key"`
	Data     string `json:"data"`
	Base64   string `json:"data_base64"`
	Close    bool   `json:"close"`
}

func decodeRun(line []byte) (Request, error) {
	var q runRequest
	r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, Run)
	if err != nil {
		return r, err
	}
	if len(q.Commands) < 1 || len(q.Commands) > limits.RunCommands {
		return r, fault.New(fault.InvalidArgument, "%d commands, want 1 to %d", len(q.Commands), limits.RunCommands).
			At("commands").Hint("send several requests")
	}
	r.Key = q.Key
	if r.Mode, err = job.ParseMode(q.Mode); err != nil {
		return r, err
	}
	for _, c := range q.Commands {
		l, err := c.launch()
		if err != nil {
			return r, err
		}
		if l.Stdin == isolation.StdinPipe {
			// Nobody could write to it before run answers.
			l.Close = true
		}
		r.Launches = append(r.Launches, l)
	}
	return r, nil
}

func decodeStart(line []byte) (Request, error) {
	var q startRequest
	r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, Start)
	if err != nil {
		return r, err
	}
	if q.Command == nil {
		return r, fault.New(fault.InvalidArgument, "no command").At("command").Hint("give the command to start")
	}
	r.Key = q.Key
	l, err := q.Command.launch()
	r.Launches = []job.Launch{l}
	return r, err
}

func decodeWait(line []byte) (Request, error) {
	var q waitRequest
	r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, Wait)
	if err != nil {
		return r, err
	}
	if r.Patience, err = patience(q.Millis); err != nil {
		return r, err
	}
	r.Job, err = id.ParseJob("job_id", q.Job)
	return r, err
}

func decodeRead(line []byte) (Request, error) {
	var q readRequest
	r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, Read)
	if err != nil {
		return r, err
	}
	if r.Patience, err = patience(q.Millis); err != nil {
		return r, err
	}
	if q.Cursor < 0 {
		return r, fault.New(fault.InvalidArgument, "%d is not a cursor", q.Cursor).At("cursor").Hint("begin with 0")
	}
	if q.Most < 0 || q.Most > limits.JobReadBytes {
		return r, fault.New(fault.InvalidArgument, "%d is outside 1..%d", q.Most, limits.JobReadBytes).At("max_bytes").
			Hint("read in several requests")
	}
	r.Cursor, r.Follow, r.Most = q.Cursor, q.Follow, q.Most
	if r.Most == 0 {
		r.Most = limits.JobInlineBytes
	}
	r.Job, err = id.ParseJob("job_id", q.Job)
	return r, err
}

func decodeWrite(line []byte) (Request, error) {
	var q writeRequest
	r, err := begin(line, &q, func() (string, string) { return q.Protocol, q.ID }, WriteStdin)
	if err != nil {
		return r, err
	}
	r.Key, r.Close = q.Key, q.Close
	if r.Data, err = data("data", q.Data, q.Base64); err != nil {
		return r, err
	}
	if len(r.Data) == 0 && !r.Close {
		return r, fault.New(fault.InvalidArgument, "neither data nor close").At("data").Hint("give at least one byte, or close")
	}
	if int64(len(r.Data)) > limits.StdinWriteBytes {
		return r, job.TooLong(len(r.Data))
	}
	r.Job, err = id.ParseJob("job_id", q.Job)
	return r, err
}

// patience bounds how long one request may wait.
func patience(ms int64) (time.Duration, error) {
	if ms < 0 || ms > limits.RuntimeWait.Milliseconds() {
		return 0, fault.New(fault.InvalidArgument, "%d is outside 0..%d", ms, limits.RuntimeWait.Milliseconds()).At("wait_ms").
			Hint("wait for less and ask again")
	}
	return time.Duration(ms) * time.Millisecond, nil
}

package job

import (
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// Mode says what a run of several commands does after one that did not succeed.
type Mode string

// The modes.
const (
	FailFast Mode = "fail_fast"
	Continue Mode = "continue"
)

// ParseMode accepts a mode's word; empty means fail_fast.
func ParseMode(s string) (Mode, error) {
	switch Mode(s) {
	case "":
		return FailFast, nil
	case FailFast, Continue:
		return Mode(s), nil
	}
	return "", fault.New(fault.InvalidArgument, "%q is not fail_fast or continue", s).At("mode").Hint("use fail_fast or continue")
}

// Launch is one Command as a Job is to run it. Preparation and Approval are both
// empty before a reviewer approved it.
type Launch struct {
	Command     command.Input
	Stdin       isolation.Stdin
	Initial     []byte // the first bytes of stdin; in memory only
	Close       bool   // end stdin after them
	Inline      int64  // how many bytes of output `run` answers
	Keep        int64  // how many bytes of output are kept while the owner lives
	Preparation id.Preparation
	Approval    id.Approval
}

// Approved says whether the launch names what was approved.
func (l Launch) Approved() bool { return l.Preparation != "" }

// Check refuses (invalid_argument, naming the field) what no Job may have, and
// fills what was left out.
func (l *Launch) Check() error {
	if _, err := command.New(l.Command); err != nil {
		return err
	}
	if l.Stdin == "" {
		l.Stdin = isolation.StdinClosed
	}
	if _, err := isolation.ParseStdin(string(l.Stdin)); err != nil {
		return err
	}
	if l.Stdin == isolation.StdinClosed && (len(l.Initial) > 0 || l.Close) {
		return fault.New(fault.InvalidArgument, "this command's stdin is closed").At("stdin_policy").
			Hint("give stdin_policy pipe, or no input")
	}
	if int64(len(l.Initial)) > limits.StdinWriteBytes {
		return TooLong(len(l.Initial))
	}
	if (l.Preparation == "") != (l.Approval == "") {
		return fault.New(fault.InvalidArgument, "preparation_id and approval_id belong together").At("approval_id").
			Hint("give both, as approval_required answered them, or none")
	}
	var err error
	if l.Inline, err = bounded("inline_bytes", l.Inline, limits.JobInlineBytes, limits.JobReadBytes); err != nil {
		return err
	}
	l.Keep, err = bounded("artifact_bytes", l.Keep, limits.JobOutputBytes, limits.JobOutputBytes)
	return err
}

// TooLong refuses one write of stdin.
func TooLong(n int) error {
	return fault.New(fault.InvalidArgument, "%d bytes, at most %d are taken at once", n, limits.StdinWriteBytes).At("data").
		Hint("send them in several writes")
}

// bounded fills 0 with what applies by default.
func bounded(field string, n, otherwise, most int64) (int64, error) {
	switch {
	case n == 0:
		return otherwise, nil
	case n < 0 || n > most:
		return 0, fault.New(fault.InvalidArgument, "%d is outside 1..%d", n, most).At(field).Hint("give 1 to %d, or leave it out", most)
	}
	return n, nil
}

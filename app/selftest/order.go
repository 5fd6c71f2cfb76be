package selftest

import (
	"time"

	"cyberagent/app/standardcode"
	"cyberagent/domain/admission"
	"cyberagent/domain/command"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
)

// Order is what a child process is told: what to do and where to die.
type Order struct {
	// Seal proves that the parent made this home; the child refuses any other.
	Seal string             `json:"seal"`
	Act  standardcode.Actor `json:"act"`
	// Point is the fail point's name, empty for none. DelayMicros is how long after
	// it the process dies.
	Point       string `json:"point"`
	DelayMicros int64  `json:"delay_us"`

	Run        id.Run         `json:"run"`
	Admission  id.Admission   `json:"admission"` // recover: only this one
	Generation int64          `json:"generation"`
	Checkpoint id.Checkpoint  `json:"checkpoint"`
	Prep       id.Preparation `json:"preparation"`
	Approval   id.Approval    `json:"approval"`
	Key        string         `json:"key"`
	Token      string         `json:"token"`
	Seconds    string         `json:"seconds"` // how long the command stays
	Pipe       bool           `json:"pipe"`    // its stdin is a pipe, which ends at once
}

// Delay is how long after the point the process dies.
func (o Order) Delay() time.Duration { return time.Duration(o.DelayMicros) * time.Microsecond }

// Evidence is the file to which each start of the command appends its token.
const Evidence = "starts"

// script leaves the evidence before anything else, and says so.
const script = "import sys,time; f=open(sys.argv[1],'a'); f.write(sys.argv[2]+chr(10)); f.close(); print(sys.argv[2],flush=True); time.sleep(float(sys.argv[3]))"

// Execute is the order as execute's input.
func (o Order) Execute() standardcode.ExecuteInput {
	stdin := isolation.StdinClosed
	if o.Pipe {
		stdin = isolation.StdinPipe
	}
	return standardcode.ExecuteInput{
		Request: standardcode.Request{
			Stdin: stdin, Run: o.Run, Generation: o.Generation, Checkpoint: o.Checkpoint,
			Gates: admission.AllGates(),
			Command: command.Input{
				Toolchain: string(command.Python), Args: []string{"-c", script, Evidence, o.Token, o.Seconds},
				Timeout: timeout, Purpose: "selftest",
			},
		},
		Preparation: o.Prep, Approval: o.Approval, OperationKey: o.Key,
	}
}

// timeout ends a command that nobody ended.
const timeout = 15 * time.Minute

package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"sync"
	"time"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Process is a container's process while it runs. Term is closed by the first
// TERM, Killed by KILL; after that nobody waits for the Program any more.
type Process struct {
	Spec           isolation.Spec
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Term, Killed   <-chan struct{}
}

// Program is what a container runs. It returns the process's exit code.
type Program func(*Process) int

// Command is the toolchain's program that a Runner starts.
type Command struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Root is the host's directory behind /workspace.
	Root         string
	Term, Killed <-chan struct{}
}

// Runner is a Program that speaks the runner's protocol: frames on stdout, one
// report on stderr. It measures nothing; it says what the contract expects.
type Runner struct {
	// Command stands for the toolchain's program and returns its exit code.
	Command func(*Command) int
	// Report may change the report before it is sent.
	Report func(*runnerproto.Report)
}

// Run implements Program.
func (r Runner) Run(p *Process) int {
	props := p.Spec.Properties()
	if len(props.Args) != 2 || props.Args[0] != runnerproto.Protocol {
		return 1
	}
	b, err := runnerproto.DecodeBinding([]byte(props.Args[1]))
	if err != nil {
		return 1
	}
	rep := runnerproto.NewReport(b)
	rep.Facts, rep.MaskIntact, rep.WorkspaceIntact = isolation.Expected(), true, true
	frames := &frames{to: p.Stdout}
	out, errs := &framed{frames: frames, stream: runnerproto.Stdout, sum: sha256.New()}, &framed{frames: frames, stream: runnerproto.Stderr, sum: sha256.New()}
	c := &Command{Args: b.Arguments, Stdin: p.Stdin, Stdout: out, Stderr: errs, Term: p.Term, Killed: p.Killed}
	if b.Stdin != isolation.StdinPipe {
		c.Stdin = none{}
	}
	for _, m := range props.Mounts {
		if m.Target == isolation.Workspace {
			c.Root = m.Source
		}
	}
	begin := time.Now()
	rep.Outcome, rep.ExitCode = runnerproto.OutcomeExited, r.Command(c)
	rep.Usage.WallMillis = time.Since(begin).Milliseconds()
	select {
	case <-p.Term:
		rep.Stop = runnerproto.StopTerm
	default:
	}
	rep.Streams = append(rep.Streams, out.receipt(), errs.receipt())
	if r.Report != nil {
		r.Report(&rep)
	}
	line, err := rep.Encode()
	if err != nil {
		return 1
	}
	_, _ = p.Stderr.Write(line)
	return 0
}

// none is an empty stdin.
type none struct{}

// Read implements io.Reader.
func (none) Read([]byte) (int, error) { return 0, io.EOF }

// frames writes whole frames of two streams.
type frames struct {
	mu sync.Mutex
	to io.Writer
}

// framed is one stream of the command.
type framed struct {
	*frames
	stream runnerproto.Stream
	sum    hash.Hash
	bytes  int64
	lines  int64
}

// Write implements io.Writer.
func (f *framed) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sum.Write(b)
	f.bytes += int64(len(b))
	for _, c := range b {
		if c == '\n' {
			f.lines++
		}
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), int(limits.RunnerFrameBytes))
		frame := make([]byte, runnerproto.HeaderLen+n)
		runnerproto.PutHeader(frame, f.stream, n)
		copy(frame[runnerproto.HeaderLen:], rest)
		if _, err := f.to.Write(frame); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

func (f *framed) receipt() runnerproto.StreamReport {
	return runnerproto.StreamReport{
		Stream: f.stream.String(), Bytes: f.bytes, Lines: f.lines, Forwarded: f.bytes, SHA256: hex.EncodeToString(f.sum.Sum(nil)),
	}
}

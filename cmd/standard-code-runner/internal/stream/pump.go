package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// Pump takes one stream of the command to its end: the first LiveBytes go into
// frames as they come, of the rest the last TailBytes when the stream has ended.
// While the host does not read, the command waits, as at any pipe; beyond
// LiveBytes nothing waits for the host any more.
type Pump struct {
	stream runnerproto.Stream
	from   io.Reader
	to     *Frames

	live int64 // how many bytes may still go out as they come
	tail *tail // made when it is needed
	sum  hash.Hash
	seen int64
	line int64
	sent int64
}

// NewPump makes a Pump; Run does the work.
func NewPump(s runnerproto.Stream, from io.Reader, to *Frames) *Pump {
	return &Pump{stream: s, from: from, to: to, live: runnerproto.LiveBytes, sum: sha256.New()}
}

// Run ends when the stream ends or its reader's deadline passes.
func (p *Pump) Run() {
	buf := make([]byte, runnerproto.HeaderLen+limits.RunnerFrameBytes)
	for {
		n, err := p.from.Read(buf[runnerproto.HeaderLen:])
		if n > 0 {
			p.take(buf[:runnerproto.HeaderLen+n])
		}
		if err != nil {
			break
		}
	}
	p.flush(buf)
}

// take counts one piece and sends or keeps it. buf begins with room for a header.
func (p *Pump) take(buf []byte) {
	data := buf[runnerproto.HeaderLen:]
	p.sum.Write(data)
	p.seen += int64(len(data))
	p.line += int64(bytes.Count(data, []byte{'\n'}))
	if p.live > 0 {
		n := min(int64(len(data)), p.live)
		if p.to.Send(p.stream, buf[:runnerproto.HeaderLen+n]) != nil {
			// The host is gone: the rest is counted only.
			p.live = 0
			return
		}
		p.live -= n
		p.sent += n
		data = data[n:]
	}
	if len(data) > 0 {
		if p.tail == nil {
			p.tail = newTail(int(runnerproto.TailBytes))
		}
		p.tail.write(data)
	}
}

func (p *Pump) flush(buf []byte) {
	if p.tail == nil {
		return
	}
	for _, part := range p.tail.parts() {
		for len(part) > 0 {
			n := copy(buf[runnerproto.HeaderLen:], part)
			if p.to.Send(p.stream, buf[:runnerproto.HeaderLen+n]) != nil {
				return
			}
			p.sent += int64(n)
			part = part[n:]
		}
	}
}

// Report is valid after Run.
func (p *Pump) Report() runnerproto.StreamReport {
	return runnerproto.StreamReport{
		Stream: p.stream.String(), Bytes: p.seen, Lines: p.line,
		SHA256: hex.EncodeToString(p.sum.Sum(nil)), Forwarded: p.sent,
	}
}

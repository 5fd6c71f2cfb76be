package standardcode

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"

	"cyberagent/domain/limits"
	"cyberagent/domain/result"
	"cyberagent/domain/runnerproto"
)

// Sink sees output live, in order of arrival. It must not block for long: it
// is the command's own back-pressure.
type Sink func(s runnerproto.Stream, p []byte)

// collector keeps head and tail of one stream in memory and counts the rest.
type collector struct {
	mu    sync.Mutex
	hash  hash.Hash
	bytes int64
	lines int64
	head  []byte
	tail  []byte
}

func newCollector() *collector { return &collector{hash: sha256.New()} }

// Half of what is kept is the beginning, half the end.
const (
	keepHalf      = int(limits.OutputKeepBytes / 2)
	keepHalfLines = limits.OutputKeepLines / 2
)

func (c *collector) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hash.Write(p)
	c.bytes += int64(len(p))
	for _, b := range p {
		if len(c.head) < keepHalf && c.lines < keepHalfLines && len(c.tail) == 0 {
			c.head = append(c.head, b)
		} else {
			c.tail = append(c.tail, b)
		}
		if b == '\n' {
			c.lines++
		}
	}
	// Cut rarely: only when twice the half is held.
	if len(c.tail) > 2*keepHalf {
		c.trim()
	}
}

// trim cuts the tail to its bounds of bytes and lines.
func (c *collector) trim() {
	if len(c.tail) > keepHalf {
		c.tail = append(c.tail[:0:0], c.tail[len(c.tail)-keepHalf:]...)
	}
	lines := int64(0)
	for i := len(c.tail) - 1; i >= 0; i-- {
		if c.tail[i] != '\n' {
			continue
		}
		if lines++; lines > keepHalfLines {
			c.tail = append(c.tail[:0:0], c.tail[i+1:]...)
			return
		}
	}
}

// Kept is what is left of a stream in memory.
type Kept struct {
	Head, Tail []byte
	// Omitted is how many bytes lie between them.
	Omitted int64
}

func (c *collector) kept() Kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
	return Kept{Head: c.head, Tail: c.tail, Omitted: c.bytes - int64(len(c.head)+len(c.tail))}
}

// receipt compares what arrived with what the runner says it saw. Without a
// report the receipt is about what arrived, and says that something may be lost.
func (c *collector) receipt(s runnerproto.Stream, rep *runnerproto.Report) result.LogReceipt {
	k := c.kept()
	kept := int64(len(k.Head) + len(k.Tail))
	r := result.LogReceipt{
		Kind: "logs", Stream: s.String(), SHA256: hex.EncodeToString(c.hash.Sum(nil)),
		SizeBytes: c.bytes, KeptBytes: kept, Lines: c.lines, Truncated: k.Omitted > 0, Lost: true,
	}
	if rep == nil {
		return r
	}
	for _, sr := range rep.Streams {
		if sr.Stream == s.String() {
			r.SHA256, r.SizeBytes, r.Lines = sr.SHA256, sr.Bytes, sr.Lines
			r.Truncated = kept < sr.Bytes
			r.Lost = c.bytes != sr.Forwarded
		}
	}
	return r
}

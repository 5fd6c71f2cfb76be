package gitdrydock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// commitWork is one commit to make: how next differs from prev.
type commitWork struct {
	ref     id.Checkpoint
	parent  oid // none for the first
	base    oid // the tree that the changes are made to; the parent's when none
	prev    *manifest
	next    *manifest
	changes []change
	record  record
}

// importer is one fast-import that was started before there is anything to
// feed: git gets ready while the tree is walked.
type importer struct {
	feed   *feeder
	result chan imported
}

type imported struct {
	out []byte
	err error
}

// startImport starts a fast-import in the shadow repository. Either commit or
// abandon must be called, once.
func (l layout) startImport(ctx context.Context, k dock) *importer {
	i := &importer{feed: &feeder{tree: k.tree, work: make(chan *commitWork, 1)}, result: make(chan imported, 1)}
	go func() {
		out, err := l.run(ctx, gitCall{
			gitDir: k.shadow, store: k.store(),
			args:  []string{"fast-import", "--quiet", "--done"},
			stdin: i.feed, timeout: longDeadline, // the walk's time counts too
		})
		i.result <- imported{out, err}
	}()
	return i
}

// commit feeds what changed. The commit and its ref exist afterwards, or
// neither does. A file that is no longer what the walk saw is errChanged.
func (i *importer) commit(w commitWork) (commit, tree oid, err error) {
	i.feed.work <- &w
	r := <-i.result
	// A broken pipe is git's failure, and git says more of it.
	fed := i.feed.err.Load()
	switch {
	case fed != nil && !errors.Is(*fed, unix.EPIPE):
		return "", "", *fed
	case r.err != nil:
		return "", "", because(r.err, fault.New(fault.Internal, "the Checkpoint could not be written"))
	}
	return parseImport(r.out, w.next.format)
}

// abandon ends it without a commit.
func (i *importer) abandon() {
	i.feed.work <- nil
	<-i.result
}

// parseImport reads the answers to get-mark and ls.
func parseImport(out []byte, f format) (commit, tree oid, err error) {
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 2 {
		return "", "", fmt.Errorf("unexpected answer of fast-import %q", out)
	}
	if commit, err = f.parse(lines[0]); err != nil {
		return "", "", err
	}
	if strings.HasPrefix(lines[1], "missing ") {
		return commit, f.emptyTree(), nil
	}
	x, err := parseLeaf(lines[1], f, false)
	return commit, x.oid, err
}

// feeder writes the stream of one fast-import. exec copies it with WriteTo, so
// file contents go straight into the pipe.
type feeder struct {
	tree string
	work chan *commitWork // nil to make nothing
	root int
	dir  int // open directory of the last file, 0 when none
	path string
	buf  []byte
	err  atomic.Pointer[error]
}

// Read is never called: exec prefers WriteTo.
func (s *feeder) Read([]byte) (int, error) { return 0, io.EOF }

// WriteTo waits for the work and writes the whole stream. Without the final
// "done" fast-import makes no ref, so an error here leaves nothing behind.
func (s *feeder) WriteTo(to io.Writer) (int64, error) {
	err := s.write(to, <-s.work)
	if err != nil {
		s.err.Store(&err)
	}
	return 0, err
}

func (s *feeder) write(to io.Writer, work *commitWork) error {
	w := script{bufio.NewWriterSize(to, 128<<10)}
	if work != nil {
		var err error
		if s.root, err = openRoot(s.tree); err != nil {
			return unreadable("", err)
		}
		defer unix.Close(s.root)
		defer s.close()
		s.buf = make([]byte, 128<<10)
		if err := s.stream(w, work); err != nil {
			return err
		}
	}
	w.printf("done\n")
	return w.Flush()
}

// script writes fast-import's commands. bufio keeps the first error for Flush.
type script struct{ *bufio.Writer }

func (w script) printf(format string, a ...any) { _, _ = fmt.Fprintf(w, format, a...) }

func (w script) raw(b []byte) { _, _ = w.Write(b) }

func (s *feeder) close() {
	if s.dir != 0 {
		_ = unix.Close(s.dir)
		s.dir = 0
	}
}

// The identity and date of every Checkpoint are constants: the ledger knows
// when it was made and by whom, and the same files give the same commit.
const committer = "committer cyberagent <cyberagent@localhost> 0 +0000"

func (s *feeder) stream(w script, work *commitWork) error {
	msg, err := work.record.message()
	if err != nil {
		return err
	}
	w.printf("commit %s\nmark :1\n%s\ndata %d\n%s\n", checkpointRef(work.ref), committer, len(msg), msg)
	if work.parent != "" {
		w.printf("from %s\n", work.parent)
	}
	switch work.base {
	case "":
	case work.next.format.emptyTree():
		w.printf("D \"tree\"\n")
	default:
		w.printf("M 040000 %s \"tree\"\n", work.base)
	}
	// All deletions first: a directory may have become a file or the reverse.
	var b []byte
	for _, c := range work.changes {
		if c.kind == drydock.Deleted && !c.dir {
			b = append(importQuote(append(b[:0], "D "...), "tree/"+c.path), '\n')
			w.raw(b)
		}
	}
	for _, c := range work.changes {
		if c.kind != drydock.Deleted && !c.dir {
			if err := s.entry(w, work.next.format, c); err != nil {
				return err
			}
		}
	}
	meta(w, work)
	w.printf("\nget-mark :1\nls :1 \"tree\"\n")
	return nil
}

func (s *feeder) entry(w script, f format, c change) error {
	if c.mode == modeSubmodule {
		b := fmt.Appendf(nil, "M %06o %s ", c.mode, c.oid)
		w.raw(append(importQuote(b, "tree/"+c.path), '\n'))
		return nil
	}
	dirPath, name := split(c.path)
	if s.dir == 0 || s.path != dirPath {
		s.close()
		fd, err := openBeneath(s.root, dirPath, openDir)
		if err != nil {
			return readError(c.path, err)
		}
		s.dir, s.path = fd, dirPath
	}
	b := importQuote(fmt.Appendf(nil, "M %06o inline ", c.mode), "tree/"+c.path)
	w.raw(fmt.Appendf(b, "\ndata %d\n", c.st.size))
	var got oid
	if c.mode == modeSymlink {
		target, err := readLink(s.dir, name, c.path, c.st)
		if err != nil {
			return err
		}
		if int64(len(target)) != c.st.size {
			return &errChanged{c.path}
		}
		w.raw([]byte(target))
		got = f.blob([]byte(target))
	} else {
		read, _, err := readFile(s.dir, name, c.path, c.st, f, w, s.buf)
		if err != nil {
			return err
		}
		got = read.oid
	}
	if got != c.oid {
		return &errChanged{c.path}
	}
	w.raw([]byte{'\n'})
	return nil
}

// meta writes those blobs beside the tree that differ from the parent's.
func meta(w script, work *commitWork) {
	prev, next := work.prev, work.next
	blob := func(name string, b []byte) {
		w.printf("M 100644 inline \"meta/%s\"\ndata %d\n", name, len(b))
		w.raw(append(b, '\n'))
	}
	first := work.parent == ""
	if first || !slices.Equal(prev.dirs, next.dirs) {
		blob("dirs", joinNUL(next.dirs))
	}
	if first || !slices.Equal(prev.excluded, next.excluded) {
		blob("excluded", encodeExcluded(next.excluded))
	}
	if first {
		blob("submodules", encodeModules(next.modules))
	}
	switch {
	case next.index.sha256 == "":
		w.printf("D \"meta/index\"\n")
	case first || prev.index.sha256 != next.index.sha256:
		blob("index", next.index.bytes)
	}
}

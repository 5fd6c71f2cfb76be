package gitdrydock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// commitWork is one commit to make: how next differs from prev.
type commitWork struct {
	ref     id.Checkpoint
	parent  oid // none for the first
	base    oid // the base commit's tree, only for the first
	prev    *manifest
	next    *manifest
	changes []change
	record  record
}

// commit feeds one fast-import with what changed. The commit and its ref exist
// afterwards, or neither does. A file that is no longer what the walk saw is
// errChanged.
func (l layout) commit(ctx context.Context, k dock, w commitWork) (commit, tree oid, err error) {
	root, err := openRoot(k.tree)
	if err != nil {
		return "", "", unreadable("", err)
	}
	defer unix.Close(root)
	feed := &feeder{work: w, root: root}
	out, err := l.run(ctx, gitCall{
		gitDir: k.shadow, store: k.store(),
		args:  []string{"fast-import", "--quiet", "--done"},
		stdin: feed,
	})
	feed.close()
	if feed.err != nil && !errors.Is(feed.err, unix.EPIPE) {
		return "", "", feed.err
	}
	if err != nil {
		return "", "", because(err, fault.New(fault.Internal, "the Checkpoint could not be written"))
	}
	return parseImport(out, w.next.format)
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
	work commitWork
	root int
	dir  int // open directory of the last file, 0 when none
	path string
	buf  []byte
	err  error
}

// Read is never called: exec prefers WriteTo.
func (s *feeder) Read([]byte) (int, error) { return 0, io.EOF }

// WriteTo writes the whole stream. Without the final "done" fast-import makes
// no ref, so an error here leaves nothing behind.
func (s *feeder) WriteTo(to io.Writer) (int64, error) {
	w := script{bufio.NewWriterSize(to, 128<<10)}
	s.buf = make([]byte, 128<<10)
	if s.err = s.stream(w); s.err == nil {
		s.err = w.Flush()
	}
	return 0, s.err
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

func (s *feeder) stream(w script) error {
	msg := "checkpoint " + string(s.work.ref) + "\n"
	w.printf("commit %s\nmark :1\n%s\ndata %d\n%s\n", checkpointRef(s.work.ref), committer, len(msg), msg)
	if s.work.parent != "" {
		w.printf("from %s\n", s.work.parent)
	}
	if s.work.base != "" && s.work.base != s.work.next.format.emptyTree() {
		w.printf("M 040000 %s \"tree\"\n", s.work.base)
	}
	// All deletions first: a directory may have become a file or the reverse.
	var b []byte
	for _, c := range s.work.changes {
		if c.kind == drydock.Deleted && !c.dir {
			b = append(importQuote(append(b[:0], "D "...), "tree/"+c.path), '\n')
			w.raw(b)
		}
	}
	for _, c := range s.work.changes {
		if c.kind != drydock.Deleted && !c.dir {
			if err := s.entry(w, c); err != nil {
				return err
			}
		}
	}
	if err := s.meta(w); err != nil {
		return err
	}
	w.printf("\nget-mark :1\nls :1 \"tree\"\ndone\n")
	return nil
}

func (s *feeder) entry(w script, c change) error {
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
	f := s.work.next.format
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
func (s *feeder) meta(w script) error {
	prev, next := s.work.prev, s.work.next
	blob := func(name string, b []byte) {
		w.printf("M 100644 inline \"meta/%s\"\ndata %d\n", name, len(b))
		w.raw(append(b, '\n'))
	}
	if s.work.parent == "" || !slices.Equal(prev.dirs, next.dirs) {
		blob("dirs", joinNUL(next.dirs))
	}
	if s.work.parent == "" || !slices.Equal(prev.excluded, next.excluded) {
		blob("excluded", encodeExcluded(next.excluded))
	}
	if s.work.parent == "" {
		blob("submodules", encodeModules(next.modules))
	}
	switch {
	case next.index.sha256 == "":
		w.printf("D \"meta/index\"\n")
	case prev.index.sha256 != next.index.sha256:
		blob("index", next.index.bytes)
	}
	b, err := json.Marshal(s.work.record)
	if err != nil {
		return err
	}
	blob("capture.json", b)
	return nil
}

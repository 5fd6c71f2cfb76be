package gitdrydock

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// record is what a repeated Capture answers. It is JSON in the commit's message.
type record struct {
	Version     int            `json:"version"`
	Checkpoint  id.Checkpoint  `json:"checkpoint"`
	Parent      id.Checkpoint  `json:"parent"`
	IndexSHA256 string         `json:"index_sha256"`
	Files       int64          `json:"files"` // entries of tree/
	Entries     int64          `json:"entries"`
	Bytes       int64          `json:"bytes"`
	Changed     drydock.Counts `json:"changed"`
}

func (r record) capture(commit, tree oid, list []excluded) drydock.Capture {
	return drydock.Capture{
		Commit: commit.String(), Tree: tree.String(), IndexSHA256: r.IndexSHA256,
		Entries: r.Entries, Bytes: r.Bytes, Changed: r.Changed, Excluded: domainExcluded(list),
	}
}

// message is the commit's message: a line for people, then the record.
func (r record) message() (string, error) {
	b, err := json.Marshal(r)
	return "checkpoint " + string(r.Checkpoint) + "\n\n" + string(b) + "\n", err
}

// parseRecord reads it back from a raw commit: headers, the line for people and
// the record are parted by empty lines.
func parseRecord(commit []byte) (record, error) {
	var r record
	_, message, _ := bytes.Cut(commit, []byte("\n\n"))
	_, b, ok := bytes.Cut(message, []byte("\n\n"))
	if !ok {
		return r, errors.New("its message has no record")
	}
	err := json.Unmarshal(b, &r)
	return r, err
}

// domainExcluded turns the raw list into what people and the ledger see.
func domainExcluded(list []excluded) []drydock.Excluded {
	out := make([]drydock.Excluded, 0, len(list))
	for _, x := range list {
		out = append(out, drydock.Excluded{Path: show(x.path), Reason: x.reason})
	}
	return out
}

// counts sums the changes of a Capture.
func counts(changes []change) drydock.Counts {
	var c drydock.Counts
	for _, x := range changes {
		switch x.kind {
		case drydock.Added:
			c.Added++
		case drydock.Modified:
			c.Modified++
		case drydock.Deleted:
			c.Deleted++
		}
	}
	return c
}

// checkpoint is a Checkpoint as the shadow repository holds it, but for the
// entries of its tree.
type checkpoint struct {
	record
	commit, tree oid
	dirs         []string
	excluded     []excluded
	modules      map[string]oid
}

func (c checkpoint) capture() drydock.Capture { return c.record.capture(c.commit, c.tree, c.excluded) }

// checkpoints reads Checkpoints by their commits. What is not there although it
// was recorded is recovery_required, never taken for empty.
func (l layout) checkpoints(ctx context.Context, k dock, f format, commits ...oid) ([]checkpoint, error) {
	var names []string
	parts := []string{"", ":meta/dirs", ":meta/excluded", ":meta/submodules", ":tree"}
	for _, c := range commits {
		for _, p := range parts {
			names = append(names, c.String()+p)
		}
	}
	objects, err := l.readObjects(ctx, k.shadow, names)
	if err != nil {
		return nil, damaged(err)
	}
	var out []checkpoint
	for i, commit := range commits {
		c, err := parseCheckpoint(f, commit, objects[i*len(parts):])
		if err != nil {
			return nil, damaged(err)
		}
		out = append(out, c)
	}
	return out, nil
}

func parseCheckpoint(f format, commit oid, o []object) (checkpoint, error) {
	c := checkpoint{commit: commit, tree: f.emptyTree()}
	for _, x := range o[:4] {
		if x.name == "" {
			return c, errors.New("a part of it is missing")
		}
	}
	var err error
	if c.record, err = parseRecord(o[0].content); err != nil {
		return c, err
	}
	c.dirs, c.excluded = splitNUL(o[1].content), decodeExcluded(o[2].content)
	if c.modules, err = decodeModules(f, o[3].content); err != nil {
		return c, err
	}
	switch {
	case o[4].name != "":
		c.tree, err = f.parse(o[4].name)
	case c.Files > 0:
		err = errors.New("its tree is missing")
	}
	return c, err
}

func damaged(err error) error {
	return because(err, fault.New(fault.RecoveryRequired, "a Checkpoint cannot be read").
		Hint("the Drydock's shadow repository or its source was changed from outside; restore it from a backup, or make a new Drydock"))
}

// loadManifest reads a whole Checkpoint from the shadow repository. Its entries
// have no stats.
func (l layout) loadManifest(ctx context.Context, k dock, f format, commit oid) (*manifest, error) {
	c, err := l.checkpoints(ctx, k, f, commit)
	if err != nil {
		return nil, err
	}
	m := newManifest(f)
	m.commit, m.dirs, m.excluded, m.modules = commit, c[0].dirs, c[0].excluded, c[0].modules
	m.index.sha256 = c[0].IndexSHA256
	if err := l.loadTree(ctx, k.shadow, m, c[0].tree); err != nil {
		return nil, damaged(err)
	}
	return m, nil
}

// loadTree adds the entries of a tree to a manifest.
func (l layout) loadTree(ctx context.Context, gitDir string, m *manifest, tree oid) error {
	err := l.lsTree(ctx, gitDir, m.format, tree.String(), false, func(x leaf) error {
		switch x.mode {
		case modeTree:
			return nil
		case modeSubmodule:
			m.kept[x.path] = true
			return nil
		}
		dir, name := split(x.path)
		f := m.folders[dir]
		if f == nil {
			f = &folder{path: dir}
			m.folders[dir] = f
		}
		f.entries = append(f.entries, entry{name: name, mode: plainMode(x.mode), oid: x.oid})
		return nil
	})
	// git sorts a directory's name as if it ended in a slash; folders sort files
	// only, by bytes, which is the same order among files.
	for _, f := range m.folders {
		if !slices.IsSortedFunc(f.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) }) {
			slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
		}
	}
	return err
}

// plainMode maps the modes of old git versions to today's.
func plainMode(mode uint32) uint32 {
	switch {
	case mode == modeSymlink || mode == modeSubmodule:
		return mode
	case mode&0o100 != 0:
		return modeExecutable
	}
	return modeFile
}

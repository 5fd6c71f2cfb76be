package gitdrydock

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// record is meta/capture.json: what a repeated Capture answers.
type record struct {
	Version     int            `json:"version"`
	Checkpoint  id.Checkpoint  `json:"checkpoint"`
	Parent      id.Checkpoint  `json:"parent"`
	IndexSHA256 string         `json:"index_sha256"`
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

// recorded reads what a Capture answered when it was made.
func (l layout) recorded(ctx context.Context, k dock, f format, commit oid) (record, drydock.Capture, error) {
	var r record
	at := commit.String() + ":meta/"
	objects, err := l.readObjects(ctx, k.shadow, []string{at + "capture.json", at + "excluded"})
	if err != nil {
		return r, drydock.Capture{}, damaged(err)
	}
	if err := json.Unmarshal(objects[0], &r); err != nil {
		return r, drydock.Capture{}, damaged(err)
	}
	tree, err := l.subtree(ctx, k, f, commit)
	return r, r.capture(commit, tree, decodeExcluded(objects[1])), err
}

func damaged(err error) error {
	return fault.Wrap(fault.RecoveryRequired, err, "a Checkpoint cannot be read").
		Hint("the Drydock's shadow repository or its source was changed from outside; restore it from a backup, or make a new Drydock")
}

// subtree resolves a Checkpoint's tree/, which is absent when there are no
// files.
func (l layout) subtree(ctx context.Context, k dock, f format, commit oid) (oid, error) {
	out, err := l.run(ctx, gitCall{gitDir: k.shadow, args: []string{"ls-tree", "-d", "-z", "--full-tree", "--end-of-options", commit.String(), "tree"}})
	if err != nil {
		return "", damaged(err)
	}
	if len(out) == 0 {
		return f.emptyTree(), nil
	}
	x, err := parseLeaf(string(bytes.TrimSuffix(out, []byte{0})), f, false)
	return x.oid, err
}

// loadManifest reads a whole Checkpoint from the shadow repository. Its entries
// have no stats.
func (l layout) loadManifest(ctx context.Context, k dock, f format, commit oid) (*manifest, error) {
	m := newManifest(f)
	m.commit = commit
	at := commit.String() + ":meta/"
	objects, err := l.readObjects(ctx, k.shadow, []string{at + "dirs", at + "excluded", at + "submodules", at + "index"})
	if err != nil {
		return nil, damaged(err)
	}
	m.dirs, m.excluded = splitNUL(objects[0]), decodeExcluded(objects[1])
	if m.modules, err = decodeModules(f, objects[2]); err != nil {
		return nil, damaged(err)
	}
	if objects[3] != nil {
		m.index.sha256 = canon.SHA256(objects[3])
	}
	tree, err := l.subtree(ctx, k, f, commit)
	if err != nil {
		return nil, err
	}
	if err := l.loadTree(ctx, k.shadow, m, tree); err != nil {
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

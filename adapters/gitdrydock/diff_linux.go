package gitdrydock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// treeOptions and patchOptions spell everything that configuration, attributes
// or a later git could change in the output of diff-tree. Some of the second
// would turn a list into a patch.
var (
	treeOptions = []string{
		"-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-index", "--no-abbrev",
		"--submodule=short", "--ignore-submodules=none", "--no-relative", "-O/dev/null",
	}
	patchOptions = []string{
		"--patch", "--no-color", "--no-color-moved", "--diff-algorithm=myers", "--no-indent-heuristic",
		"--unified=3", "--inter-hunk-context=0", "--ws-error-highlight=none", "--src-prefix=a/", "--dst-prefix=b/",
		"--output-indicator-new=+", "--output-indicator-old=-", "--output-indicator-context= ",
	}
)

// diffTree runs diff-tree on the two sides of a comparison.
func (v visit) diffTree(ctx context.Context, a, b side, read func(io.Reader) error, options ...string) error {
	args := slices.Concat([]string{"diff-tree"}, treeOptions, options, []string{"--end-of-options", a.tree.String(), b.tree.String(), "--"})
	_, err := v.l.run(ctx, gitCall{gitDir: v.k.shadow, args: args, stdout: read})
	return err
}

// Changes implements ports.Worktrees. It covers files, links, submodules and
// empty directories, sorted by path; an empty from means the base commit.
func (d *Drydocks) Changes(ctx context.Context, p drydock.Place, from, to id.Checkpoint) ([]drydock.Change, error) {
	v, err := d.find(p)
	if err != nil {
		return nil, edge(err)
	}
	a, b, err := v.pair(ctx, from, to)
	if err != nil {
		return nil, edge(err)
	}
	var out []drydock.Change
	if err := v.diffTree(ctx, a, b, func(r io.Reader) error { return readRaw(r, v.format, &out) }, "--raw", "-z"); err != nil {
		return nil, edge(damaged(err))
	}
	diffSorted(a.dirs, b.dirs, func(path string, kind drydock.ChangeKind) {
		out = append(out, drydock.Change{Path: show(path + "/"), Kind: kind})
	})
	sortChanges(out)
	return out, nil
}

// rawDiff is one line of diff-tree --raw.
type rawDiff struct {
	now    uint32 // mode, 0 for nothing
	nowOID oid
	kind   drydock.ChangeKind
	path   string
}

// readRaw lists raw differences as changes.
func readRaw(r io.Reader, f format, out *[]drydock.Change) error {
	return eachRaw(r, f, func(d rawDiff) {
		*out = append(*out, drydock.Change{Path: show(d.path), Kind: d.kind})
	})
}

// eachRaw reads ":<mode> <mode> <oid> <oid> <status>" and the path, each ended
// by NUL.
func eachRaw(r io.Reader, f format, each func(rawDiff)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		head, err := in.ReadString(0)
		if errors.Is(err, io.EOF) && head == "" {
			return nil
		}
		if err != nil {
			return err
		}
		path, err := in.ReadString(0)
		if err != nil {
			return err
		}
		d, err := parseRaw(strings.TrimSuffix(head, "\x00"), f)
		if err != nil {
			return err
		}
		d.path = strings.TrimSuffix(path, "\x00")
		each(d)
	}
}

func parseRaw(head string, f format) (d rawDiff, err error) {
	kinds := map[string]drydock.ChangeKind{"A": drydock.Added, "D": drydock.Deleted, "M": drydock.Modified, "T": drydock.Modified}
	fields := strings.Fields(strings.TrimPrefix(head, ":"))
	if len(fields) != 5 || kinds[fields[4]] == "" {
		return d, fmt.Errorf("unexpected line of diff-tree %q", head)
	}
	d.kind = kinds[fields[4]]
	mode, err := strconv.ParseUint(fields[1], 8, 32)
	if err != nil {
		return d, fmt.Errorf("unexpected mode of diff-tree in %q", head)
	}
	d.now = uint32(mode)
	d.nowOID, err = f.parse(fields[3])
	return d, err
}

// Diff implements ports.Worktrees. The patch is for people: binary files are
// named and not shown, and its bytes are as hostile as the files they come from.
func (d *Drydocks) Diff(ctx context.Context, p drydock.Place, from, to id.Checkpoint, w io.Writer) error {
	v, err := d.find(p)
	if err != nil {
		return edge(err)
	}
	a, b, err := v.pair(ctx, from, to)
	if err != nil {
		return edge(err)
	}
	read := func(r io.Reader) error { _, err := io.Copy(w, r); return err }
	if err := v.diffTree(ctx, a, b, read, patchOptions...); err != nil {
		return fault.Wrap(fault.Internal, err, "the difference could not be written")
	}
	return nil
}

// side is one tree of a comparison with its empty directories.
type side struct {
	tree oid
	dirs []string
}

// pair reads both sides; an empty from is the base commit.
func (v visit) pair(ctx context.Context, from, to id.Checkpoint) (a, b side, err error) {
	var commits []oid
	for _, c := range []id.Checkpoint{to, from} {
		if c == "" && len(commits) > 0 {
			break
		}
		commit, err := v.k.mustRef(v.format, c)
		if err != nil {
			return a, b, err
		}
		commits = append(commits, commit)
	}
	list, err := v.l.checkpoints(ctx, v.k, v.format, commits...)
	if err != nil {
		return a, b, err
	}
	b = side{list[0].tree, list[0].dirs}
	if from == "" {
		a.tree, err = v.format.parse(v.headTree)
		return a, b, err
	}
	return side{list[1].tree, list[1].dirs}, b, nil
}

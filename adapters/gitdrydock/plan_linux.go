package gitdrydock

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"cyberagent/domain/canon"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// goal is what the files shall be: a tree whose objects the Drydock's own
// shadow repository can read, its empty directories, and the raw index.
type goal struct {
	tree        oid
	dirs        []string
	indexSHA256 string
	// index reads the bytes of the raw index; only called when they are needed.
	index func(context.Context) ([]byte, error)
}

// target is a Checkpoint of this Drydock as a goal.
func (v visit) target(c checkpoint) goal {
	return goal{tree: c.tree, dirs: c.dirs, indexSHA256: c.IndexSHA256, index: func(ctx context.Context) ([]byte, error) {
		return v.l.readIndexOf(ctx, v.k, c)
	}}
}

// readIndexOf returns the raw index that a Checkpoint holds.
func (l layout) readIndexOf(ctx context.Context, k dock, c checkpoint) ([]byte, error) {
	o, err := l.readObjects(ctx, k.shadow, []string{c.commit.String() + ":meta/index"})
	if err == nil && (o[0].name == "" || canon.SHA256(o[0].content) != c.IndexSHA256) {
		err = errors.New("its index is missing or another")
	}
	if err != nil {
		return nil, damaged(err)
	}
	return o[0].content, nil
}

// restoration is everything that must be done to the files to reach a goal.
type restoration struct {
	from checkpoint
	goal goal
	// was is the Checkpoint that the files are compared with, now is what is on
	// disk, expected what shall be there afterwards.
	was      *manifest
	now      *scanned
	expected *manifest

	deletes []string // files and links, sorted
	writes  []leaf   // sorted by path
	rmdirs  []string // empty directories that shall go
	needed  []string // directories that must be there, parents first
	index   bool     // the raw index differs
	counts  drydock.Counts
	// recorded is how the goal's tree differs from the Checkpoint's.
	recorded drydock.Counts
	blocked  []excluded
}

// restoration compares the current Checkpoint, the files, and the goal. What it
// costs grows with what differs, but for the walk; the files are walked while git
// says what the goal has. compared names the Checkpoint that current is the
// commit of, and the goal.
func (v visit) restoration(ctx context.Context, current oid, compared func() (checkpoint, goal, error)) (*restoration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan error, 1)
	r := &restoration{}
	go func() { looked <- r.look(ctx, v, current) }()
	differ, err := v.differences(ctx, r, compared)
	if err != nil {
		cancel()
	}
	// Nothing may walk the tree any more when the Drydock's lock is released.
	if e := <-looked; err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	r.decide(differ)
	return r, nil
}

// look reads what is on disk.
func (r *restoration) look(ctx context.Context, v visit, current oid) (err error) {
	if r.was, err = v.l.manifestOf(ctx, v.k, v.format, current); err != nil {
		return err
	}
	if r.now, err = scan(ctx, v.k.tree, r.was); err != nil {
		return err
	}
	r.now.next.index, err = v.readIndex(r.was.index)
	return err
}

// differences are those between the Checkpoint's tree and the goal's.
func (v visit) differences(ctx context.Context, r *restoration, compared func() (checkpoint, goal, error)) (list []rawDiff, err error) {
	if r.from, r.goal, err = compared(); err != nil {
		return nil, err
	}
	err = v.diffTree(ctx, side{tree: r.from.tree}, side{tree: r.goal.tree}, func(out io.Reader) error {
		return eachRaw(out, v.format, func(d rawDiff) { list = append(list, d) })
	}, "--raw", "-z")
	if err != nil {
		return nil, damaged(err)
	}
	return list, nil
}

// decide says for every path that differs what is to be done about it.
func (r *restoration) decide(differ []rawDiff) {
	r.index = r.now.next.index.sha256 != r.goal.indexSHA256
	var recorded []change
	want := map[string]leaf{} // mode 0 for nothing
	kept := maps.Clone(r.was.kept)
	for _, c := range r.now.changes {
		if c.dir || r.was.kept[c.path] || c.mode == modeSubmodule {
			continue
		}
		x := leaf{path: c.path}
		if e, ok := r.was.entry(c.path); ok {
			x.mode, x.oid = e.mode, e.oid
		}
		want[c.path] = x
	}
	for _, d := range differ {
		recorded = append(recorded, change{kind: d.kind})
		delete(kept, d.path)
		x := leaf{path: d.path, mode: plainMode(d.now), oid: d.nowOID}
		switch d.now {
		case 0:
			x.mode = 0
		case modeSubmodule:
			kept[d.path], x.mode = true, 0
		}
		want[d.path] = x
	}
	r.recorded = counts(recorded)
	for _, p := range slices.Sorted(maps.Keys(want)) {
		r.path(want[p])
	}
	r.directories(kept)
	r.expect(kept)
	r.block()
}

// between is the restoration from one Checkpoint of this Drydock to another.
func (v visit) between(ctx context.Context, current, target id.Checkpoint) (*restoration, error) {
	from, err := v.k.mustRef(v.format, current)
	if err != nil {
		return nil, err
	}
	return v.restoration(ctx, from, func() (checkpoint, goal, error) {
		list, err := v.named(ctx, current, target)
		if err != nil {
			return checkpoint{}, goal{}, err
		}
		return list[0], v.target(list[1]), nil
	})
}

// entry finds a file or link of the manifest by its path.
func (m *manifest) entry(path string) (entry, bool) {
	dir, name := split(path)
	f := m.folders[dir]
	i, ok := f.find(name)
	if !ok {
		return entry{}, false
	}
	return f.entries[i], true
}

// path decides what is to be done about one path.
func (r *restoration) path(x leaf) {
	have, there := r.now.next.entry(x.path)
	switch {
	case x.mode == 0 && !there:
	case x.mode == 0:
		r.deletes = append(r.deletes, x.path)
		r.counts.Deleted++
	case !there:
		r.writes = append(r.writes, x)
		r.counts.Added++
	case have.mode != x.mode || have.oid != x.oid:
		r.writes = append(r.writes, x)
		r.counts.Modified++
	}
}

// directories decides which empty directories come and go, and which must be
// there for the files.
func (r *restoration) directories(kept map[string]bool) {
	want := map[string]bool{}
	for _, d := range r.goal.dirs {
		want[d] = true
	}
	for d := range kept {
		want[d] = true
	}
	have := map[string]bool{}
	for _, d := range r.now.next.dirs {
		have[d] = true
	}
	for d := range r.now.next.kept {
		have[d] = true
	}
	need := map[string]bool{}
	ancestors := func(p string) {
		for d, _ := split(p); d != "" && !need[d]; d, _ = split(d) {
			need[d] = true
		}
	}
	for _, x := range r.writes {
		ancestors(x.path)
	}
	for d := range want {
		ancestors(d)
		need[d] = true
		if !have[d] {
			r.counts.Added++
		}
	}
	for d := range have {
		if !want[d] {
			r.counts.Deleted++
			if !need[d] {
				r.rmdirs = append(r.rmdirs, d)
			}
		}
	}
	slices.Sort(r.rmdirs)
	r.needed = slices.Sorted(maps.Keys(need))
}

// expect makes the manifest that a walk should find afterwards.
func (r *restoration) expect(kept map[string]bool) {
	m := newManifest(r.was.format)
	m.folders = maps.Clone(r.now.next.folders)
	m.modules, m.kept, m.excluded = r.was.modules, kept, r.now.next.excluded
	m.dirs = slices.Sorted(slices.Values(r.goal.dirs))
	own := map[string]bool{} // folders that are this manifest's alone
	edit := func(path string) (*folder, string) {
		dir, name := split(path)
		f := m.folders[dir]
		switch {
		case f == nil:
			f = &folder{path: dir}
		case !own[dir]:
			f = &folder{path: dir, entries: slices.Clone(f.entries)}
		}
		m.folders[dir], own[dir] = f, true
		return f, name
	}
	for _, p := range r.deletes {
		f, name := edit(p)
		if i, ok := f.find(name); ok {
			f.entries = slices.Delete(f.entries, i, i+1)
		}
	}
	for _, x := range r.writes {
		f, name := edit(x.path)
		e := entry{name: name, mode: x.mode, oid: x.oid}
		if i, ok := f.find(name); ok {
			f.entries[i] = e
		} else {
			f.entries = slices.Insert(f.entries, i, e)
		}
	}
	r.expected = m
}

// touched are the directories in which a restoration changes a name, with all
// above them.
func (r *restoration) touched() map[string]bool {
	t := map[string]bool{"": true}
	up := func(p string) {
		for d, _ := split(p); !t[d]; d, _ = split(d) {
			t[d] = true
		}
	}
	for _, p := range r.deletes {
		up(p)
	}
	for _, x := range r.writes {
		up(x.path)
	}
	for _, d := range slices.Concat(r.rmdirs, r.needed) {
		up(d)
		t[d] = true
	}
	return t
}

// block finds excluded entries that are in the way: at the place of something
// that is wanted, above it, or inside a directory that must become a file.
func (r *restoration) block() {
	if len(r.now.next.excluded) == 0 {
		return
	}
	files := map[string]bool{}
	all := map[string]bool{}
	for _, x := range r.writes {
		files[x.path], all[x.path] = true, true
	}
	for _, d := range r.needed {
		all[d] = true
	}
	for _, x := range r.now.next.excluded {
		blocked := all[x.path]
		for d, _ := split(x.path); d != "" && !blocked; d, _ = split(d) {
			blocked = files[d]
		}
		if blocked {
			r.blocked = append(r.blocked, x)
		}
	}
}

// digest covers all three sides of every path that matters.
func (r *restoration) digest(current, target id.Checkpoint) string {
	type line struct {
		What string `json:"what"`
		Path string `json:"path"` // quoted: names are bytes
		OID  string `json:"oid"`
	}
	lines := []line{}
	for _, c := range r.now.changes {
		what := "unrecorded " + string(c.kind)
		if c.dir {
			what += " directory"
		}
		lines = append(lines, line{what, show(c.path), c.oid.String()})
	}
	for _, p := range r.deletes {
		lines = append(lines, line{"delete", show(p), ""})
	}
	for _, x := range r.writes {
		what := "write"
		if x.mode != modeFile {
			what = map[uint32]string{modeExecutable: "write executable", modeSymlink: "write link"}[x.mode]
		}
		lines = append(lines, line{what, show(x.path), x.oid.String()})
	}
	for _, x := range r.now.next.excluded {
		lines = append(lines, line{"excluded " + x.reason, show(x.path), ""})
	}
	return canon.Digest(struct {
		Current id.Checkpoint `json:"current"`
		Target  id.Checkpoint `json:"target"`
		Index   [2]string     `json:"index"`
		Dirs    [2][]string   `json:"dirs"`
		Lines   []line        `json:"lines"`
	}{current, target, [2]string{r.now.next.index.sha256, r.goal.indexSHA256}, [2][]string{shown(r.rmdirs), shown(r.goal.dirs)}, lines})
}

func shown(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = show(p)
	}
	return out
}

// unrecorded says how much on disk the current Checkpoint does not have.
func (r *restoration) unrecorded() int64 {
	n := int64(len(r.now.changes))
	if r.was.index.sha256 != r.now.next.index.sha256 {
		n++
	}
	return n
}

// plan is the restoration as a person sees it.
func (r *restoration) plan(current, target id.Checkpoint, most int) drydock.Plan {
	p := drydock.Plan{
		Current: current, Target: target, Digest: r.digest(current, target), Counts: r.counts,
		Unrecorded: r.unrecorded(), Index: r.index, Blocked: domainExcluded(r.blocked),
	}
	loose := map[string]bool{}
	for _, c := range r.now.changes {
		loose[c.path] = true
	}
	add := func(path string, kind drydock.ChangeKind) {
		p.Changes = append(p.Changes, drydock.PlanChange{Path: show(path), Kind: kind, Unrecorded: loose[strings.TrimSuffix(path, "/")]})
	}
	for _, d := range r.deletes {
		add(d, drydock.Deleted)
	}
	for _, x := range r.writes {
		kind := drydock.Added
		if _, there := r.now.next.entry(x.path); there {
			kind = drydock.Modified
		}
		add(x.path, kind)
	}
	for _, d := range r.rmdirs {
		add(d+"/", drydock.Deleted)
	}
	diffSorted(r.now.next.dirs, r.expected.dirs, func(d string, kind drydock.ChangeKind) {
		if kind == drydock.Added {
			add(d+"/", kind)
		}
	})
	slices.SortFunc(p.Changes, func(a, b drydock.PlanChange) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Kind), string(b.Kind)))
	})
	p.Changes = p.Changes[:min(len(p.Changes), most)]
	return p
}

// marker is rewind.json: a rewind that began to change files. Its presence says
// that the files are neither the one Checkpoint nor the other.
type marker struct {
	Next   id.Checkpoint `json:"next"`
	Target id.Checkpoint `json:"target"`
	Parent id.Checkpoint `json:"parent"`
}

func (k dock) readMarker() (*marker, error) {
	b, err := readRegular(k.file("rewind.json"), 64<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's own records cannot be read")
	}
	m := &marker{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fault.Wrap(fault.RecoveryRequired, err, "the Drydock's own records cannot be read")
	}
	return m, nil
}

// Plan implements ports.Rewinds.
func (d *Drydocks) Plan(ctx context.Context, p drydock.Place, current, target id.Checkpoint, most int) (drydock.Plan, error) {
	v, err := d.enter(ctx, p)
	if err != nil {
		return drydock.Plan{}, edge(err)
	}
	defer v.unlock()
	plan, err := v.planned(ctx, current, target, most)
	return plan, edge(err)
}

func (v visit) planned(ctx context.Context, current, target id.Checkpoint, most int) (drydock.Plan, error) {
	m, err := v.k.readMarker()
	if err != nil {
		return drydock.Plan{}, err
	}
	r, err := v.between(ctx, current, target)
	if err != nil {
		return drydock.Plan{}, err
	}
	plan := r.plan(current, target, most)
	plan.Interrupted = m != nil
	return plan, nil
}

// named reads Checkpoints by their ids.
func (v visit) named(ctx context.Context, names ...id.Checkpoint) ([]checkpoint, error) {
	var commits []oid
	for _, n := range names {
		c, err := v.k.mustRef(v.format, n)
		if err != nil {
			return nil, err
		}
		commits = append(commits, c)
	}
	return v.l.checkpoints(ctx, v.k, v.format, commits...)
}

package gitdrydock

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

// shadowConfig is the whole configuration of a repository of ours. git's own
// defaults change; what matters here is spelled.
const shadowConfig = `[core]
	repositoryformatversion = 1
	bare = true
	filemode = true
	symlinks = true
	ignorecase = false
	precomposeunicode = false
	autocrlf = false
	logallrefupdates = false
	hooksPath = /dev/null
	compression = 1
[extensions]
	objectFormat = %FORMAT%
[fastimport]
	unpackLimit = 0
[repack]
	updateServerInfo = false
	writeBitmaps = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

// makeShadow makes a bare repository whose objects are those of the source,
// with a store of its own for new ones. No template is copied, so there are no
// hooks. Repeating it completes it.
func makeShadow(dir string, f format, sourceObjects string) error {
	for _, d := range []string{"store/info", "store/pack", "objects/info", "objects/pack", "refs/cyberagent/checkpoints", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return fault.Wrap(fault.Internal, err, "cannot make the shadow repository")
		}
	}
	alternates := alternatesLine(filepath.Join(dir, "store")) + alternatesLine(sourceObjects)
	files := []struct{ name, content string }{
		{"config", strings.ReplaceAll(shadowConfig, "%FORMAT%", string(f))},
		{"objects/info/alternates", alternates},
		{"HEAD", "ref: refs/heads/none\n"}, // last: without it this is no repository
	}
	for _, x := range files {
		if err := writeAtomic(filepath.Join(dir, x.name), []byte(x.content), true); err != nil {
			return fault.Wrap(fault.Internal, err, "cannot make the shadow repository")
		}
	}
	return nil
}

// alternatesLine quotes a path as git reads it: plain, or in C quotes.
func alternatesLine(path string) string {
	if strings.ContainsAny(path, "\"\\\n") || !isASCII(path) {
		return string(importQuote(nil, path)) + "\n"
	}
	return path + "\n"
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// checkpointRef is where a Checkpoint's commit is held.
func checkpointRef(c id.Checkpoint) string { return "refs/cyberagent/checkpoints/" + string(c) }

// readRef returns the commit of a Checkpoint, none when there is no such
// Checkpoint. The shadow repository keeps its refs as files; reading one costs
// the same however many there are.
func (k dock) readRef(f format, c id.Checkpoint) (oid, error) {
	if !id.Valid(id.KindCheckpoint, string(c)) {
		return "", fault.New(fault.InvalidArgument, "%q is not the id of a Checkpoint", c).At("checkpoint")
	}
	b, err := readRegular(filepath.Join(k.shadow, checkpointRef(c)), 200)
	switch {
	case err == nil:
		o, err := f.parse(strings.TrimSpace(string(b)))
		if err != nil {
			return "", fault.Wrap(fault.RecoveryRequired, err, "the ref of Checkpoint %s is damaged", c)
		}
		return o, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fault.Wrap(fault.RecoveryRequired, err, "the ref of Checkpoint %s cannot be read", c)
	}
	packed, err := os.ReadFile(filepath.Join(k.shadow, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fault.Wrap(fault.RecoveryRequired, err, "the refs of the shadow repository cannot be read")
	}
	for line := range bytes.Lines(packed) {
		if name, ok := strings.CutSuffix(strings.TrimSpace(string(line)), " "+checkpointRef(c)); ok {
			return f.parse(name)
		}
	}
	return "", nil
}

// mustRef is readRef for a Checkpoint that the caller was told exists.
func (k dock) mustRef(f format, c id.Checkpoint) (oid, error) {
	o, err := k.readRef(f, c)
	if err == nil && o == "" {
		err = fault.New(fault.RecoveryRequired, "Checkpoint %s is not in the shadow repository", c).
			With("checkpoint", string(c)).Hint("the Drydock's own directory was changed from outside; restore it from a backup, or make a new Drydock")
	}
	return o, err
}

// sweep removes what a killed fast-import left where it would be in the way or
// would add up. The Drydock's lock is held, so nobody else is at work.
func (k dock) sweep(next id.Checkpoint) {
	_ = os.Remove(filepath.Join(k.shadow, checkpointRef(next)) + ".lock")
	removeAll(k.shadow, "fast_import_crash_*", "store/pack/tmp_*")
}

// sweepRecords removes what a process that was killed while it wrote a record left
// beside it. The Drydock's lock is held.
func (k dock) sweepRecords() { removeAll(k.dir, ".new-*") }

func removeAll(dir string, patterns ...string) {
	for _, p := range patterns {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(dir), p))
		for _, f := range found {
			_ = os.Remove(f)
		}
	}
}

package gitdrydock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// notices are what a person should know before confirming: how the Drydock's
// files will differ from what a checkout would have made. The order is fixed,
// for the trust digest covers them.
func (l layout) notices(ctx context.Context, scratch string, r repository, set settings, base *baseTree) ([]string, error) {
	out := []string{}
	if n := len(base.modules); n > 0 {
		var names []string
		for _, x := range base.modules[:min(n, 5)] {
			names = append(names, show(x.path))
		}
		out = append(out, fmt.Sprintf("%s: %s", plural(n, "submodule stays an empty directory", "submodules stay empty directories"), strings.Join(names, ", ")))
	}
	attrs, err := l.attributes(ctx, scratch, r, base)
	if err != nil {
		return nil, err
	}
	if len(attrs.filters) > 0 {
		out = append(out, "filters are not applied, files are written as git stores them: "+strings.Join(attrs.filters, ", "))
	}
	if slices.Contains(attrs.filters, "lfs") {
		n, err := l.lfsPointers(ctx, scratch, base)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%s written as the pointer, not as the content it names", plural(n, "LFS file is", "LFS files are")))
		}
	}
	if attrs.lineEnds || set.on("core.autocrlf") || set.last("core.eol") != "" {
		out = append(out, "line ends are not converted: files have the bytes that git stores")
	}
	if attrs.keywords {
		out = append(out, "ident and working-tree-encoding are not applied: files have the bytes that git stores")
	}
	if set.on("core.sparsecheckout") {
		out = append(out, "the source is a sparse checkout; the Drydock has all files of the commit")
	}
	if _, err := readRegular(filepath.Join(r.commonDir, "shallow"), smallObject); err == nil {
		out = append(out, "the source is a shallow clone; its history is not complete")
	}
	var owner unix.Stat_t
	if err := unix.Stat(r.commonDir, &owner); err == nil && os.Geteuid() == 0 && owner.Uid != 0 {
		out = append(out, fmt.Sprintf("the source belongs to user %d; the branch and the worktree's registration in it will belong to root", owner.Uid))
	}
	if set.promisor() {
		out = append(out, "the source is a partial clone; everything the commit needs is there, nothing will be fetched")
	}
	return out, nil
}

// attributes are the kinds of conversion that the commit's .gitattributes and
// the repository's own info/attributes ask for somewhere.
type attributes struct {
	filters  []string // names of filter drivers, sorted
	lineEnds bool
	keywords bool
}

func (l layout) attributes(ctx context.Context, scratch string, r repository, base *baseTree) (attributes, error) {
	var names []string
	for _, x := range base.files {
		if _, name := split(x.path); name == ".gitattributes" && x.mode != modeSymlink && x.size < 1<<20 && len(names) < 10_000 {
			names = append(names, x.oid.String())
		}
	}
	texts, err := l.readObjects(ctx, scratch, names)
	if err != nil {
		return attributes{}, err
	}
	if b, err := readRegular(filepath.Join(r.commonDir, "info", "attributes"), 1<<20); err == nil {
		texts = append(texts, object{content: b})
	}
	var a attributes
	for _, t := range texts {
		a.read(t.content)
	}
	slices.Sort(a.filters)
	a.filters = slices.Compact(a.filters)
	return a, nil
}

// read notes what one file of attributes asks for. Patterns are not matched: a
// notice may be about files that the commit does not have.
func (a *attributes) read(text []byte) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		for _, f := range fields[1:] {
			key, value, _ := strings.Cut(f, "=")
			switch key {
			case "filter":
				if value != "" {
					a.filters = append(a.filters, show(value))
				}
			case "text", "eol", "crlf":
				a.lineEnds = true
			case "ident", "working-tree-encoding":
				a.keywords = true
			}
		}
	}
}

const lfsPrefix = "version https://git-lfs.github.com/spec/"

// lfsPointers counts the blobs that are LFS pointers. They are small; only
// small ones are read.
func (l layout) lfsPointers(ctx context.Context, scratch string, base *baseTree) (int, error) {
	var names []string
	for _, x := range base.files {
		if x.mode != modeSymlink && x.size >= int64(len(lfsPrefix)) && x.size < 1024 {
			names = append(names, x.oid.String())
		}
	}
	n := 0
	err := l.eachObject(ctx, scratch, names, func(o object) {
		if bytes.HasPrefix(o.content, []byte(lfsPrefix)) {
			n++
		}
	})
	return n, err
}

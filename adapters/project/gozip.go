package project

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
	"cyberagent/domain/toolchain"
	"cyberagent/ports"
)

// openGo takes exactly the modules that go.sum pins out of a module cache, each
// proven by its hash. A project with a vendor directory has them in itself.
func openGo(p *project, s ports.ProjectSources, need deps.Need, files map[string][]byte) error {
	p.seeds[command.Go] = func(ctx context.Context, root string) error { return seedGo(ctx, p.tree, root) }
	if err := p.unfetched(need, files, p.fetch("go mod tidy", "go-modules")); err != nil {
		return err
	}
	fetchGo := p.fetch("go mod download", "go-modules")
	if need.InTree || len(deps.GoSums(files["go.sum"])) == 0 {
		p.record.Locks[command.Go] = need.SHA256
		return nil
	}
	cache, err := p.source("go-modules", s.GoModules, ".go-modules")
	if err != nil {
		return err
	}
	if cache == nil {
		return fault.New(fault.InvalidArgument, "no Go module cache is known").At("go-modules").Hint("%s", fetchGo)
	}
	var have []deps.GoSum
	var held []deps.Package
	for _, sum := range deps.GoSums(files["go.sum"]) {
		if _, err := cached(sum.Package, "zip"); err != nil {
			return cache.refuse(sum.String(), "in go.sum is no module: %v", err)
		}
		if sum.Hash == "" {
			have = append(have, sum)
			continue
		}
		name, _ := cached(sum.Package, "zip")
		if _, err := cache.root.Lstat(name); err != nil {
			continue // go.sum may name more than this build needs
		}
		have, held = append(have, sum), append(held, sum.Package)
	}
	if err := p.hold(need, held, fetchGo); err != nil {
		return err
	}
	p.lay(command.Go, toolchain.ModCache, func(ctx context.Context, w io.Writer) error { return writeModules(ctx, cache, have, w) })
	return nil
}

// cached is the name of a module's file in a module cache.
func cached(p deps.Package, ext string) (string, error) {
	mod, err := module.EscapePath(p.Name)
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(p.Version)
	if err != nil {
		return "", err
	}
	if err := module.Check(p.Name, p.Version); err != nil {
		return "", err
	}
	return path.Join("cache/download", mod, "@v", version+"."+ext), nil
}

// writeModules writes a module cache as the go command expects one that was
// downloaded: the files of each module, its go.mod, and the hash that was proven.
func writeModules(ctx context.Context, cache *tree, sums []deps.GoSum, w io.Writer) error {
	out := newTarball(w)
	slices.SortFunc(sums, func(a, b deps.GoSum) int { return strings.Compare(a.String(), b.String()) })
	for _, sum := range sums {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeMod(cache, sum, out); err != nil {
			return err
		}
		if sum.Hash != "" {
			if err := writeZip(ctx, cache, sum, out); err != nil {
				return err
			}
		}
	}
	return out.Close()
}

// writeMod writes a module's go.mod. One that is only pinned for the selection of
// versions may be absent.
func writeMod(cache *tree, sum deps.GoSum, out tarball) error {
	name, err := cached(sum.Package, "mod")
	if err != nil {
		return err
	}
	data, ok, err := cache.read(name, limits.LockfileBytes)
	if err != nil || !ok {
		return err
	}
	if sum.ModHash != "" {
		got, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err != nil {
			return err
		}
		if got != sum.ModHash {
			return otherContent(cache, name, sum, got)
		}
	}
	info, _ := cached(sum.Package, "info")
	if err := out.bytes(name, 0o644, data); err != nil {
		return err
	}
	return out.bytes(info, 0o644, fmt.Appendf(nil, `{"Version":%q}`, sum.Version))
}

func otherContent(cache *tree, name string, sum deps.GoSum, got string) error {
	return fault.New(fault.InvalidArgument, "%s in the module cache is not what go.sum pins (%s)", sum, got).At(cache.field).With("path", name).
		Hint("run `go clean -modcache` and `go mod download`, and find out what changed it")
}

// writeZip writes a module's files after it has proven them.
func writeZip(ctx context.Context, cache *tree, sum deps.GoSum, out tarball) error {
	name, err := cached(sum.Package, "zip")
	if err != nil {
		return err
	}
	info, err := cache.lstat(name)
	if err != nil {
		return err
	}
	f, err := cache.file(name, info)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return cache.unreadable(name, err)
	}
	files := map[string]*zip.File{}
	var names []string
	prefix := sum.String() + "/"
	for _, m := range z.File {
		rel, ok := strings.CutPrefix(m.Name, prefix)
		if !ok || module.CheckFilePath(rel) != nil || files[m.Name] != nil || !m.Mode().IsRegular() || m.UncompressedSize64 > uint64(limits.ProjectFileBytes) {
			return cache.refuse(name, "has the entry %q", m.Name)
		}
		if cache.bytes -= int64(m.UncompressedSize64); cache.bytes < 0 { //nolint:gosec // bounded above
			return cache.refuse(name, "is beyond %d bytes in all", limits.ProjectBytes)
		}
		files[m.Name] = m
		names = append(names, m.Name)
	}
	got, err := dirhash.Hash1(names, func(n string) (io.ReadCloser, error) { return files[n].Open() })
	if err != nil {
		return cache.unreadable(name, err)
	}
	if got != sum.Hash {
		return otherContent(cache, name, sum, got)
	}
	hash, _ := cached(sum.Package, "ziphash")
	if err := out.bytes(hash, 0o644, []byte(sum.Hash)); err != nil {
		return err
	}
	return unzip(ctx, sum.Package, names, files, out)
}

func unzip(ctx context.Context, p deps.Package, names []string, files map[string]*zip.File, out tarball) error {
	mod, err := module.EscapePath(p.Name)
	if err != nil {
		return err
	}
	version, err := module.EscapeVersion(p.Version)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := files[n].Open()
		if err != nil {
			return err
		}
		// Its size is that of its header, or reading it fails: the hash read it whole.
		size := int64(files[n].UncompressedSize64) //nolint:gosec // bounded by writeZip
		err = out.stream(path.Join(mod+"@"+version, strings.TrimPrefix(n, p.String()+"/")), 0o444, size, r)
		_ = r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

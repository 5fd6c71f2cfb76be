package project

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// write makes files below a directory; a name that ends with a slash is an empty
// directory.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read lists a tar: name and content, or name and "-> target".
func read(t *testing.T, data []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	tr := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		b, err := io.ReadAll(tr)
		must(t, err)
		if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(stamp) {
			t.Errorf("%s has owner %d and time %s", h.Name, h.Uid, h.ModTime)
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			all[h.Name] = "-> " + h.Linkname
		case tar.TypeReg:
			all[h.Name] = string(b)
		case tar.TypeDir:
		default:
			t.Errorf("%s has the type %q", h.Name, h.Typeflag)
		}
	}
}

// part opens a project and writes its one part.
func part1(t *testing.T, s ports.ProjectSources) (map[string]string, ports.Project, error) {
	t.Helper()
	p, err := Reader{}.Open(t.Context(), s)
	if err != nil {
		return nil, nil, err
	}
	t.Cleanup(func() { _ = p.Close() })
	if len(p.Parts()) != 1 {
		t.Fatalf("%d parts", len(p.Parts()))
	}
	var buf bytes.Buffer
	if err := p.WritePart(t.Context(), p.Parts()[0], &buf); err != nil {
		return nil, p, err
	}
	return read(t, buf.Bytes()), p, nil
}

// refused holds an error against what a hostile directory must give.
func refused(t *testing.T, err error, field, in string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != fault.InvalidArgument || f.Field != field || f.Remedy == "" || !strings.Contains(f.Msg+" "+f.Details["path"], in) {
		t.Errorf("got %v at %q, want invalid_argument at %q about %q", err, fieldOf(f), field, in)
	}
}

func fieldOf(f *fault.Error) string {
	if f == nil {
		return ""
	}
	return f.Field
}

// module puts a module in a cache, as the go command does, and returns its lines
// for go.sum.
func module1(t *testing.T, cache, name, version string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(cache, "cache/download", name, "@v")
	must(t, os.MkdirAll(dir, 0o755))
	mod := "module " + name + "\n"
	must(t, os.WriteFile(filepath.Join(dir, version+".mod"), []byte(mod), 0o644))
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for n, text := range files {
		w, err := z.Create(name + "@" + version + "/" + n)
		must(t, err)
		_, err = io.WriteString(w, text)
		must(t, err)
	}
	must(t, z.Close())
	must(t, os.WriteFile(filepath.Join(dir, version+".zip"), buf.Bytes(), 0o644))
	h, err := dirhash.HashZip(filepath.Join(dir, version+".zip"), dirhash.Hash1)
	must(t, err)
	m, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(mod)), nil })
	must(t, err)
	return fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", name, version, h, name, version, m)
}

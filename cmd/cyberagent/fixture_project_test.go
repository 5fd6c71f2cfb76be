package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/fault"
)

// The key that `fixture build --project` prints is the one that prepare looks for:
// the source repository's, also where the project's files are in a Drydock.
func TestProjectKey_IsTheSourceRepositorysAlsoOfADrydock(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	root := y.create()
	source, err := filepath.EvalSymlinks(y.source)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	s := &session{process: process{out: new(bytes.Buffer), err: new(bytes.Buffer), lookup: func(string) (string, bool) { return "", false }}, flags: map[string]string{"home": y.home}}
	cfg, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{y.source, filepath.Join(y.source, "a"), root, filepath.Join(root, "a"), link} {
		if key, err := s.repository(t.Context(), cfg, dir); err != nil || key != source {
			t.Errorf("%s: %s %v, want %s", dir, key, err, source)
		}
	}
	_, err = s.repository(t.Context(), cfg, filepath.Join(y.home, "drydocks"))
	if !errors.Is(err, fault.NotFound) || !strings.Contains(fault.From(err).Remedy, "cyberagent drydock use RUN") {
		t.Errorf("a directory of the product's own: %v", err)
	}
}

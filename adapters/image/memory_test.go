package image

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestABuildIsRemembered(t *testing.T) {
	m := Memory[string]{filepath.Join(t.TempDir(), "deep", "fixture.json")}
	if _, ok := m.Recall("a"); ok {
		t.Error("a missing file remembers something")
	}
	for i := range maxMemory + 5 {
		if err := m.Remember(fmt.Sprint(i), fmt.Sprint("made ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Remember("7", "made again"); err != nil {
		t.Fatal(err)
	}
	if got, ok := m.Recall("7"); !ok || got != "made again" {
		t.Errorf("got %q %v", got, ok)
	}
	if _, ok := m.Recall("0"); ok {
		t.Error("the oldest is still there")
	}
	if err := os.WriteFile(m.Path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := m.Recall("7"); ok {
		t.Error("a damaged file remembers something")
	}
	if err := m.Remember("x", "y"); err != nil {
		t.Error(err)
	}
}

func TestTheRecipeIsThisProgram(t *testing.T) {
	if a, b := Recipe(), Recipe(); a == "" || a != b {
		t.Errorf("recipes %q and %q", a, b)
	}
}

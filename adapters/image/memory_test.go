package image

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cyberagent/domain/command"
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

func TestTheRecipeIsTheRunnerAndTheAssembly(t *testing.T) {
	of := func(text string) string {
		return Recipe(func(string) ([]byte, error) { return []byte(text), nil })
	}
	a, again, b := of("a"), of("a"), of("b")
	if a != again || a == b || a == "" {
		t.Errorf("recipes %q and %q", a, b)
	}
	if none := Recipe(func(string) ([]byte, error) { return nil, errors.New("not built in") }); none != "" {
		t.Errorf("without a runner: %q", none)
	}
}

// The image of the made-up bases, by the assembly's version. When it changes, an
// image that was built before is another one than a build would give now: raise
// assemblyVersion and write the new digest here.
var made = map[string]string{
	"1": "sha256:6ef62e43410b47ca68aabffc9f451b9bcbd83c7f00f09a054a5611ab4ac049c1",
}

func TestAnotherImageOfTheSameBasesIsAnotherAssembly(t *testing.T) {
	all := bases(t, map[command.Toolchain][]item{command.Node: {txt("usr/lib/zz/ü", "x"), hard("usr/lib/aa", "usr/lib/zz/ü")}})
	if got := build(t, all).config; got != made[assemblyVersion] {
		t.Errorf("assembly %s makes %s, known is %s", assemblyVersion, got, made[assemblyVersion])
	}
}

package conformance_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance"
)

var attacks = flag.String("attacks.doc", "", "write what came of the attacks to a file")

func TestEveryAttackIsBlockedOrHarmless(t *testing.T) {
	engines := []conformance.Factory{
		dockerEngine("Docker Engine", os.Getenv("CYBERAGENT_DOCKER_SOCKET")),
		containerdEngine("containerd", "CYBERAGENT_CONTAINERD_ADDRESS", "containerd"),
	}
	var outside map[string]string
	t.Run("outside", func(t *testing.T) { outside = conformance.RunControls(t, engines[0].Socket) })
	var rows []conformance.Attacked
	for _, f := range engines {
		t.Run(f.Name, func(t *testing.T) { rows = append(rows, conformance.RunAttacks(t, f)) })
	}
	if *attacks == "" || t.Failed() {
		return
	}
	text := conformance.AttacksDocument(time.Now().UTC().Format(time.DateOnly), kernel(t), outside, rows)
	if err := os.WriteFile(*attacks, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// kernel is its version without what one machine's build adds.
func kernel(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-")
	return release
}

func TestTheDocumentOfTheAttacksIsCurrent(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "attacks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range conformance.CurrentAttacks(string(b)) {
		t.Errorf("docs/attacks.md: %s; run make attacks", line)
	}
	if n := len(conformance.Attacks()); n < 60 {
		t.Errorf("%d attacks", n)
	}
}

func TestWhatIsProvenElsewhereIsThere(t *testing.T) {
	t.Parallel()
	for _, p := range conformance.Elsewhere() {
		files, _ := filepath.Glob(filepath.Join("..", "..", p.Package, "*_test.go"))
		var all strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(b)
		}
		for _, name := range p.Tests {
			if !strings.Contains(all.String(), "\nfunc "+name+"(") {
				t.Errorf("%s: %s has no %s", p.Mechanism, p.Package, name)
			}
		}
	}
}

func TestTheTableOfAttacksIsTheProgramsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range conformance.Attacks() {
		if seen[k.Name] || k.Mechanism == "" || k.What == "" || k.By == "" || len(k.Words) == 0 || (k.Control.As == "") == (k.Control.Reason == "") {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
	listed, err := conformance.AttackerList()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range listed {
		if !seen[name] {
			t.Errorf("%s is in no table", name)
		}
		delete(seen, name)
	}
	for name := range seen {
		t.Errorf("the program has no %s", name)
	}
}

package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"cyberagent/adapters/conformance"
)

var (
	growthRuns = flag.Int("growth.runs", 1, "how often each writer grows")
	growthRows = flag.String("growth.unnamed", "", "file with the rows of what no name shows, made by internal/e2e")
	growthDoc  = flag.String("growth.doc", "", "write what was measured to a file")
)

func TestGrowthIsStoppedHoweverItIsWritten(t *testing.T) {
	all := conformance.MeasureGrowth(t, containerdEngine("containerd", "CYBERAGENT_CONTAINERD_ADDRESS", "containerd"), *growthRuns)
	if *growthDoc == "" || t.Failed() {
		return
	}
	unnamed, err := os.ReadFile(*growthRows)
	if err != nil {
		t.Fatalf("%v\nremedy: make growth", err)
	}
	load, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(load), " ")
	machine := fmt.Sprintf("kernel %s, %d processors, a load of %s at the end", kernel(t), runtime.NumCPU(), one)
	if err := os.WriteFile(*growthDoc, []byte(conformance.GrowthDocument(time.Now().UTC().Format(time.DateOnly), machine, all, string(unnamed))), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestTheDocumentOfGrowthHasEveryWriter(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "growth.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| writer ") {
			rows++
		}
	}
	engines := 2
	for _, name := range conformance.UnnamedWriters() {
		if n := strings.Count(string(b), "\n| "+name+" | "); n != engines {
			t.Errorf("docs/growth.md has %s %d times, want it once an engine: run make growth", name, n)
		}
	}
	rows -= engines * len(conformance.UnnamedWriters())
	for _, w := range conformance.Writers() {
		if !strings.Contains(string(b), "\n| "+w.Name+" | "+w.What+" | ") {
			t.Errorf("docs/growth.md lacks %s: run make growth", w.Name)
		}
	}
	if rows != len(conformance.Writers()) {
		t.Errorf("docs/growth.md has %d writers, there are %d", rows, len(conformance.Writers()))
	}
}

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
	growthDoc  = flag.String("growth.doc", "", "write what was measured to a file")
)

func TestGrowthIsStoppedHoweverItIsWritten(t *testing.T) {
	all := conformance.MeasureGrowth(t, containerdEngine("containerd", "CYBERAGENT_CONTAINERD_ADDRESS", "containerd"), *growthRuns)
	if *growthDoc == "" || t.Failed() {
		return
	}
	load, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(load), " ")
	machine := fmt.Sprintf("kernel %s, %d processors, a load of %s at the end", kernel(t), runtime.NumCPU(), one)
	if err := os.WriteFile(*growthDoc, []byte(conformance.GrowthDocument(time.Now().UTC().Format(time.DateOnly), machine, all)), 0o644); err != nil {
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
	for _, w := range conformance.Writers() {
		if !strings.Contains(string(b), "\n| "+w.Name+" | "+w.What+" | ") {
			t.Errorf("docs/growth.md lacks %s: run make growth", w.Name)
		}
	}
	if rows != len(conformance.Writers()) {
		t.Errorf("docs/growth.md has %d writers, there are %d", rows, len(conformance.Writers()))
	}
}

package lifecycle_test

import (
	"os"
	"strings"
	"testing"
)

// ARCHITECTURE.md draws the table; it is the same as the one written out here.
func TestTheArchitectureDrawsTheMatrix(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, drawn, _ := strings.Cut(string(b), "| state |")
	drawn, _, _ = strings.Cut("| state |"+drawn, "\n\n")
	states, events, next := cells(t)
	lines := strings.Split(drawn, "\n")
	if len(lines) != len(states)+2 {
		t.Fatalf("%d states are drawn, want %d", len(lines)-2, len(states))
	}
	row := func(line string) (cells []string) {
		for _, c := range strings.Split(strings.Trim(line, "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		return cells
	}
	if head := row(lines[0])[1:]; strings.Join(head, " ") != strings.Join(events, " ") {
		t.Fatalf("the events %q are drawn, want %q", head, events)
	}
	for i, state := range states {
		got := row(lines[i+2])
		want := []string{state}
		for _, e := range events {
			want = append(want, strings.Replace(next[[2]string{state, e}], "-", "", 1))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("drawn %q, want %q", got, want)
		}
	}
}

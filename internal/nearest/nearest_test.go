package nearest_test

import (
	"testing"

	"cyberagent/internal/nearest"
)

func TestDistance_CountsEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "run", 3}, {"run", "run", 0}, {"rnu", "run", 2}, {"permision", "permission", 1}, {"events", "selftest", 6}} {
		if got := nearest.Distance(c.a, c.b); got != c.want || nearest.Distance(c.b, c.a) != got {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if nearest.Close("events", "selftest") || !nearest.Close("permision", "permission") || !nearest.Close("lst", "list") || !nearest.Close("shwo", "show") {
		t.Error("close is something else")
	}
}

package docker

import (
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// Docker 20.10 notes the start when its request returns, which can be after a short
// process ended.
func TestReport_NothingEndsBeforeItStarted(t *testing.T) {
	t.Parallel()
	const early, late = "2026-01-02T03:04:05.100362227Z", "2026-01-02T03:04:05.109335896Z"
	at := func(s string) time.Time {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for name, x := range map[string]struct {
		started, finished string
		want              time.Time
	}{
		"an ordinary end":         {early, late, at(late)},
		"an end before the start": {late, early, at(late)},
		"one that runs":           {early, "0001-01-01T00:00:00Z", time.Time{}},
	} {
		c := report(container.InspectResponse{
			ContainerJSONBase: &container.ContainerJSONBase{State: &container.State{StartedAt: x.started, FinishedAt: x.finished}},
			Config:            &container.Config{},
		})
		if !c.FinishedAt.Equal(x.want) || c.StartedAt.IsZero() {
			t.Errorf("%s: %v to %v", name, c.StartedAt, c.FinishedAt)
		}
	}
}

package containerd

import (
	"context"

	stats1 "github.com/containerd/cgroups/v3/cgroup1/stats"
	stats2 "github.com/containerd/cgroups/v3/cgroup2/stats"
	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/typeurl/v2"
)

// oomKilled asks for the kernel's counter of the container's cgroup, which is
// there until the task is deleted. An unreadable one is no: nothing is derived
// from an exit code (pitfall C2).
func (e *Engine) oomKilled(ctx context.Context, c string) bool {
	r, err := call(ctx, e, "read the counters of container "+c, func(ctx context.Context) (*tasks.MetricsResponse, error) {
		return e.client.TaskService().Metrics(ctx, &tasks.MetricsRequest{Filters: []string{"id==" + c}})
	})
	if err != nil {
		return false
	}
	for _, m := range r.GetMetrics() {
		if m.GetID() != c {
			continue
		}
		v, err := typeurl.UnmarshalAny(m.GetData())
		if err != nil {
			continue
		}
		switch s := v.(type) {
		case *stats1.Metrics:
			return s.GetMemoryOomControl().GetOomKill() > 0
		case *stats2.Metrics:
			return s.GetMemoryEvents().GetOomKill() > 0
		}
	}
	return false
}

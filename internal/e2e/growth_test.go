package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	unnamedRuns = flag.Int("unnamed.runs", 1, "how often each writer grows without a name")
	unnamedDoc  = flag.String("unnamed.doc", "", "write the rows of docs/growth.md about it to a file")
)

// unnamedLimit is where growth that no name shows is held against a command.
const unnamedLimit = 64 << 20

// unnamed are those who write what no name shows, and how docs/growth.md calls
// them.
var unnamed = []struct{ abuse, name, what string }{
	{"deleted", "deleted", "one thread, twelve files of 12 MiB, each deleted while it is open, and then nothing"},
	{"deleted_fast", "deleted-fast", "four processes, files of 15 MiB that lose their name before the first byte, without end"},
	{"deleted_unseen", "deleted-unseen", "the same by processes that are not dumpable, which the owner process finds"},
}

// Growth that no name shows is found by the space that goes: other commands on
// the disk would disturb it, and so it runs alone.
func TestLimits_GrowthThatNoNameShowsEnds(t *testing.T) {
	type engine struct {
		name string
		*home
	}
	engines := []engine{{"docker", MustHome(t)}}
	if *unnamedDoc != "" {
		engines = append(engines, engine{"containerd", MustHome(t).containerd(t)})
	}
	var rows strings.Builder
	for _, e := range engines {
		f := e.MustFlow(t, e.MustScripts(t, "abuse.py"))
		for _, w := range unnamed {
			var beyond, took []int64
			for range *unnamedRuns {
				stop := fallOf(t, e.dir)
				checkAbuse(t, f, abuse{
					args: []string{w.abuse}, timeout: 240, exit: 5,
					ends: []string{"failed/workspace_growth_unattributed", "failed/workspace_growth_bytes"},
				})
				most, millis := stop()
				beyond, took = append(beyond, max(0, most-unnamedLimit)), append(took, millis)
				f.take(f.MustStatus(t))
			}
			slices.Sort(beyond)
			slices.Sort(took)
			middle, last := len(beyond)/2, len(beyond)-1
			fmt.Fprintf(&rows, "| %s | %s, on %s | %d | %.1f | %.1f | %d | %d |\n", w.name, w.what, e.name, len(beyond),
				float64(beyond[middle])/(1<<20), float64(beyond[last])/(1<<20), took[middle], took[last])
		}
		f.MustRunOrdinarily(t)
	}
	t.Log("\n" + rows.String())
	if *unnamedDoc != "" && !t.Failed() {
		must(t, os.WriteFile(*unnamedDoc, []byte(rows.String()), 0o644))
	}
}

// fallOf watches how the free space of a filesystem falls. The returned function
// ends that and says by how much it did at the most, in bytes, and how many
// milliseconds went from the limit to there.
func fallOf(t *testing.T, dir string) (stop func() (most, millis int64)) {
	t.Helper()
	free := func() int64 {
		var s syscall.Statfs_t
		must(t, syscall.Statfs(dir, &s))
		return int64(s.Bavail) * s.Bsize
	}
	first := free()
	done, ended := make(chan struct{}), make(chan struct{})
	var most int64
	var crossed, last time.Time
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			fell := first - free()
			if fell > unnamedLimit && crossed.IsZero() {
				crossed = time.Now()
			}
			if fell > most {
				most, last = fell, time.Now()
			}
		}
	}()
	return func() (int64, int64) {
		close(done)
		<-ended
		if crossed.IsZero() {
			return most, 0
		}
		return most, last.Sub(crossed).Milliseconds()
	}
}

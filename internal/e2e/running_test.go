package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// ongoing is a command that runs now, in a process of the product.
type ongoing struct {
	*process
	execution string
}

// MustStart executes in the background and returns when the command itself says
// that it runs: it makes the file "started" in the workspace.
func (f *flow) MustStart(t testing.TB, a approved) ongoing {
	t.Helper()
	lab.slots <- struct{}{}
	p := f.start(t, f.execute(a)...)
	go func() {
		<-p.done
		<-lab.slots
	}()
	eventually(t, "the command runs", func() bool {
		select {
		case <-p.done:
			t.Fatalf("it ended before it ran: %s%s", p.stdout.Bytes(), p.stderr.Bytes())
		default:
		}
		_, err := os.Lstat(filepath.Join(f.path, "started"))
		return err == nil
	})
	x := f.MustExecutions(t)
	if len(x) == 0 || x[0].State == "finalized" || !x[0].OwnerLives {
		t.Fatalf("a running command is shown as %+v", x)
	}
	return ongoing{p, x[0].ID}
}

// eventually waits until something is so.
func eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// MustLookAtContainer holds the running container against what the product
// promises about its name and labels.
func (f *flow) MustLookAtContainer(t *testing.T, o ongoing) {
	t.Helper()
	c := f.MustHaveOneContainer(t)
	if len(c.Names) != 1 || c.Names[0] != "/standard-code-"+o.execution || c.State != "running" {
		t.Errorf("the container: %s", c)
	}
	if len(c.Labels) != 4 || !installationID.MatchString(c.Labels["cyberagent.installation"]) ||
		c.Labels["cyberagent.admission"] != o.execution || c.Labels["cyberagent.contract"] != "1" {
		// The fourth is the image's own, which names the runner's protocol.
		t.Errorf("the labels: %v", c.Labels)
	}
	var mounts []string
	for _, m := range c.Mounts {
		mounts = append(mounts, m.Destination)
	}
	if slices.Sort(mounts); !slices.Equal(mounts, []string{"/etc/hosts", "/workspace", "/workspace/.git"}) {
		t.Errorf("the mounts: %v", c.Mounts)
	}
}

package containerd

import (
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Two processes, each with a Run of its own: the last directory of an installation
// goes while the next one is made. A command in some thousand did not start for it.
func TestRundir_OneIsMadeWhileTheLastOtherIsRemoved(t *testing.T) {
	base := t.TempDir()
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			d := rundir(filepath.Join(base, "inst", strconv.Itoa(n)))
			for range 1000 {
				if err := d.make(); err != nil {
					t.Error(err)
					return
				}
				if err := d.remove(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

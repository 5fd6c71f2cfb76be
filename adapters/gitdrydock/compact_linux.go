package gitdrydock

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// Each Checkpoint is a small pack: one file to write and to sync, where loose
// objects would be ten, and no second process to unpack it. Many packs make git
// slow, so they are joined now and then; what that costs grows with the
// logarithm of the number of Checkpoints.
const mostPacks = 48

// compact joins the packs of the store when there are many. A failure costs
// time later and nothing else: git removes a pack after its objects are in
// another. The Drydock's lock is held; a reader that loses a pack looks again.
func (v visit) compact(ctx context.Context) {
	all, err := os.ReadDir(filepath.Join(v.k.store(), "pack"))
	if err != nil {
		return
	}
	packs := 0
	for _, e := range all {
		if strings.HasSuffix(e.Name(), ".pack") {
			packs++
		}
	}
	if packs <= mostPacks {
		return
	}
	_, _ = v.l.run(ctx, gitCall{
		gitDir: v.k.shadow, store: v.k.store(),
		args: []string{"repack", "--geometric=2", "-d", "-l", "-n", "-q"},
	})
}

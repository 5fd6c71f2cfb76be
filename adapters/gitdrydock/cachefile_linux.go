package gitdrydock

import (
	"context"
	"os"
)

// loadCache returns the cached manifest, nil when there is none that can be
// used.
func (k dock) loadCache(f format) *manifest {
	file, info, err := openRegular(k.file("cache"))
	if err != nil {
		return nil
	}
	defer file.Close()
	m, err := decodeCache(file, info.Size())
	if err != nil || m.format != f {
		return nil
	}
	return m
}

// saveCache keeps a manifest for the next walk. A failure costs time later and
// nothing else; an old cache that stayed would be as good as the new one.
func (k dock) saveCache(m *manifest) {
	if err := writeAtomic(k.file("cache"), encodeCache(m), false); err != nil {
		_ = os.Remove(k.file("cache"))
	}
}

// manifestOf returns a Checkpoint with as many stats as are known: straight
// from the cache when it is of this commit, else from the shadow repository with
// the stats of those entries that the cache has with the same content.
func (l layout) manifestOf(ctx context.Context, k dock, f format, commit oid) (*manifest, error) {
	cached := k.loadCache(f)
	if cached != nil && cached.commit == commit {
		return cached, nil
	}
	m, err := l.loadManifest(ctx, k, f, commit)
	if err != nil || cached == nil {
		return m, err
	}
	for path, known := range cached.folders {
		fresh := m.folders[path]
		if fresh == nil {
			continue
		}
		for i := range known.entries {
			j, ok := fresh.find(known.entries[i].name)
			if ok && fresh.entries[j].same(known.entries[i]) {
				fresh.entries[j] = known.entries[i]
			}
		}
	}
	return m, nil
}

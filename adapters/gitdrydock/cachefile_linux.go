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

// stagedCache is a cache on its way to the disk: all of it but the commit that
// it belongs to, which is not known yet.
type stagedCache struct {
	path string
	done chan struct{}
	body []byte
}

// stageCache begins to encode a manifest. finish must be called; the manifest
// must not change before.
func (k dock) stageCache(m *manifest) *stagedCache {
	s := &stagedCache{path: k.file("cache"), done: make(chan struct{})}
	go func() {
		s.body = encodeCache(m)
		close(s.done)
	}()
	return s
}

// finish keeps the cache for the next walk, unless there is no commit. A
// failure costs time later and nothing else: an old cache that stayed is as
// good as the new one.
func (s *stagedCache) finish(commit oid) {
	<-s.done
	if commit == "" {
		return
	}
	if err := writeAtomic(s.path, sealCache(s.body, commit), false); err != nil {
		_ = os.Remove(s.path)
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

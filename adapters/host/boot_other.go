//go:build !linux

package host

import (
	"time"

	"cyberagent/domain/lifecycle"
)

var processStart = time.Now()

// boot has no machine-wide clock here: each process is a boot of its own, and
// only the owner's lock tells whether another process lives.
func boot() lifecycle.Boot {
	return lifecycle.Boot{ID: processStart.UTC().Format(time.RFC3339Nano), Since: time.Since(processStart)}
}

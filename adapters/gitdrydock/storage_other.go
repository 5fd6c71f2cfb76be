//go:build !linux

package gitdrydock

import (
	"context"

	"cyberagent/ports"
)

// Storage implements ports.Storage.
func (d *Drydocks) Storage(context.Context, string) (ports.StorageFacts, error) {
	return ports.StorageFacts{}, errPlatform()
}

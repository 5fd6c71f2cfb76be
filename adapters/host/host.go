// Package host gives the use cases what only the machine has: clocks, random
// identifiers, and locks that die with their process.
package host

import (
	"crypto/rand"
	"time"

	"github.com/oklog/ulid/v2"

	"cyberagent/domain/id"
	"cyberagent/domain/lifecycle"
	"cyberagent/ports"
)

// Clock is the machine's clock.
type Clock struct{}

var _ ports.Clock = Clock{}

// Now returns UTC in microseconds, the ledger's resolution.
func (Clock) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Boot reads the clock that no one can set, with the boot's identity.
func (Clock) Boot() lifecycle.Boot { return boot() }

// IDs makes identifiers of 48 bits of time and 80 random bits.
type IDs struct{}

var _ ports.IDs = IDs{}

// New returns a new identifier of the kind.
func (IDs) New(k id.Kind) string {
	return id.Format(k, ulid.MustNew(ulid.Now(), rand.Reader).String())
}

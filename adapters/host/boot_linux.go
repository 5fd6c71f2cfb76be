package host

import (
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"cyberagent/domain/lifecycle"
)

var bootID = sync.OnceValue(func() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		// An unknown boot never equals a recorded one, so every old lease is over;
		// the owner's lock still protects a live owner.
		return "unknown"
	}
	return strings.TrimSpace(string(b))
})

func boot() lifecycle.Boot {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("host: CLOCK_BOOTTIME: " + err.Error())
	}
	return lifecycle.Boot{ID: bootID(), Since: time.Duration(ts.Nano())}
}

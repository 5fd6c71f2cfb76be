package docker

import (
	"os"
	"strings"
)

// hostKernel is this host's kernel release, empty when it cannot be read.
func hostKernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

//go:build !linux

package host

import "cyberagent/ports"

// kernelFacts has nothing to add: commands run on Linux hosts only.
func kernelFacts(*ports.HostFacts) {}

//go:build linux

package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"cyberagent/domain/isolation"
)

// interfaces lists the names in /proc/net/dev's text, sorted.
func interfaces(dev string) string {
	var names []string
	for line := range strings.Lines(dev) {
		// The two header lines hold a bar instead of a name before a colon.
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.Contains(name, "|") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// loopback is the one interface of the contract.
const loopback = "lo"

// routes counts what is routed elsewhere than the loopback, from the text of
// /proc/net/route and of /proc/net/ipv6_route.
func routes(v4, v6 string) string {
	n := 0
	for i, line := range slices.Collect(strings.Lines(v4)) {
		if f := strings.Fields(line); i > 0 && len(f) > 0 && f[0] != loopback {
			n++
		}
	}
	for line := range strings.Lines(v6) {
		if f := strings.Fields(line); len(f) > 0 && f[len(f)-1] != loopback {
			n++
		}
	}
	if n > 0 {
		return fmt.Sprintf("%d beyond the loopback", n)
	}
	return isolation.None
}

// ipv6 says whether /proc/net/if_inet6's text has an address but ::1.
func ipv6(inet6 string) string {
	const only = "00000000000000000000000000000001"
	for line := range strings.Lines(inet6) {
		if f := strings.Fields(line); len(f) > 0 && f[0] != only {
			return f[0] + " on " + f[len(f)-1]
		}
	}
	return "loopback only"
}

// optional reads a file of an IPv6 that the kernel may not have.
func optional(path string) (string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

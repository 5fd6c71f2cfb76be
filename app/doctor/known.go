package doctor

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// KnownFault is a public fault of an engine's part that lets a container out.
type KnownFault struct {
	ID, Component, Version, Fixed, What string
}

// known lists the first fixed version of every release line, oldest first; a
// line that is not named has the fix when it is newer than the last one.
var known = []struct {
	id, component string
	fixed         []string
	what          string
}{
	{"CVE-2019-5736", "runc", []string{"v1.0.0-rc7"}, "a container overwrites the runtime's binary"},
	{"CVE-2021-30465", "runc", []string{"v1.0.0-rc95"}, "a mount's target is exchanged for a link"},
	{"CVE-2024-21626", "runc", []string{"v1.1.12"}, "a leaked descriptor leads to the host's files"},
	{"CVE-2025-31133", "runc", []string{"v1.2.8", "v1.3.3", "v1.4.0-rc.3"}, "masked paths become writable"},
	{"CVE-2025-52565", "runc", []string{"v1.2.8", "v1.3.3", "v1.4.0-rc.3"}, "the console's mount is exchanged"},
	{"CVE-2025-52881", "runc", []string{"v1.2.8", "v1.3.3", "v1.4.0-rc.3"}, "writes to /proc are led elsewhere"},
	{"CVE-2020-15257", "containerd", []string{"v1.3.9", "v1.4.3"}, "the shim's socket is open to containers of the host's network"},
	{"CVE-2022-23648", "containerd", []string{"v1.4.13", "v1.5.10", "v1.6.1"}, "an image's volume reads the host's files"},
	{"CVE-2024-25621", "containerd", []string{"v1.7.29", "v2.0.7", "v2.1.5", "v2.2.0"}, "local users reach containerd's directories"},
	{"CVE-2026-46680", "containerd", []string{"v1.7.32", "v2.0.9", "v2.2.4", "v2.3.1"}, "an image's user becomes root"},
}

// KnownFaults returns what is known of the versions of an engine's parts.
// Distributions fix faults without a new upstream version, so each is a hint to
// look, not a proof.
func KnownFaults(parts map[string]string) []KnownFault {
	var found []KnownFault
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		v := "v" + strings.TrimPrefix(parts[name], "v")
		// Debian writes 1.1.5~ds1 and 1.1.5+ds1.
		v, _, _ = strings.Cut(v, "~")
		if !semver.IsValid(v) {
			continue
		}
		for _, k := range known {
			if k.component == name && !hasFix(v, k.fixed) {
				found = append(found, KnownFault{k.id, name, parts[name], strings.Join(trimmed(k.fixed), " or "), k.what})
			}
		}
	}
	return found
}

// hasFix finds the version's own release line, or the next newer fixed one.
func hasFix(v string, fixed []string) bool {
	for _, f := range fixed {
		if semver.MajorMinor(f) == semver.MajorMinor(v) {
			return semver.Compare(v, f) >= 0
		}
	}
	return semver.Compare(v, fixed[len(fixed)-1]) > 0
}

func trimmed(versions []string) []string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = strings.TrimPrefix(v, "v")
	}
	return out
}

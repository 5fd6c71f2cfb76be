package gitdrydock

import (
	"os"
	"strings"

	"cyberagent/domain/fault"
)

// mountsBelow returns the mount points beneath a directory, as paths relative
// to it. Device numbers alone do not show a bind mount of the same file system.
func mountsBelow(root string) (map[string]bool, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot read the mounts")
	}
	return parseMounts(string(b), root), nil
}

func parseMounts(info, root string) map[string]bool {
	var below map[string]bool
	for line := range strings.Lines(info) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if rel, ok := strings.CutPrefix(unescapeMount(fields[4]), root+"/"); ok {
			if below == nil {
				below = map[string]bool{}
			}
			below[rel] = true
		}
	}
	return below
}

// unescapeMount undoes the kernel's octal escapes of space, tab, newline and
// backslash.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && isOctal(s[i+1]) && isOctal(s[i+2]) && isOctal(s[i+3]) {
			b.WriteByte((s[i+1]-'0')<<6 | (s[i+2]-'0')<<3 | (s[i+3] - '0'))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isOctal(c byte) bool { return '0' <= c && c <= '7' }

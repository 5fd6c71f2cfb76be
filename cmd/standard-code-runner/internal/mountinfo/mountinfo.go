// Package mountinfo reads the kernel's mount table (proc_pid_mountinfo(5)).
package mountinfo

import (
	"fmt"
	"slices"
	"strings"
)

// Mount is one line of the table, its paths unescaped.
type Mount struct {
	Device       string // major:minor
	Root         string // the path inside the filesystem that is mounted
	Target       string
	Options      []string // of this mount
	FSType       string
	Source       string
	SuperOptions []string // of the filesystem
}

// ReadOnly says that nothing can be written through this mount.
func (m Mount) ReadOnly() bool {
	return slices.Contains(m.Options, "ro") || slices.Contains(m.SuperOptions, "ro")
}

// Has says whether the mount has an option of its own, for example "nosuid".
func (m Mount) Has(option string) bool { return slices.Contains(m.Options, option) }

// Parse reads the whole table in the kernel's order: of two mounts on one target
// the later one is what a path reaches. Any line that it does not understand is
// an error, for an unread line might be the mount that matters.
func Parse(table string) ([]Mount, error) {
	var mounts []Mount
	for line := range strings.Lines(table) {
		m, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// Fields before the optional ones, and after the separator that ends those.
const (
	head = 6
	tail = 3
)

func parseLine(line string) (Mount, error) {
	f := strings.Split(line, " ")
	if len(f) < head+1+tail {
		return Mount{}, fmt.Errorf("mountinfo: %d fields in %q", len(f), line)
	}
	sep := slices.Index(f[head:], "-")
	if sep < 0 {
		return Mount{}, fmt.Errorf("mountinfo: no separator in %q", line)
	}
	rest := f[head+sep+1:]
	if len(rest) < tail {
		return Mount{}, fmt.Errorf("mountinfo: %d fields after the separator in %q", len(rest), line)
	}
	m := Mount{Device: f[2], FSType: rest[0], Options: strings.Split(f[5], ","), SuperOptions: strings.Split(rest[2], ",")}
	var err error
	for _, p := range []struct {
		to   *string
		from string
	}{{&m.Root, f[3]}, {&m.Target, f[4]}, {&m.Source, rest[1]}} {
		if *p.to, err = unescape(p.from); err != nil {
			return Mount{}, err
		}
	}
	return m, nil
}

// unescape turns \ooo into a byte; the kernel writes blanks, newlines and
// backslashes so.
func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i+3 >= len(s) {
			return "", fmt.Errorf("mountinfo: cut escape in %q", s)
		}
		n := 0
		for _, c := range []byte(s[i+1 : i+4]) {
			if c < '0' || c > '7' {
				return "", fmt.Errorf("mountinfo: bad escape in %q", s)
			}
			n = n*8 + int(c-'0')
		}
		if n > 0xff {
			return "", fmt.Errorf("mountinfo: escape out of range in %q", s)
		}
		b.WriteByte(byte(n))
		i += 3
	}
	return b.String(), nil
}

// At returns the mounts on exactly this target, in the table's order.
func At(mounts []Mount, target string) []Mount {
	var found []Mount
	for _, m := range mounts {
		if m.Target == target {
			found = append(found, m)
		}
	}
	return found
}

// Only returns the mount on a target if there is exactly one.
func Only(mounts []Mount, target string) (Mount, bool) {
	found := At(mounts, target)
	if len(found) != 1 {
		return Mount{}, false
	}
	return found[0], true
}

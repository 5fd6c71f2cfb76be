// Package cgroup finds and reads the container's own limits and counters, under
// cgroup v1 (one hierarchy a controller) and v2 (one for all).
package cgroup

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
)

// Group is where the files of this process's cgroup are. A controller without a
// directory cannot be read; every read of it fails.
type Group struct {
	v2   bool
	dirs map[string]string // controller -> directory; "" for v2
}

// Locate finds the directories from the mount table and /proc/self/cgroup's
// text. It fails when no hierarchy is mounted that holds this process.
func Locate(mounts []mountinfo.Mount, self string) (Group, error) {
	paths := map[string]string{} // controller, or "" for v2 -> path in the hierarchy
	for line := range strings.Lines(self) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			return Group{}, fmt.Errorf("cgroup: unreadable line %q", line)
		}
		for c := range strings.SplitSeq(f[1], ",") {
			paths[c] = f[2]
		}
	}
	g := Group{dirs: map[string]string{}}
	for _, m := range mounts {
		switch m.FSType {
		case "cgroup":
			for _, c := range m.SuperOptions {
				if p, ok := paths[c]; ok {
					g.dirs[c] = directory(m, p)
				}
			}
		case "cgroup2":
			if p, ok := paths[""]; ok {
				g.dirs[""] = directory(m, p)
			}
		}
	}
	// A hybrid machine mounts v2 beside v1 without any controller in it.
	_, v1 := g.dirs["memory"]
	_, v2 := g.dirs[""]
	g.v2 = v2 && !v1
	if !v1 && !v2 {
		return Group{}, fmt.Errorf("cgroup: no hierarchy with a memory controller is mounted")
	}
	return g, nil
}

// directory maps a path in the hierarchy through the part of it that is mounted.
func directory(m mountinfo.Mount, p string) string {
	if m.Root == "/" {
		return path.Join(m.Target, p)
	}
	if rel, ok := strings.CutPrefix(p, m.Root); ok {
		return path.Join(m.Target, rel)
	}
	// Mounted from elsewhere in the hierarchy: engines mount exactly the
	// container's own group then.
	return m.Target
}

func (g Group) read(controller, v1, v2 string) (string, error) {
	name, key := v1, controller
	if g.v2 {
		name, key = v2, ""
	}
	dir, ok := g.dirs[key]
	if !ok || name == "" {
		return "", fmt.Errorf("cgroup: no %s", controller)
	}
	b, err := os.ReadFile(path.Join(dir, name))
	return strings.TrimSpace(string(b)), err
}

// ReadOnly says whether every mounted hierarchy is read-only, and that there is
// at least one.
func ReadOnly(mounts []mountinfo.Mount) bool {
	kinds := []string{"cgroup", "cgroup2"}
	found := false
	for _, m := range mounts {
		if !slices.Contains(kinds, m.FSType) {
			continue
		}
		if !m.ReadOnly() {
			return false
		}
		found = true
	}
	return found
}

package deps

import (
	"strings"

	"cyberagent/domain/command"
)

// Unpinned names what the files ask for without saying exactly which: modules of a
// go.mod whose go.sum pins none of them, and lines of a requirements.txt without a
// version. Read asks for none of it, for nobody can say what would be missing; but
// an image that was built without it holds nothing.
func Unpinned(t command.Toolchain, files map[string][]byte) (names []string) {
	n := Read(t, files)
	if n.InTree || len(n.Packages) > 0 {
		return nil
	}
	switch n.File {
	case "go.mod":
		requires, replaces := goMod(string(files["go.mod"]))
		for _, p := range requires {
			r, replaced := replaces[p]
			if !replaced {
				r, replaced = replaces[Package{Name: p.Name}]
			}
			if !replaced || r != (Package{}) {
				names = append(names, p.Name)
			}
		}
	case "requirements.txt":
		for line := range strings.Lines(string(files[n.File])) {
			line, _, _ = strings.Cut(line, " #")
			line, marker, _ := strings.Cut(strings.TrimSpace(line), ";")
			if line = strings.TrimSpace(line); line != "" && marker == "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "-") {
				names = append(names, line)
			}
		}
	}
	return names
}

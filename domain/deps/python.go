package deps

import "strings"

// pythonPackages reads uv.lock, poetry.lock, or the pins of requirements.txt. A
// line that does not pin, or only holds for some platforms, asks for nothing.
func pythonPackages(anchor string, files map[string][]byte) []Package {
	if anchor == "requirements.txt" {
		return requirements(string(files[anchor]))
	}
	var all []Package
	for _, s := range sections(files[anchor], "[[package]]") {
		if strings.Contains(s["source"], "virtual") || strings.Contains(s["source"], "editable") || s["optional"] == "true" {
			continue
		}
		if p := (Package{PythonName(s.text("name")), s.text("version")}); p.Name != "" && p.Version != "" {
			all = append(all, p)
		}
	}
	return all
}

func requirements(text string) []Package {
	var all []Package
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "-") {
			continue
		}
		spec, marker, _ := strings.Cut(line, ";")
		spec, _, _ = strings.Cut(spec, " --hash")
		name, version, ok := strings.Cut(spec, "==")
		if marker, _, _ = strings.Cut(marker, " --hash"); !ok || strings.TrimSpace(marker) != "" {
			continue
		}
		name, _, _ = strings.Cut(name, "[") // extras
		version = strings.TrimSpace(version)
		if strings.ContainsAny(version, "*=, ") {
			continue
		}
		all = append(all, Package{PythonName(strings.TrimSpace(name)), version})
	}
	return all
}

// PythonName is a distribution's name as all of them are compared (PEP 503).
func PythonName(s string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(s) {
		if r == '-' || r == '_' || r == '.' {
			dash = b.Len() > 0
			continue
		}
		if dash {
			b.WriteByte('-')
			dash = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Wheel reads a wheel's file name: name-version(-build)-python-abi-platform.whl.
func Wheel(file string) (Package, bool) {
	base, ok := strings.CutSuffix(file, ".whl")
	parts := strings.Split(base, "-")
	if !ok || len(parts) < 5 || len(parts) > 6 {
		return Package{}, false
	}
	return Package{PythonName(parts[0]), parts[1]}, parts[0] != "" && parts[1] != ""
}

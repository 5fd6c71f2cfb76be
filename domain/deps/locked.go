package deps

import "strings"

// section is one [[package]] of a lockfile that a tool wrote in TOML (Cargo.lock,
// uv.lock, poetry.lock): the plain "key = value" lines of its own table, as text.
type section map[string]string

// sections reads the packages. The tools write one key a line; what is nested in a
// value or a table of its own is passed over.
func sections(data []byte, table string) []section {
	var all []section
	var now section
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == table:
			now = section{}
			all = append(all, now)
			continue
		case strings.HasPrefix(line, "["):
			now = nil
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if now == nil || !ok || strings.ContainsAny(key, " \t\"") {
			continue
		}
		if _, twice := now[key]; !twice {
			now[key] = value
		}
	}
	return all
}

// text is a string value without its quotes.
func (s section) text(key string) string { return strings.Trim(s[key], `"'`) }

// rustPackages are those that come from elsewhere; members of the workspace have
// no source.
func rustPackages(anchor string, files map[string][]byte) []Package {
	var all []Package
	for _, s := range sections(files[anchor], "[[package]]") {
		if s["source"] != "" && s.text("name") != "" && s.text("version") != "" {
			all = append(all, Package{s.text("name"), s.text("version")})
		}
	}
	return all
}

// CargoSources are the places that a Cargo.lock takes crates from, each once, as it
// names them, in its order. encoded says that what follows the question mark of one
// is percent-encoded, as it is since version 4 of the file.
func CargoSources(lock []byte) (sources []string, encoded bool) {
	for line := range strings.Lines(string(lock)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "version = "); ok {
			encoded = version != "3" // the versions before have no such line
			break
		}
		if strings.HasPrefix(line, "[") {
			break
		}
	}
	seen := map[string]bool{}
	for _, s := range sections(lock, "[[package]]") {
		if at := s.text("source"); at != "" && !seen[at] {
			seen[at] = true
			sources = append(sources, at)
		}
	}
	return sources, encoded
}

// CargoPackage reads name and version of a crate's Cargo.toml, as `cargo vendor`
// writes it.
func CargoPackage(toml []byte) (Package, bool) {
	for _, s := range sections(toml, "[package]") {
		if p := (Package{s.text("name"), s.text("version")}); p.Name != "" && p.Version != "" {
			return p, true
		}
	}
	return Package{}, false
}

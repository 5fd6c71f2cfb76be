package deps

import (
	"encoding/json"
	"strings"
)

// NodeLocked is one installed place of an npm lockfile: its path below the
// repository, and what lies there.
type NodeLocked struct {
	Package

	Path string
	// Optional packages may be for other platforms, and a link leads to the
	// repository's own files.
	Optional bool
	Link     bool
}

type npmEntry struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Optional    bool   `json:"optional"`
	DevOptional bool   `json:"devOptional"`
	Peer        bool   `json:"peer"`
	Link        bool   `json:"link"`
}

// npmNested is an entry of version 1. In the later ones "dependencies" are ranges,
// as texts.
type npmNested struct {
	npmEntry

	Dependencies map[string]npmNested `json:"dependencies"`
}

// NodeLock reads an npm lockfile of version 1, 2 or 3.
func NodeLock(data []byte) []NodeLocked {
	var lock struct {
		Packages     map[string]npmEntry  `json:"packages"`
		Dependencies map[string]npmNested `json:"dependencies"`
	}
	if json.Unmarshal(data, &lock) != nil {
		return nil
	}
	var all []NodeLocked
	for path, e := range lock.Packages {
		i := strings.LastIndex(path, "node_modules/")
		if i < 0 {
			continue // the repository itself and its workspaces
		}
		name := path[i+len("node_modules/"):]
		if e.Name != "" {
			name = e.Name // an alias
		}
		all = append(all, NodeLocked{Package{name, e.Version}, path, e.Optional || e.DevOptional || e.Peer, e.Link})
	}
	if len(lock.Packages) == 0 {
		all = nodeTree("", lock.Dependencies, all, 0)
	}
	return all
}

// nodeTree reads the nested form of version 1.
func nodeTree(at string, all map[string]npmNested, out []NodeLocked, depth int) []NodeLocked {
	if depth > 64 {
		return out
	}
	for name, e := range all {
		path := at + "node_modules/" + name
		version, link := e.Version, strings.HasPrefix(e.Version, "file:")
		if alias, ok := strings.CutPrefix(version, "npm:"); ok {
			if i := strings.LastIndexByte(alias, '@'); i > 0 {
				name, version = alias[:i], alias[i+1:]
			}
		}
		out = append(out, NodeLocked{Package{name, version}, path, e.Optional, link})
		out = nodeTree(path+"/", e.Dependencies, out, depth+1)
	}
	return out
}

func nodePackages(anchor string, files map[string][]byte) []Package {
	var all []Package
	for _, p := range NodeLock(files[anchor]) {
		if p.Optional || p.Link || p.Version == "" {
			continue
		}
		all = append(all, p.Package)
	}
	return all
}

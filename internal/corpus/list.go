package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// project is a line of the list.
type project struct {
	Kind, Name, Version, Toolchain string
	Args                           []string
	// Needs are packages of the distribution that are its dependencies.
	Needs []string
}

func (p project) slug() string {
	return p.Kind + "-" + strings.NewReplacer("/", "-", ".", "-").Replace(p.Name)
}

// readList reads "kind name version[,package=version…] toolchain arguments…".
func readList(path string) ([]project, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []project
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("not a project: %q", line)
		}
		v := strings.Split(f[2], ",")
		all = append(all, project{f[0], f[1], v[0], f[3], f[4:], v[1:]})
	}
	return all, nil
}

// host is the program that a person would start.
func (p project) host(source string) []string {
	switch p.Toolchain {
	case "python":
		return append([]string{"python3"}, p.Args...)
	case "rust":
		if _, err := os.Stat(source + "/vendor"); err == nil {
			return slices.Concat([]string{"cargo", "--config", `source.crates-io.replace-with="v"`, "--config", `source.v.directory="vendor"`}, p.Args)
		}
		return append([]string{"cargo"}, p.Args...)
	case "node":
		if p.Args[0] == "npm" {
			return p.Args
		}
	}
	return append([]string{p.Toolchain}, p.Args...)
}

package config

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"cyberagent/domain/fault"
	"cyberagent/domain/phrase"
)

// projectsKey is the one key whose value is a mapping of the operator's own names.
const projectsKey = "image.projects"

// projects reads the images of single repositories: absolute, clean paths, each
// once, to exact digests.
func (c *Config) projects(v *ast.MappingValueNode) error {
	if c.Origins[projectsKey] == FromFile {
		return c.at(v, projectsKey, "given twice")
	}
	c.Origins[projectsKey] = FromFile
	if _, empty := v.Value.(*ast.NullNode); empty {
		return nil
	}
	var values []*ast.MappingValueNode
	switch n := v.Value.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		return c.at(v, projectsKey, "not a mapping of repositories to digests")
	}
	for _, p := range values {
		key, ok := p.Key.(*ast.StringNode)
		if !ok || !filepath.IsAbs(key.Value) || filepath.Clean(key.Value) != key.Value {
			dir := "DIR"
			if ok {
				dir = phrase.Word(key.Value)
			}
			return c.at(p, projectsKey, "a repository is named by its clean absolute path").
				Hint("write the path as `cyberagent fixture build --project %s` prints it", dir)
		}
		if _, twice := c.Image.Projects[key.Value]; twice {
			return c.at(p, projectsKey, "a repository is given twice")
		}
		digest, err := scalar(p.Value)
		if err != nil {
			return c.at(p, projectsKey, err.Error())
		}
		if digest == "" {
			return c.at(p, projectsKey, "the digest is empty").Hint("remove the line, or give the digest")
		}
		if err := exact(digest); err != nil {
			fe := fault.From(err)
			return c.at(p, projectsKey, fe.Msg).Hint("%s", fe.Remedy)
		}
		if c.Image.Projects == nil {
			c.Image.Projects = map[string]string{}
		}
		c.Image.Projects[key.Value] = digest
	}
	return nil
}

// projectValues are the lines of `config show`, one for each repository.
func (c Config) projectValues() []Value {
	var out []Value
	for _, dir := range slices.Sorted(maps.Keys(c.Image.Projects)) {
		out = append(out, Value{projectsKey + "." + dir, c.Image.Projects[dir], c.Origins[projectsKey], "", "the image for Runs on this repository"})
	}
	return out
}

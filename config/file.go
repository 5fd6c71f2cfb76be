package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"cyberagent/domain/fault"
	"cyberagent/internal/nearest"
)

// mostBytes is far beyond what the keys can need.
const mostBytes = 1 << 20

// readFile reads the configuration: a regular file of bounded size that nobody but
// its owner can write, for it says which engine runs commands. A missing file is
// fs.ErrNotExist.
func readFile(path string) ([]byte, error) {
	refuse := func(err error, what string) error {
		return fault.Wrap(fault.ConfigInvalid, err, "%s %s", path, what).
			Hint("correct the file, remove it, or set CYBERAGENT_HOME to a directory of your own")
	}
	// A FIFO or a device is never opened.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, refuse(err, "cannot be read")
	case !info.Mode().IsRegular():
		return nil, refuse(nil, "is not a regular file")
	case info.Size() > mostBytes:
		return nil, refuse(nil, fmt.Sprintf("has more than %d bytes", mostBytes))
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0:
		return nil, refuse(nil, fmt.Sprintf("can be written by every user (mode %04o)", info.Mode().Perm()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, refuse(err, "cannot be read")
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return nil, refuse(err, "cannot be read")
	}
	return data, nil
}

// applyFile reads the YAML file strictly: known keys only, each once, scalars
// where scalars belong. Errors name file, line, key and the nearest valid key.
func (c *Config) applyFile(data []byte) error {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return c.fileError(err)
	}
	for _, doc := range f.Docs {
		if doc.Body == nil {
			continue
		}
		if err := c.walk(doc.Body, ""); err != nil {
			return err
		}
	}
	return nil
}

// walk applies one mapping; prefix ends with a dot below the top.
func (c *Config) walk(n ast.Node, prefix string) error {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		if v, one := n.(*ast.MappingValueNode); one {
			m = &ast.MappingNode{Values: []*ast.MappingValueNode{v}}
		} else {
			return c.at(n, strings.TrimSuffix(prefix, "."), "not a mapping of keys to values")
		}
	}
	for _, v := range m.Values {
		name := prefix + v.Key.String()
		if name == projectsKey {
			if err := c.projects(v); err != nil {
				return err
			}
			continue
		}
		k := slices.IndexFunc(keys(), func(k key) bool { return k.name == name })
		switch {
		case k >= 0:
			s, err := scalar(v.Value)
			if err != nil {
				return c.at(v, name, err.Error())
			}
			err = keys()[k].set(c, s)
			if err == nil && keys()[k].written != nil {
				err = keys()[k].written(s)
			}
			if err != nil {
				fe := fault.From(err)
				return c.at(v, name, fe.Msg).Hint("%s", fe.Remedy)
			}
			if c.Origins[name] == FromFile {
				return c.at(v, name, "given twice")
			}
			c.Origins[name] = FromFile
		case slices.ContainsFunc(keys(), func(k key) bool { return strings.HasPrefix(k.name, name+".") }):
			if err := c.walk(v.Value, name+"."); err != nil {
				return err
			}
		default:
			return c.at(v, name, "unknown key").Hint("the nearest key is %s; `cyberagent config show` lists all", nearestKey(name))
		}
	}
	return nil
}

func scalar(n ast.Node) (string, error) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.BoolNode:
		return strconv.FormatBool(v.Value), nil
	case *ast.IntegerNode:
		return fmt.Sprint(v.Value), nil
	}
	return "", errors.New("not a plain value")
}

func (c *Config) at(n ast.Node, name, msg string) *fault.Error {
	line := 0
	if t := n.GetToken(); t != nil {
		line = t.Position.Line
	}
	return fault.New(fault.ConfigInvalid, "%s:%d: %s", c.File, line, msg).At(name).
		Hint("correct the file").With("line", strconv.Itoa(line))
}

func (c *Config) fileError(err error) error {
	line := 0
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil {
		line = ye.GetToken().Position.Line
	}
	return fault.New(fault.ConfigInvalid, "%s:%d: not valid YAML", c.File, line).
		Hint("correct the file").With("line", strconv.Itoa(line)).With("yaml", yaml.FormatError(err, false, false))
}

// nearestKey is the known key with the smallest edit distance.
func nearestKey(name string) string {
	best, dist := "", 1<<30
	names := []string{projectsKey}
	for _, k := range keys() {
		names = append(names, k.name)
	}
	for _, k := range names {
		if d := nearest.Distance(name, k); d < dist {
			best, dist = k, d
		}
	}
	return best
}

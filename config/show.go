package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

// Value is one key as `config show` prints it.
type Value struct {
	Key         string `json:"key"`
	Value       string `json:"value"`
	Origin      Origin `json:"origin"`
	Environment string `json:"environment"`
	Help        string `json:"help"`
}

// Values returns every key with its value and where it came from.
func (c Config) Values() []Value {
	out := make([]Value, 0, len(keys()))
	for _, k := range keys() {
		out = append(out, Value{k.name, k.get(c), c.Origins[k.name], k.env[len(k.env)-1], k.help})
	}
	return append(out, c.projectValues()...)
}

// Whence says in words who gave a key its value: remedies name the place that has to
// be corrected.
func (c Config) Whence(name string) string {
	switch c.Origins[name] {
	case FromEnvironment:
		return c.from[name] + " in the environment"
	case FromFlag:
		return "the flag " + c.from[name]
	case FromFile:
		return c.File
	case FromDefault:
	}
	return "the default"
}

// Begun says whether there is a ledger to work with. It returns not_found for a home
// without one: a mistyped name would silently begin another.
func (c Config) Begun() error {
	if _, err := os.Lstat(c.Ledger.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil // what else may be wrong with it says who opens it
	}
	key := "ledger.path"
	if c.Origins[key] == FromDefault {
		key = homeKey
	}
	return fault.New(fault.NotFound, "there is no ledger at %s", c.Ledger.Path).At(key).
		Hint("begin with `cyberagent run create TITLE --workspace DIR`, which makes it, or correct the %s, which is from %s",
			map[string]string{homeKey: "home", "ledger.path": "path"}[key], c.Whence(key))
}

// EndpointFrom says where an engine is looked for, and who said so.
func (c Config) EndpointFrom(e isolation.Engine) string {
	key, value := "docker.socket", c.Docker.Socket
	if e == isolation.Containerd {
		key, value = "containerd.address", c.Containerd.Address
	}
	return fmt.Sprintf("%s is %s, from %s", key, value, c.Whence(key))
}

// Endpoints says so of every engine that the setting may stand for.
func (c Config) Endpoints() map[isolation.Engine]string {
	names := []isolation.Engine{isolation.Engine(c.Engine)}
	if c.Engine == Auto {
		names = []isolation.Engine{isolation.Docker, isolation.Containerd}
	}
	out := map[isolation.Engine]string{}
	for _, e := range names {
		out[e] = c.EndpointFrom(e)
	}
	return out
}

// Images are the digests that are configured, each with who names it.
func (c Config) Images() map[string][]string {
	out := map[string][]string{}
	add := func(digest, key string) {
		if digest != "" {
			out[digest] = append(out[digest], fmt.Sprintf("%s, from %s", key, c.Whence(strings.SplitN(key, " ", 2)[0])))
		}
	}
	add(c.Image.Docker, "image.docker")
	add(c.Image.Containerd, "image.containerd")
	for _, dir := range slices.Sorted(maps.Keys(c.Image.Projects)) {
		add(c.Image.Projects[dir], projectsKey+" "+dir)
	}
	return out
}

// ImageFrom says who gave the digest for Runs on a repository; "" is for all of
// them, and whether it is for that one alone.
func (c Config) ImageFrom(e isolation.Engine, repository string) (said string, alone bool) {
	key := "image.docker"
	switch {
	case c.Image.Projects[repository] != "":
		key = projectsKey
	case e == isolation.Containerd && c.Image.Containerd != "":
		key = "image.containerd"
	}
	return fmt.Sprintf("%s is from %s", key, c.Whence(key)), key == projectsKey
}

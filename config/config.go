// Package config loads the operator's configuration: config.yaml in the
// product's home, overridden by CYBERAGENT_* environment, overridden by flags
// (contract section 6). A file inside a repository is never read.
package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/phrase"
)

// Config is the whole configuration after all layers. Origins says for each key
// where its value came from: default, file, environment or flag.
type Config struct {
	Home       string
	Engine     string // docker, containerd or auto
	Docker     Docker
	Containerd Containerd
	Image      Image
	Ledger     Ledger
	Drydock    Drydock

	File    string // the file's path, also when there is none
	Origins map[string]Origin
	// from has, for each key that the environment or a flag gave, its name there.
	from map[string]string
	// Notices are sentences about what is ignored on purpose.
	Notices []string
}

// Docker is how Docker Engine is reached. Socket is a local path.
type Docker struct {
	Socket       string
	AllowDesktop bool
}

// Containerd is how containerd is reached. Binary is the OCI runtime that its
// shim calls; empty means the shim's own choice.
type Containerd struct {
	Address   string
	Namespace string
	Runtime   string
	Binary    string
}

// Auto is the word for "the first engine that is ready".
const Auto = "auto"

// Image holds the exact digests; an empty Containerd means Docker's. Projects are
// images for single source repositories, by absolute path.
type Image struct {
	Docker     string
	Containerd string
	Projects   map[string]string
}

// Ledger is where the ledger lies.
type Ledger struct{ Path string }

// Drydock is how long Drydocks are kept, in days.
type Drydock struct{ LifeDays int64 }

// Origin names a layer.
type Origin string

// The layers, weakest first.
const (
	FromDefault     Origin = "default"
	FromFile        Origin = "file"
	FromEnvironment Origin = "environment"
	FromFlag        Origin = "flag"
)

// Input is what a process was started with. Flags holds only flags that were
// given, by key.
type Input struct {
	Lookup func(string) (string, bool)
	Flags  map[string]string
}

// Load reads every layer and returns config_invalid, naming file, line and key,
// for anything that is not understood.
func Load(in Input) (Config, error) {
	home, origin, where, err := homeDir(in)
	if err != nil {
		return Config{}, err
	}
	c := Config{
		Home: home, File: filepath.Join(home, "config.yaml"), Origins: map[string]Origin{homeKey: origin}, from: map[string]string{homeKey: where},
	}
	for _, k := range keys() {
		if err := k.set(&c, k.def(home)); err != nil {
			return c, err
		}
		c.Origins[k.name] = FromDefault
	}
	data, err := readFile(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return c, err
	default:
		if err := c.applyFile(data); err != nil {
			return c, err
		}
	}
	for _, k := range keys() {
		for _, name := range k.env {
			if v, ok := in.Lookup(name); ok && v != "" {
				if err := c.put(k, v, FromEnvironment, name); err != nil {
					return c, err
				}
			}
		}
		if v, ok := in.Flags[k.name]; ok {
			if err := c.put(k, v, FromFlag, "--"+k.flag()); err != nil {
				return c, err
			}
		}
	}
	if err := c.ledgerDir(); err != nil {
		return c, err
	}
	for _, name := range []string{"DOCKER_HOST", "DOCKER_API_VERSION", "DOCKER_CONTEXT", "CONTAINERD_ADDRESS"} {
		if v, ok := in.Lookup(name); ok && v != "" {
			c.Notices = append(c.Notices, name+" is set and ignored; use config.yaml, CYBERAGENT_* or flags")
		}
	}
	return c, nil
}

// ledgerDir refuses a ledger of the operator's own choice in a directory that does not
// exist: a mistyped path would silently begin another ledger. The home is made when
// it is missing.
func (c *Config) ledgerDir() error {
	dir := filepath.Dir(c.Ledger.Path)
	if dir == c.Home {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return invalid("the directory of %s does not exist", c.Ledger.Path).At("ledger.path").
			Hint("make %s, or correct the path, which is from %s", phrase.Word(dir), c.Whence("ledger.path"))
	}
	return nil
}

func (c *Config) put(k key, v string, from Origin, where string) error {
	c.Origins[k.name], c.from[k.name] = from, where
	if err := k.set(c, v); err != nil {
		f := fault.From(err).At(k.name).With("where", where)
		return f.Hint("%s; the value is from %s", f.Remedy, c.Whence(k.name))
	}
	return nil
}

// homeKey names the home among Origins. It cannot be in the file, which lies there.
const homeKey = "home"

// homeDir is CYBERAGENT_HOME, or the XDG data directory, and who said so.
func homeDir(in Input) (home string, origin Origin, where string, err error) {
	if v, ok := in.Flags[homeKey]; ok && v != "" {
		home, err = absolute(homeKey, v)
		return home, FromFlag, "--home", err
	}
	if v, ok := in.Lookup("CYBERAGENT_HOME"); ok && v != "" {
		home, err = absolute("CYBERAGENT_HOME", v)
		return home, FromEnvironment, "CYBERAGENT_HOME", err
	}
	if v, ok := in.Lookup("XDG_DATA_HOME"); ok && filepath.IsAbs(v) {
		return filepath.Join(v, "cyberagent"), FromEnvironment, "XDG_DATA_HOME", nil
	}
	if runtime.GOOS == "windows" {
		if v, ok := in.Lookup("LOCALAPPDATA"); ok && v != "" {
			return filepath.Join(v, "cyberagent"), FromDefault, "", nil
		}
	}
	if v, ok := in.Lookup("HOME"); ok && filepath.IsAbs(v) {
		return filepath.Join(v, ".local", "share", "cyberagent"), FromDefault, "", nil
	}
	return "", FromDefault, "", fault.New(fault.ConfigInvalid, "no home directory is known").At("CYBERAGENT_HOME").
		Hint("set CYBERAGENT_HOME to an absolute path")
}

func absolute(field, v string) (string, error) {
	if !filepath.IsAbs(v) {
		return "", fault.New(fault.ConfigInvalid, "%q is not an absolute path", v).At(field).Hint("give an absolute path")
	}
	return filepath.Clean(v), nil
}

// ProjectDigest is the digest for Runs on a source repository: its own, or the one
// for all.
func (c Config) ProjectDigest(e isolation.Engine, repository string) string {
	if digest := c.Image.Projects[repository]; digest != "" {
		return digest
	}
	return c.ImageDigest(e)
}

// ImageDigest is the configured digest for an engine.
func (c Config) ImageDigest(e isolation.Engine) string {
	if e == isolation.Containerd && c.Image.Containerd != "" {
		return c.Image.Containerd
	}
	return c.Image.Docker
}

// flag is a key's flag: dots become dashes. The one image's has a name of its own.
func (k key) flag() string {
	if k.name == "image.docker" {
		return "image-digest"
	}
	return strings.ReplaceAll(strings.ReplaceAll(k.name, ".", "-"), "_", "-")
}

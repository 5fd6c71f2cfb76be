package config

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

// key is one row of the configuration: its name in the file, its environment
// names (the later ones win), its default and how a text becomes its value.
type key struct {
	name string
	env  []string
	help string
	def  func(home string) string
	set  func(c *Config, v string) error
	get  func(c Config) string
	// written is asked also about what the file says; nil asks nothing.
	written func(v string) error
}

// exact refuses what is no digest where an operator keeps it. One that the
// environment or a flag gives is an answer of readiness (image_unconfigured).
func exact(v string) error {
	if v == "" || admission.ValidDigest(v) {
		return nil
	}
	return invalid("%q is not sha256: and 64 lower-case hexadecimal characters", v).
		Hint("give the digest that `cyberagent fixture build` prints")
}

func fixed(v string) func(string) string { return func(string) string { return v } }

func invalid(format string, a ...any) *fault.Error {
	return fault.New(fault.ConfigInvalid, format, a...)
}

// keys returns every key in the order of `config show`.
func keys() []key {
	return []key{
		{
			"engine", []string{"CYBERAGENT_ENGINE"}, "docker, containerd or auto", fixed("docker"),
			func(c *Config, v string) error {
				if v != "docker" && v != "containerd" && v != Auto {
					return invalid("%q is not docker, containerd or auto", v).Hint("use docker, containerd or auto")
				}
				c.Engine = v
				return nil
			},
			func(c Config) string { return c.Engine }, nil,
		},
		{
			"docker.socket", []string{"CYBERAGENT_DOCKER_SOCKET"}, "Docker Engine's local socket", fixed(dockerSocket()),
			func(c *Config, v string) (err error) { c.Docker.Socket, err = local(v); return err },
			func(c Config) string { return c.Docker.Socket }, nil,
		},
		{
			"docker.allow_desktop", []string{"CYBERAGENT_DOCKER_ALLOW_DESKTOP"}, "allow an engine behind a virtual machine (untested)", fixed("false"),
			func(c *Config, v string) error {
				b, err := strconv.ParseBool(v)
				if err != nil {
					return invalid("%q is not true or false", v).Hint("use true or false")
				}
				c.Docker.AllowDesktop = b
				return nil
			},
			func(c Config) string { return strconv.FormatBool(c.Docker.AllowDesktop) }, nil,
		},
		{
			"containerd.address", []string{"CYBERAGENT_CONTAINERD_ADDRESS"}, "containerd's local socket", fixed("/run/containerd/containerd.sock"),
			func(c *Config, v string) (err error) { c.Containerd.Address, err = local(v); return err },
			func(c Config) string { return c.Containerd.Address }, nil,
		},
		{
			"containerd.namespace", []string{"CYBERAGENT_CONTAINERD_NAMESPACE"}, "the product's own namespace", fixed("cyberagent"),
			func(c *Config, v string) error {
				if v == "" || strings.Trim(v, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
					return invalid("%q is not a namespace", v).Hint("use lower-case letters, digits and dashes")
				}
				c.Containerd.Namespace = v
				return nil
			},
			func(c Config) string { return c.Containerd.Namespace }, nil,
		},
		{
			"containerd.runtime", []string{"CYBERAGENT_CONTAINERD_RUNTIME"}, "the runtime's name", fixed("io.containerd.runc.v2"),
			func(c *Config, v string) error { c.Containerd.Runtime = v; return nil },
			func(c Config) string { return c.Containerd.Runtime }, nil,
		},
		{
			"containerd.binary", []string{"CYBERAGENT_CONTAINERD_BINARY"}, "the OCI runtime that the shim calls, such as crun", fixed(""),
			func(c *Config, v string) error {
				if strings.ContainsFunc(v, unicode.IsSpace) || strings.HasPrefix(v, "-") {
					return invalid("%q is not a program", v).Hint("give a name in containerd's PATH, or a path")
				}
				c.Containerd.Binary = v
				return nil
			},
			func(c Config) string { return c.Containerd.Binary }, nil,
		},
		{
			"image.docker", []string{"CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST"}, "the one image's exact digest, for either engine", fixed(""),
			func(c *Config, v string) error { c.Image.Docker = v; return nil },
			func(c Config) string { return c.Image.Docker }, exact,
		},
		{
			"image.containerd", []string{"CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST"}, "another digest for containerd", fixed(""),
			func(c *Config, v string) error { c.Image.Containerd = v; return nil },
			func(c Config) string { return c.Image.Containerd }, exact,
		},
		{
			"ledger.path", []string{"CYBERAGENT_LEDGER_PATH"}, "the ledger's file", func(home string) string { return filepath.Join(home, "ledger.db") },
			func(c *Config, v string) (err error) { c.Ledger.Path, err = absolute("ledger.path", v); return err },
			func(c Config) string { return c.Ledger.Path }, nil,
		},
		{
			"drydock.life_days", []string{"CYBERAGENT_DRYDOCK_LIFE_DAYS"}, "how long a Drydock is kept", fixed(strconv.FormatInt(days(limits.DrydockLife.Hours()), 10)),
			func(c *Config, v string) error {
				n, err := strconv.ParseInt(v, 10, 64)
				if most := days(limits.DrydockLifeMax.Hours()); err != nil || n < 1 || n > most {
					return invalid("%q is not 1 to %d days", v, most).Hint("give whole days from 1 to %d", most)
				}
				c.Drydock.LifeDays = n
				return nil
			},
			func(c Config) string { return strconv.FormatInt(c.Drydock.LifeDays, 10) }, nil,
		},
	}
}

func days(hours float64) int64 { return int64(hours) / 24 }

func dockerSocket() string {
	if runtime.GOOS == "windows" {
		return `//./pipe/docker_engine`
	}
	return "/var/run/docker.sock"
}

// local accepts an absolute path, also behind unix:// or npipe://, and refuses
// every address that another machine could answer.
func local(v string) (string, error) {
	p := v
	for _, scheme := range []string{"unix://", "npipe://"} {
		p = strings.TrimPrefix(p, scheme)
	}
	pipe := strings.HasPrefix(p, `//./pipe/`) || strings.HasPrefix(p, `\\.\pipe\`)
	if strings.Contains(p, "://") || (!filepath.IsAbs(p) && !pipe) {
		return "", invalid("%q is not a local socket", v).
			Hint("give the absolute path of a local socket; engines on other machines are refused")
	}
	return p, nil
}

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

func load(t *testing.T, file string, env, flags map[string]string) (config.Config, error) {
	t.Helper()
	home := t.TempDir()
	if file != "" {
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return config.Load(config.Input{
		Lookup: func(k string) (string, bool) {
			if k == "CYBERAGENT_HOME" {
				return home, true
			}
			v, ok := env[k]
			return v, ok
		},
		Flags: flags,
	})
}

func TestLoad_FlagsWinOverEnvironmentOverFileOverDefault(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	file := "engine: auto\ndocker:\n  socket: /file.sock\nimage:\n  docker: " + digest + "\n"
	c, err := load(t, file,
		map[string]string{"CYBERAGENT_DOCKER_SOCKET": "unix:///env.sock", "CYBERAGENT_ENGINE": "containerd"},
		map[string]string{"engine": "docker"})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		key, got, want string
		origin         config.Origin
	}{
		{"engine", c.Engine, "docker", config.FromFlag},
		{"docker.socket", c.Docker.Socket, "/env.sock", config.FromEnvironment},
		{"image.docker", c.Image.Docker, digest, config.FromFile},
		{"containerd.namespace", c.Containerd.Namespace, "cyberagent", config.FromDefault},
	} {
		if x.got != x.want || c.Origins[x.key] != x.origin {
			t.Errorf("%s = %q from %s, want %q from %s", x.key, x.got, c.Origins[x.key], x.want, x.origin)
		}
	}
}

func TestLoad_RefusesBadFilesNamingLineKeyAndNearestKey(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ file, field, in string }{
		"an unknown key":            {"engine: docker\ndocker:\n  sockt: /x\n", "docker.sockt", "docker.socket"},
		"an unknown top key":        {"engin: docker\n", "engin", "engine"},
		"a value out of range":      {"drydock:\n  life_days: 31\n", "drydock.life_days", "1 to 30"},
		"a list":                    {"engine: [docker]\n", "engine", "correct"},
		"a TCP address":             {"docker:\n  socket: tcp://10.0.0.1:2375\n", "docker.socket", "local socket"},
		"a scalar for a section":    {"docker: /x\n", "docker", "correct"},
		"a digest that is none":     {"image:\n  docker: notadigest\n", "image.docker", "fixture build"},
		"a tag for containerd":      {"image:\n  containerd: name:latest\n", "image.containerd", "fixture build"},
		"a key given twice":         {"engine: docker\nengine: auto\n", "", "correct"},
		"something that is no YAML": {"engine: [\n", "", "correct"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, x.file, nil, nil)
			e := fault.From(err)
			if e == nil || e.Code != fault.ConfigInvalid || (x.field != "" && e.Field != x.field) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(e.Remedy+e.Msg, x.in) || e.Details["line"] == "" || e.Details["line"] == "0" {
				t.Errorf("message %q, remedy %q, details %v", e.Msg, e.Remedy, e.Details)
			}
		})
	}
}

func TestLoad_RefusesBadEnvironmentNamingTheKey(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]map[string]string{
		"docker.socket":        {"CYBERAGENT_DOCKER_SOCKET": "tcp://127.0.0.1:2375"},
		"engine":               {"CYBERAGENT_ENGINE": "podman"},
		"docker.allow_desktop": {"CYBERAGENT_DOCKER_ALLOW_DESKTOP": "perhaps"},
		"ledger.path":          {"CYBERAGENT_LEDGER_PATH": "relative.db"},
	} {
		_, err := load(t, "", env, nil)
		if e := fault.From(err); e == nil || e.Code != fault.ConfigInvalid || e.Field != name {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Readiness answers image_unconfigured for them.
func TestLoad_ARemedyNamesWhereTheValueCameFrom(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no", "ledger.db")
	for name, bad := range map[string]string{
		"CYBERAGENT_DOCKER_SOCKET": "tcp://127.0.0.1:2375", "CYBERAGENT_CONTAINERD_ADDRESS": "relative", "CYBERAGENT_ENGINE": "podman",
		"CYBERAGENT_DOCKER_ALLOW_DESKTOP": "perhaps", "CYBERAGENT_CONTAINERD_NAMESPACE": "Upper", "CYBERAGENT_CONTAINERD_BINARY": "-x",
		"CYBERAGENT_LEDGER_PATH": missing, "CYBERAGENT_DRYDOCK_LIFE_DAYS": "31",
	} {
		_, err := load(t, "", map[string]string{name: bad}, nil)
		if e := fault.From(err); e == nil || e.Code != fault.ConfigInvalid || !strings.Contains(e.Remedy, name+" in the environment") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	_, err := load(t, "", nil, map[string]string{"engine": "podman"})
	if e := fault.From(err); e == nil || !strings.Contains(e.Remedy, "the flag --engine") {
		t.Errorf("a flag: %+v", e)
	}
}

func TestWhence_TheLastLayerThatSpokeIsNamed(t *testing.T) {
	t.Parallel()
	const digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	c, err := load(t, "engine: auto\ndocker:\n  socket: /file.sock\nimage:\n  projects:\n    /src: "+digest+"\n",
		map[string]string{"CYBERAGENT_CONTAINERD_ADDRESS": "/env.sock", "CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST": digest, "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST": digest},
		map[string]string{"image.docker": digest})
	if err != nil {
		t.Fatal(err)
	}
	from := func(e isolation.Engine, repository string) string {
		said, alone := c.ImageFrom(e, repository)
		if alone != (repository == "/src") {
			t.Errorf("the image of %q is its own: %v", repository, alone)
		}
		return said
	}
	for want, got := range map[string]string{
		"docker.socket is /file.sock, from " + c.File:                                                  c.Endpoints()[isolation.Docker],
		"containerd.address is /env.sock, from CYBERAGENT_CONTAINERD_ADDRESS in the environment":       c.Endpoints()[isolation.Containerd],
		"image.docker is from the flag --image-digest":                                                 from(isolation.Docker, ""),
		"image.projects is from " + c.File:                                                             from(isolation.Docker, "/src"),
		"image.containerd is from CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST in the environment": from(isolation.Containerd, "/other"),
		"the default": c.Whence("ledger.path"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLoad_LeavesMalformedDigestsOfTheEnvironmentToReadiness(t *testing.T) {
	t.Parallel()
	c, err := load(t, "image:\n  docker: ''\n", map[string]string{"CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST": "latest"}, nil)
	if err != nil || c.Image.Docker != "latest" {
		t.Errorf("%q, %v", c.Image.Docker, err)
	}
}

func TestLoad_ALedgerElsewhereNeedsItsDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "no", "such", "ledger.db")
	for where, c := range map[string]struct {
		file string
		env  map[string]string
	}{
		"file":        {"ledger:\n  path: " + missing + "\n", nil},
		"environment": {"", map[string]string{"CYBERAGENT_LEDGER_PATH": missing}},
	} {
		_, err := load(t, c.file, c.env, nil)
		if e := fault.From(err); e == nil || e.Code != fault.ConfigInvalid || e.Field != "ledger.path" || !strings.Contains(e.Remedy, filepath.Dir(missing)) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "no")); err == nil {
		t.Error("the directory was made")
	}
	if _, err := load(t, "", map[string]string{"CYBERAGENT_LEDGER_PATH": filepath.Join(dir, "ledger.db")}, nil); err != nil {
		t.Errorf("a directory that exists: %v", err)
	}
}

func TestLoad_SaysThatDockersOwnVariablesAreIgnored(t *testing.T) {
	t.Parallel()
	c, err := load(t, "", map[string]string{"DOCKER_HOST": "tcp://x", "DOCKER_API_VERSION": "1.1"}, nil)
	if err != nil || len(c.Notices) != 2 || c.Docker.Socket != "/var/run/docker.sock" {
		t.Fatalf("notices %v, socket %s, err %v", c.Notices, c.Docker.Socket, err)
	}
}

func TestLoad_AnEmptyFileIsFine(t *testing.T) {
	t.Parallel()
	if _, err := load(t, "# nothing yet\n", nil, nil); err != nil {
		t.Fatal(err)
	}
}

func FuzzFile(f *testing.F) {
	f.Add("engine: docker\n")
	f.Add("docker:\n  socket: /x\n? [a]\n: b\n")
	f.Fuzz(func(t *testing.T, file string) {
		if len(file) > 4096 || file == "" {
			return
		}
		if _, err := load(t, file, nil, nil); err != nil && fault.CodeOf(err) != fault.ConfigInvalid {
			t.Fatalf("%q: %v", file, err)
		}
	})
}

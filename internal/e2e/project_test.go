package e2e

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// projectView is the answer of `fixture build --project`.
type projectView struct {
	Protocol string              `json:"protocol_version"`
	Engine   string              `json:"engine"`
	Project  string              `json:"project"`
	Image    string              `json:"image_digest"`
	Config   string              `json:"config_digest"`
	Manifest string              `json:"manifest_digest"`
	Tag      string              `json:"tag"`
	Size     int64               `json:"size_bytes"`
	Took     int64               `json:"took_ms"`
	Locks    map[string]string   `json:"lockfiles_sha256"`
	Holds    map[string][]string `json:"packages"`
	Absent   map[string][]string `json:"packages_absent"`
	Warnings []string            `json:"warnings"`
}

// builtView is an image that a build made.
type builtView struct {
	ID         string         `json:"image_id"`
	Tags       []string       `json:"tags"`
	Size       int64          `json:"size_bytes"`
	Project    bool           `json:"project"`
	Unfinished bool           `json:"unfinished"`
	Packages   map[string]int `json:"package_counts"`
	Uses       []string       `json:"uses"`
	Digest     string         `json:"digest"`
}

// removalView is the answer of `fixture remove`.
type removalView struct {
	builtView

	Protocol string `json:"protocol_version"`
	Engine   string `json:"engine"`
	DryRun   bool   `json:"dry_run"`
	Present  bool   `json:"present"`
}

// fixtureListView is the answer of `fixture list`.
type fixtureListView struct {
	Protocol string      `json:"protocol_version"`
	Engine   string      `json:"engine"`
	Images   []builtView `json:"images"`
}

// inspectedView is what of `fixture inspect` counts here.
type inspectedView struct {
	Protocol string              `json:"protocol_version"`
	Digest   string              `json:"image_digest"`
	Present  bool                `json:"present"`
	ID       string              `json:"image_id"`
	Platform string              `json:"platform"`
	Size     int64               `json:"size_bytes"`
	Labels   map[string]string   `json:"labels"`
	Usable   bool                `json:"usable"`
	Blockers []map[string]string `json:"blockers"`
}

// dependency is a module of this repository's own that needs no other one.
const dependency = "github.com/oklog/ulid/v2"

// MustDependent makes a repository whose one test needs the dependency, and returns
// the dependency's version.
func (h *home) MustDependent(t *testing.T) (source, version string) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join("..", "..", "go.sum"))
	must(t, err)
	var mine []string
	for l := range strings.Lines(string(sums)) {
		if f := strings.Fields(l); len(f) == 3 && f[0] == dependency {
			mine = append(mine, l)
			version = strings.TrimSuffix(f[1], "/go.mod")
		}
	}
	return h.MustSource(t, map[string]string{
		"go.mod": fmt.Sprintf("module example.test/dependent\n\ngo 1.26\n\nrequire %s %s\n", dependency, version),
		"go.sum": strings.Join(mine, ""),
		"id.go": "package dependent\n\nimport \"" + dependency + "\"\n\n// Valid says whether s is an id.\n" +
			"func Valid(s string) bool { _, err := ulid.Parse(s); return err == nil }\n",
		"id_test.go": "package dependent\n\nimport \"testing\"\n\nfunc TestValid(t *testing.T) {\n" +
			"\tif !Valid(\"01ARZ3NDEKTSV4RRFFQ69G5FAV\") || Valid(\"x\") {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	}), version
}

func TestProject_DependenciesComeWithAnImageOfItsOwn(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source, version := h.MustDependent(t)
	f := h.MustFlow(t, source)
	tests := command{toolchain: "go", args: []string{"test", "./..."}, timeout: 600}

	// The plain image lacks them: nobody is asked, and what to type is said.
	refused := append([]string{"run", "standard-code", "prepare"}, f.at(tests)...)
	e := MustFail(t, h.call(t, append(refused, "--operation-key", f.key("prepare"))...), 3)
	if want := dependency + "@" + version; e.Code != "dependencies_missing" || !strings.Contains(e.Message, want) ||
		!strings.Contains(e.Message, "cyberagent fixture build --project "+source) || e.Details["remediation"] != "rebuild_project_image" {
		t.Fatalf("refused as %+v, want %s named with the command", e, want)
	}

	p := MustAnswer[projectView](t, h.call(t, "fixture", "build", "--project", source, "--go-modules", goModules(t)), 0)
	removed := false
	t.Cleanup(func() {
		if removed {
			return
		}
		mustUntag(t, p.Tag)
	})
	if p.Project != source || len(p.Holds["go"]) != 1 || p.Holds["go"][0] != dependency+"@"+version || !hexPattern.MatchString(p.Locks["go"]) || len(p.Warnings) > 0 {
		t.Errorf("the image is said to be %+v", p)
	}
	file := filepath.Join(h.state, "config.yaml")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "image:\n  projects:\n    %q: %s\n", source, p.Image), 0o600))

	prepared := f.MustPrepare(t, tests)
	if prepared.Authority.ImageDigest != p.Image {
		t.Errorf("bound to image %s, want the project's %s", prepared.Authority.ImageDigest, p.Image)
	}
	checkResult(t, f, f.MustRun(t, tests, 0), "succeeded", 0)

	// A lockfile that changes after the approval is drift like any other file's.
	a := f.MustApprove(t, tests)
	appendTo(t, filepath.Join(f.path, "go.sum"), "example.test/x v1.0.0 h1:AAAA=\n")
	if e := MustFail(t, f.Execute(t, a), 3); e.Code != "drydock_drifted" {
		t.Errorf("a changed lockfile: %+v", e)
	}

	// The image goes when nobody needs it: not while it is configured, nor while an
	// approval for it can be used.
	remove := []string{"fixture", "remove", p.Image}
	if e := MustFail(t, h.call(t, remove...), 4); e.Code != "operation_conflict" || !strings.Contains(e.Message, "image.projects "+source) || !strings.Contains(e.Message, a.prep.ID) {
		t.Errorf("a configured image: %+v", e)
	}
	must(t, os.Remove(file))
	if e := MustFail(t, h.call(t, remove...), 4); e.Code != "operation_conflict" || strings.Contains(e.Message, "image.projects") {
		t.Errorf("an image of an approval: %+v", e)
	}
	MustAnswer[runView](t, h.call(t, "run", "close", f.run), 0)
	shown := MustAnswer[removalView](t, h.call(t, remove...), 0)
	if !shown.DryRun || !shown.Present || !shown.Project || shown.Packages["go"] != 1 || !slices.Contains(shown.Tags, p.Tag) || len(shown.Uses) > 0 {
		t.Errorf("the preview: %+v", shown)
	}
	gone := MustAnswer[removalView](t, h.call(t, append(remove, "--confirm", shown.Digest)...), 0)
	removed = gone.ID != "" && !gone.Present
	if v := MustAnswer[inspectedView](t, h.call(t, "fixture", "inspect", p.Image), 3); !removed || v.Present {
		t.Errorf("after the removal: %+v, %+v", gone, v)
	}

	// Another repository keeps the plain image.
	other := h.MustFlow(t, h.MustProject(t, "go"))
	if got := other.MustPrepare(t, tests).Authority.ImageDigest; got != lab.digest {
		t.Errorf("another repository is bound to %s, want %s", got, lab.digest)
	}
}

// mustUntag removes an image that a test built.
func mustUntag(t *testing.T, tag string) {
	t.Helper()
	if out, err := exec.Command("docker", "-H", "unix://"+lab.socket, "rmi", tag).CombinedOutput(); err != nil {
		t.Errorf("the image stays: %v %s", err, out)
	}
}

// goModules is this machine's module cache.
func goModules(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// MustWheel writes a wheel of one package with a file of that many bytes.
func MustWheel(t *testing.T, dir, name string, size int) {
	t.Helper()
	out, err := os.Create(filepath.Join(dir, name+"-1.0-py3-none-any.whl"))
	must(t, err)
	w := zip.NewWriter(out)
	info := name + "-1.0.dist-info/"
	for _, f := range []struct{ path, text string }{
		{name + "/__init__.py", ""},
		{name + "/data.bin", strings.Repeat("\x00", size)},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", name + "/__init__.py,,\n" + name + "/data.bin,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		part, err := w.Create(f.path)
		must(t, err)
		_, err = part.Write([]byte(f.text))
		must(t, err)
	}
	must(t, w.Close())
	must(t, out.Close())
}

// No command may write a file over 16 MiB; what an image is made of may have one: the
// library of a wheel, the archive of a module.
func TestProject_ALargeFileOfADependencyFitsIntoAnImage(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source := h.MustSource(t, map[string]string{
		"requirements.txt": "large==1.0\n",
		"test_large.py": "import os\nimport large\n\n\ndef test_size():\n" +
			"    assert os.path.getsize(os.path.join(os.path.dirname(large.__file__), 'data.bin')) == 20 << 20\n",
	})
	wheels := t.TempDir()
	MustWheel(t, wheels, "large", 20<<20)
	p := MustAnswer[projectView](t, h.call(t, "fixture", "build", "--project", source, "--wheels", wheels), 0)
	t.Cleanup(func() { mustUntag(t, p.Tag) })
	must(t, os.WriteFile(filepath.Join(h.state, "config.yaml"), fmt.Appendf(nil, "image:\n  projects:\n    %q: %s\n", source, p.Image), 0o600))
	f := h.MustFlow(t, source)
	checkResult(t, f, f.MustRun(t, command{toolchain: "python", args: []string{"-m", "pytest", "-q"}, timeout: 120}, 0), "succeeded", 0)
}

// A build that is killed while it makes caches has an image in the engine by then, which
// is no result: it is said so, and the next build takes it away.
func TestProject_AKilledBuildLeavesNothingToTheNextOne(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	source, _ := h.MustDependent(t)
	build := []string{"fixture", "build", "--project", source, "--go-modules", goModules(t)}
	p := h.start(t, build...)
	claims := filepath.Join(h.state, "ovens", "docker", "adm_*")
	var left []string
	for until := time.Now().Add(patience); len(left) < 2; left, _ = filepath.Glob(claims) { // the image's and a container's
		if time.Now().After(until) {
			t.Fatalf("no caches are made: %s", p.stderr.Bytes())
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.Signal(t, syscall.SIGKILL)
	p.Wait(t)
	unfinished := func() (all []string) {
		t.Helper()
		for _, i := range MustAnswer[fixtureListView](t, h.call(t, "fixture", "list"), 0).Images {
			for _, tag := range i.Tags {
				if slices.ContainsFunc(left, func(dir string) bool {
					return strings.HasSuffix(tag, ":oven-"+strings.ToLower(strings.TrimPrefix(filepath.Base(dir), "adm_")))
				}) {
					if !i.Unfinished {
						t.Errorf("%s is said to be a build's result", tag)
					}
					all = append(all, tag)
				}
			}
		}
		return all
	}
	if len(unfinished()) != 1 {
		t.Errorf("the killed build left %v of %v", unfinished(), left)
	}
	made := MustAnswer[projectView](t, h.call(t, build...), 0)
	t.Cleanup(func() { mustUntag(t, made.Tag) })
	if rest, _ := filepath.Glob(claims); len(unfinished()) > 0 || len(rest) > 0 {
		t.Errorf("after the next build: %v, %v", unfinished(), rest)
	}
	h.MustHaveNoContainer(t)
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

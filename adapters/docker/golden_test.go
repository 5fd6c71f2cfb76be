package docker

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/isolation"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// What the golden files hold in place of what differs by test run or is a file
// of the domain's.
const (
	goldenImage   = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	goldenRoot    = "/srv/drydock"
	goldenMask    = "/srv/mask"
	goldenDo      = `{"golden":true}`
	goldenProfile = "the domain's profile"
)

var goldenHosts = isolation.Mount{Source: "/srv/hosts", Target: hostsTarget, ReadOnly: true, Private: true}

func goldenSpec(t *testing.T, stdin isolation.Stdin) isolation.Spec {
	t.Helper()
	spec, err := isolation.NewSpec(fakeOwner.Admission, fakeOwner.Installation, goldenImage, goldenRoot, isolation.MaskFacts{
		Path: goldenMask, Kind: isolation.Regular, Links: 1, Mode: isolation.MaskMode, Content: []byte(isolation.MaskContent),
	}, "test", []byte(goldenDo), stdin)
	must(t, err)
	return spec
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	must(t, enc.Encode(v))
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(path, b.Bytes(), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; look at the change, then: go test -update\n%s", path, b.String())
	}
}

func TestRequest_Golden(t *testing.T) {
	for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
		cfg, host := request(goldenSpec(t, stdin), []string{"LD_PRELOAD=/evil.so", "PATH=/bin"}, goldenHosts)
		if host.SecurityOpt[1] != seccompOpt+string(isolation.SeccompProfile()) {
			t.Error("the profile is not the domain's")
		}
		host.SecurityOpt[1] = seccompOpt + goldenProfile
		golden(t, "create-"+string(stdin)+".json", container.CreateRequest{Config: cfg, HostConfig: host})
	}
}

// recordings are the API versions of the engines whose reports were recorded.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/inspect-*.json")
	must(t, err)
	var versions []string
	for _, f := range files {
		versions = append(versions, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "inspect-"), ".json"))
	}
	if len(versions) == 0 || versions[0] != oldestAPI {
		t.Fatalf("recordings of %q", versions)
	}
	return versions
}

// recorded returns what a real engine reports of the golden spec's container.
// TestCreate_ReadsBack records it.
func recorded(t *testing.T, version string) (container.InspectResponse, []byte) {
	t.Helper()
	raw, err := os.ReadFile("testdata/inspect-" + version + ".json")
	must(t, err)
	profile, err := json.Marshal(string(isolation.SeccompProfile()))
	must(t, err)
	raw = bytes.ReplaceAll(raw, []byte(goldenProfile), bytes.Trim(profile, `"`))
	var in container.InspectResponse
	must(t, json.Unmarshal(raw, &in))
	return in, raw
}

// record writes a real engine's report in the golden spec's words.
func record(t *testing.T, version string, raw []byte, spec isolation.Spec) {
	t.Helper()
	p := spec.Properties()
	profile, err := json.Marshal(string(isolation.SeccompProfile()))
	must(t, err)
	text := string(raw)
	for old, replacement := range map[string]string{
		string(bytes.Trim(profile, `"`)): goldenProfile,
		string(spec.Admission()):         string(fakeOwner.Admission),
		string(spec.Installation()):      string(fakeOwner.Installation),
		spec.ImageID():                   goldenImage,
		p.Args[1]:                        strings.ReplaceAll(goldenDo, `"`, `\"`),
		p.Mounts[0].Source:               goldenRoot,
		p.Mounts[1].Source:               goldenMask,
		lab.engine.hosts().Source:        goldenHosts.Source,
	} {
		text = strings.ReplaceAll(text, old, replacement)
	}
	var report map[string]any
	must(t, json.Unmarshal([]byte(text), &report))
	report["Id"], report["Created"] = string(fakeID), thatTime
	report["GraphDriver"] = map[string]any{} // paths of the machine
	delete(report, "ImageManifestDescriptor")
	name := "inspect-" + version + ".json"
	golden(t, name, report)
}

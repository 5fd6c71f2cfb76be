package config_test

import (
	"strings"
	"testing"

	"cyberagent/config"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
)

var one, two = "sha256:" + strings.Repeat("1", 64), "sha256:" + strings.Repeat("2", 64)

func TestProjects_EachRepositoryHasItsOwnImage(t *testing.T) {
	t.Parallel()
	c, err := load(t, "image:\n  docker: "+one+"\n  projects:\n    /home/op/parser: "+two+"\n    \"/home/op/my project\": "+one+"\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string]string{
		"/home/op/parser": two, "/home/op/my project": one, "/home/op/other": one, "/home/op/parser/sub": one, "": one,
	} {
		for _, e := range []isolation.Engine{isolation.Docker, isolation.Containerd} {
			if got := c.ProjectDigest(e, repository); got != want {
				t.Errorf("%s on %s: %s, want %s", repository, e, got, want)
			}
		}
	}
	var shown []string
	for _, v := range c.Values() {
		if strings.HasPrefix(v.Key, "image.projects.") && v.Origin == config.FromFile {
			shown = append(shown, v.Key+"="+v.Value)
		}
	}
	if want := "image.projects./home/op/my project=" + one + " image.projects./home/op/parser=" + two; strings.Join(shown, " ") != want {
		t.Errorf("shown %q", shown)
	}
}

func TestProjects_AreReadStrictly(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a relative path": "parser: " + one, "a path that is not clean": "/home//parser: " + one, "a way up": "/home/../parser: " + one,
		"a tag": "/home/parser: name:latest", "no digest": "/home/parser: ''", "a short digest": "/home/parser: sha256:12",
		"a repository given twice": "/home/a: " + one + "\n    /home/a: " + two, "a list": "[/home/a]", "a mapping below": "/home/a: {docker: " + one + "}",
		"a number as a path": "12: " + one,
	} {
		_, err := load(t, "image:\n  projects:\n    "+body+"\n", nil, nil)
		f := fault.From(err)
		if f == nil || f.Code != fault.ConfigInvalid || f.Remedy == "" || f.Details["line"] == "0" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := load(t, "image:\n  projects: x\n", nil, nil); fault.CodeOf(err) != fault.ConfigInvalid {
		t.Errorf("a plain value: %v", err)
	}
	if _, err := load(t, "image:\n  projects:\n", nil, nil); err != nil {
		t.Errorf("none: %v", err)
	}
	_, err := load(t, "image:\n  project:\n    /home/a: "+one+"\n", nil, nil)
	if f := fault.From(err); f == nil || !strings.Contains(f.Remedy, "image.projects") {
		t.Errorf("the nearest key is not named: %v", err)
	}
}

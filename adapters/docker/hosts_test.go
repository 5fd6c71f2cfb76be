package docker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/isolation"
)

func TestHosts_AreLaidOnceAndPutRight(t *testing.T) {
	e := &Engine{dir: filepath.Join(t.TempDir(), "docker")}
	path := e.hosts().Source
	look := func() os.FileInfo {
		t.Helper()
		must(t, e.layHosts())
		text, err := os.ReadFile(path)
		must(t, err)
		s, err := os.Lstat(path)
		must(t, err)
		if string(text) != "127.0.0.1\tlocalhost\n::1\tlocalhost\n" || s.Mode() != 0o444 {
			t.Errorf("%q, mode %v", text, s.Mode())
		}
		return s
	}
	first := look()
	if !os.SameFile(first, look()) {
		t.Error("a file that is right was made anew")
	}
	must(t, os.Remove(path))
	must(t, os.Symlink("/etc/passwd", path))
	look()
	must(t, os.Remove(path))
	must(t, os.WriteFile(path, []byte("192.0.2.1 elsewhere\n"), 0o444))
	look()
	left, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	if len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestHosts_OtherThanExactlyTheOneMountIsADifference(t *testing.T) {
	for name, change := range map[string]func(*container.InspectResponse){
		"none":           func(in *container.InspectResponse) { in.Mounts = in.Mounts[:2] },
		"writable":       func(in *container.InspectResponse) { in.Mounts[2].RW = true },
		"of another":     func(in *container.InspectResponse) { in.Mounts[2].Source = "/etc/hosts" },
		"somewhere else": func(in *container.InspectResponse) { in.Mounts[2].Destination = "/etc/passwd" },
		"twice":          func(in *container.InspectResponse) { in.Mounts = append(in.Mounts, in.Mounts[2]) },
	} {
		in, raw := recorded(t, oldestAPI)
		change(&in)
		if diffs := isolation.Compare(goldenSpec(t, isolation.StdinPipe), properties(in, raw, goldenHosts)); len(diffs) == 0 {
			t.Errorf("%s: not noticed", name)
		}
	}
}

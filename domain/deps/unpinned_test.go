package deps_test

import (
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
)

func TestUnpinned_NamesWhatNobodyCanLookFor(t *testing.T) {
	t.Parallel()
	const mod = "module m\nrequire (\n a.example/b v1.0.0\n c.example/d v1.0.0 // indirect\n)\n"
	for name, c := range map[string]struct {
		toolchain command.Toolchain
		files     map[string]string
		want      string
	}{
		"no go.sum":                   {command.Go, map[string]string{"go.mod": mod}, "a.example/b c.example/d"},
		"a go.sum of go.mod files":    {command.Go, map[string]string{"go.mod": mod, "go.sum": "a.example/b v1.0.0/go.mod h1:x=\n"}, "a.example/b c.example/d"},
		"one is pinned":               {command.Go, map[string]string{"go.mod": mod, "go.sum": "a.example/b v1.0.0 h1:x=\n"}, ""},
		"replaced by a directory":     {command.Go, map[string]string{"go.mod": "module m\nrequire a.example/b v1.0.0\nreplace a.example/b => ./b\n"}, ""},
		"nothing required":            {command.Go, map[string]string{"go.mod": "module m\n"}, ""},
		"vendored":                    {command.Go, map[string]string{"go.mod": mod, "vendor/modules.txt": "# x\n"}, ""},
		"requirements without pins":   {command.Python, map[string]string{"requirements.txt": "# c\nrequests\nsix>=1 # why\nwin; sys_platform == 'win32'\n-e .\n"}, "requests six>=1"},
		"a requirement with a pin":    {command.Python, map[string]string{"requirements.txt": "requests\nsix==1.0\n"}, ""},
		"no lockfile":                 {command.Node, map[string]string{}, ""},
		"a lockfile that has nothing": {command.Node, map[string]string{"package-lock.json": `{"packages":{}}`}, ""},
	} {
		files := map[string][]byte{}
		for n, text := range c.files {
			files[n] = []byte(text)
		}
		if got := strings.Join(deps.Unpinned(c.toolchain, files), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

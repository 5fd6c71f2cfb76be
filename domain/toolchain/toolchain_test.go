package toolchain_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/toolchain"
)

// environments are the whole environments, written out by hand from contract
// section 3.
var environments = map[command.Toolchain][]string{
	"go": {
		"CGO_ENABLED=0",
		"CI=true",
		"GOCACHE=/standard-code/cache/go/build",
		"GOENV=off",
		"GOFLAGS=-buildvcs=false",
		"GOPATH=/standard-code/cache/go/path",
		"GOPROXY=off",
		"GOROOT=/usr/local/go",
		"GOSUMDB=off",
		"GOTELEMETRY=off",
		"GOTMPDIR=/standard-code/cache/go/tmp",
		"GOTOOLCHAIN=local",
		"HOME=/standard-code/cache/home",
		"LANG=C.UTF-8",
		"PATH=/standard-code/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
		"TMPDIR=/standard-code/cache/tmp",
		"TZ=UTC",
	},
	"node": {
		"CI=true",
		"HOME=/standard-code/cache/home",
		"LANG=C.UTF-8",
		"NO_UPDATE_NOTIFIER=1",
		"PATH=/standard-code/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
		"TMPDIR=/standard-code/cache/tmp",
		"TZ=UTC",
		"npm_config_audit=false",
		"npm_config_cache=/standard-code/cache/npm",
		"npm_config_fund=false",
		"npm_config_offline=true",
		"npm_config_update_notifier=false",
	},
	"python": {
		"CI=true",
		"HOME=/standard-code/cache/home",
		"LANG=C.UTF-8",
		"PATH=/standard-code/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
		"PIP_DISABLE_PIP_VERSION_CHECK=1",
		"PIP_NO_INDEX=1",
		"PYTEST_ADDOPTS=-p no:cacheprovider",
		"PYTHONDONTWRITEBYTECODE=1",
		"PYTHONNOUSERSITE=1",
		"TMPDIR=/standard-code/cache/tmp",
		"TZ=UTC",
	},
	"rust": {
		"CARGO_HOME=/standard-code/cache/rust/cargo",
		"CARGO_INCREMENTAL=0",
		"CARGO_NET_OFFLINE=true",
		"CARGO_PROFILE_DEV_DEBUG=0",
		"CARGO_PROFILE_DEV_STRIP=debuginfo",
		"CARGO_PROFILE_TEST_DEBUG=0",
		"CARGO_PROFILE_TEST_STRIP=debuginfo",
		"CARGO_TARGET_DIR=/standard-code/cache/rust/target",
		"CI=true",
		"HOME=/standard-code/cache/home",
		"LANG=C.UTF-8",
		"PATH=/standard-code/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin",
		"TMPDIR=/standard-code/cache/tmp",
		"TZ=UTC",
	},
}

func TestEnvironmentIsFixed(t *testing.T) {
	// Not parallel: it shows that nothing of this process comes through.
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("PYTEST_ADDOPTS", "--evil")
	t.Setenv("LD_PRELOAD", "/evil.so")
	for tc, want := range environments {
		if got := toolchain.Environment(tc, toolchain.Carried{}); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tc, got, want)
		}
	}
	if len(environments) != len(command.Toolchains()) {
		t.Errorf("%d toolchains, this test knows %d", len(command.Toolchains()), len(environments))
	}
}

var everything = toolchain.Carried{ModCache: true, SitePkgs: true}

func TestWhatAnImageCarriesIsForItsToolchainOnly(t *testing.T) {
	t.Parallel()
	more := map[command.Toolchain]string{
		"go": "GOMODCACHE=/standard-code/deps/go/mod", "python": "PYTHONPATH=/standard-code/deps/python/site-packages",
	}
	for tc, want := range environments {
		if more[tc] != "" {
			want = slices.Sorted(slices.Values(append(slices.Clone(want), more[tc])))
		}
		if got := toolchain.Environment(tc, everything); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", tc, got, want)
		}
	}
}

func TestEnvironmentNamesEachVariableOnce(t *testing.T) {
	t.Parallel()
	for tc := range environments {
		seen := map[string]bool{}
		for _, kv := range toolchain.Environment(tc, everything) {
			name, value, ok := strings.Cut(kv, "=")
			if !ok || name == "" || value == "" || seen[name] {
				t.Errorf("%s: %q is malformed or repeated", tc, kv)
			}
			seen[name] = true
		}
	}
}

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tc      command.Toolchain
		args    []string
		program string
		rest    []string
	}{
		{"go", "go", []string{"test", "./..."}, "/standard-code/bin/go", []string{"test", "./..."}},
		{"node", "node", []string{"--test"}, "/standard-code/bin/node", []string{"--test"}},
		{"npm", "node", []string{"npm", "test"}, "/standard-code/bin/npm", []string{"test"}},
		{"npm alone", "node", []string{"npm"}, "/standard-code/bin/npm", nil},
		{"npm second is an argument", "node", []string{"x.js", "npm"}, "/standard-code/bin/node", []string{"x.js", "npm"}},
		{"npx is a file for node", "node", []string{"npx"}, "/standard-code/bin/node", []string{"npx"}},
		{"a path to npm is a file for node", "node", []string{"/usr/bin/npm"}, "/standard-code/bin/node", []string{"/usr/bin/npm"}},
		{"npm means nothing to the others", "python", []string{"npm"}, "/standard-code/bin/python3", []string{"npm"}},
		{"python", "python", []string{"-m", "pytest"}, "/standard-code/bin/python3", []string{"-m", "pytest"}},
		{"rust", "rust", []string{"test", "--offline"}, "/standard-code/bin/cargo", []string{"test", "--offline"}},
		{"unknown runs nothing", "bash", []string{"-c", "id"}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(c.args)
			program, rest := toolchain.Program(c.tc, c.args)
			if program != c.program || !slices.Equal(rest, c.rest) {
				t.Errorf("got %s %q, want %s %q", program, rest, c.program, c.rest)
			}
			if len(rest) > 0 {
				rest[0] = "changed"
			}
			if !slices.Equal(c.args, before) {
				t.Error("the caller's arguments are shared")
			}
		})
	}
}

func TestDirsLieInTheCacheAndHoldEveryPlaceOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const cache = "/standard-code/cache"
	for tc := range environments {
		dirs := toolchain.Dirs(tc)
		for _, d := range dirs {
			if path.Clean(d) != d || !strings.HasPrefix(d, cache+"/") {
				t.Errorf("%s: %s is not in the cache", tc, d)
			}
		}
		for _, kv := range toolchain.Environment(tc, everything) {
			name, value, _ := strings.Cut(kv, "=")
			if strings.HasPrefix(value, cache) && !slices.Contains(dirs, value) {
				t.Errorf("%s: %s points to %s, which nobody makes", tc, name, value)
			}
		}
	}
}

func TestBakingMovesTheCacheAndNothingElse(t *testing.T) {
	t.Parallel()
	for tc := range environments {
		for _, kv := range toolchain.Environment(tc, everything) {
			name, before, _ := strings.Cut(kv, "=")
			got := toolchain.Baking(kv)
			if after, ok := strings.CutPrefix(before, "/standard-code/cache"); ok {
				if got != name+"=/workspace/.standard-code"+after {
					t.Errorf("%s: %s became %s", tc, kv, got)
				}
			} else if got != kv {
				t.Errorf("%s: %s became %s", tc, kv, got)
			}
		}
	}
}

func TestToolsHoldEveryProgram(t *testing.T) {
	t.Parallel()
	want := []string{"go", "gofmt", "node", "npm", "npx", "python3", "cargo", "rustc"}
	if got := toolchain.Tools(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

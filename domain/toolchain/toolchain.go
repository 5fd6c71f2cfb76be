// Package toolchain says which fixed program each selector runs and the whole
// environment that the runner gives it (contract section 3). Nothing of the
// operator's or the host's environment is ever added.
package toolchain

import (
	"slices"
	"strings"

	"cyberagent/domain/command"
)

// Fixed places inside the container.
const (
	Workspace = "/workspace"
	Cache     = "/standard-code/cache"
	Bin       = "/standard-code/bin"
	GoRoot    = "/usr/local/go"
	// Deps is where a project's image carries its dependencies. Each part is used
	// when it exists: Go's module cache, Python's packages, and Cargo's configuration,
	// which names the vendored crates. Node finds its own by NodeLink.
	Deps        = "/standard-code/deps"
	ModCache    = Deps + "/go/mod"
	SitePkgs    = Deps + "/python/site-packages"
	CargoVendor = Deps + "/rust/vendor"
	CargoConfig = Deps + "/rust/config.toml"
	NodeModules = Deps + "/node/node_modules"
	// NodeLink leads to NodeModules: node looks for packages in the directory of
	// every parent of the workspace.
	NodeLink = "/node_modules"
	// WarmStd is the same, made by the builder of an image whose base has none.
	WarmStd = "/standard-code/warm/go"
	// WarmDeps is the build cache of a project's Go dependencies, as WarmGo is that
	// of the standard library.
	WarmDeps = Deps + "/go/warm"
	// Oven stands for Cache while an image's caches are made: they are larger than
	// the cache of a command.
	Oven = Workspace + "/.standard-code"
	// WarmGo is where an image may carry Go's compiled standard library in the form
	// of a build cache; a file "index" lists its entries. The runner links them into
	// the empty cache of a go command.
	WarmGo = GoRoot + "/pkg/standard-code-cache"
	// Home, Tmp and Target are made by the runner in the empty cache.
	Home   = Cache + "/home"
	Tmp    = Cache + "/tmp"
	Target = Cache + "/rust/target"
	// GoCache is the go command's build cache, CargoHome where cargo looks for its
	// configuration.
	GoCache   = Cache + "/go/build"
	CargoHome = Cache + "/rust/cargo"
)

// Path is the PATH of every command.
const Path = Bin + ":" + GoRoot + "/bin:/usr/local/bin:/usr/bin:/bin"

// Program returns the absolute path of the tool and the arguments after it. For
// node, a first argument "npm" selects the image's npm.
func Program(t command.Toolchain, args []string) (string, []string) {
	switch t {
	case command.Go:
		return Bin + "/go", slices.Clone(args)
	case command.Node:
		if len(args) > 0 && args[0] == "npm" {
			return Bin + "/npm", slices.Clone(args[1:])
		}
		return Bin + "/node", slices.Clone(args)
	case command.Python:
		return Bin + "/python3", slices.Clone(args)
	case command.Rust:
		return Bin + "/cargo", slices.Clone(args)
	}
	return "", nil
}

// Tools are the programs that a fixture image must carry below Bin.
func Tools() []string {
	return []string{"go", "gofmt", "node", "npm", "npx", "python3", "cargo", "rustc"}
}

// Dirs are the directories that the runner makes in the cache before it starts
// a command of the toolchain, mode 0700.
func Dirs(t command.Toolchain) []string {
	common := []string{Home, Tmp}
	switch t {
	case command.Go:
		return append(common, GoCache, Cache+"/go/path", Cache+"/go/tmp")
	case command.Node:
		return append(common, Cache+"/npm")
	case command.Python:
		return common
	case command.Rust:
		return append(common, CargoHome, Target)
	}
	return common
}

// Carried says what a project's image has at the fixed places.
type Carried struct {
	ModCache bool
	SitePkgs bool
}

// Baking is an environment or a directory of a command as it is while an image's
// caches are made: the same, with the oven in the place of the cache.
func Baking(s string) string { return strings.ReplaceAll(s, Cache, Oven) }

// Environment returns the whole environment of a command, sorted.
func Environment(t command.Toolchain, has Carried) []string {
	env := []string{
		"PATH=" + Path, "HOME=" + Home, "TMPDIR=" + Tmp,
		"LANG=C.UTF-8", "TZ=UTC", "CI=true",
	}
	switch t {
	case command.Go:
		env = append(env,
			"GOROOT="+GoRoot, "GOCACHE="+GoCache, "GOPATH="+Cache+"/go/path", "GOTMPDIR="+Cache+"/go/tmp",
			"GOENV=off", "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "CGO_ENABLED=0",
			// The .git mask is not a repository; stamping would fail the build.
			"GOFLAGS=-buildvcs=false", "GOTELEMETRY=off")
		if has.ModCache {
			env = append(env, "GOMODCACHE="+ModCache)
		}
	case command.Node:
		env = append(env,
			"npm_config_cache="+Cache+"/npm", "npm_config_offline=true", "npm_config_update_notifier=false",
			"npm_config_audit=false", "npm_config_fund=false", "NO_UPDATE_NOTIFIER=1")
	case command.Python:
		env = append(env,
			"PYTHONDONTWRITEBYTECODE=1", "PYTHONNOUSERSITE=1",
			"PYTEST_ADDOPTS=-p no:cacheprovider", "PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1")
		if has.SitePkgs {
			env = append(env, "PYTHONPATH="+SitePkgs)
		}
	case command.Rust:
		env = append(env,
			"CARGO_HOME="+CargoHome, "CARGO_TARGET_DIR="+Target, "CARGO_NET_OFFLINE=true",
			"CARGO_INCREMENTAL=0", "CARGO_PROFILE_DEV_DEBUG=0", "CARGO_PROFILE_TEST_DEBUG=0",
			// The standard library carries debug information; with it a test binary is
			// over the file ceiling.
			"CARGO_PROFILE_DEV_STRIP=debuginfo", "CARGO_PROFILE_TEST_STRIP=debuginfo")
	}
	slices.Sort(env)
	return env
}

package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// systems are those that the module is built for.
var systems = []string{"linux", "windows", "darwin"}

// list asks the go command for packages as one system sees them.
func list(t *testing.T, system string, args ...string) []Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOFLAGS=", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s: %v", system, err)
	}
	var packages []Package
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

var known struct {
	sync.Once
	packages []Package
}

// all returns every package of the module, once for each system.
func all(t *testing.T) []Package {
	t.Helper()
	known.Do(func() {
		// `go test` keeps a result until a file changes that the test itself opened;
		// what `go list` reads does not count. So every directory is opened here.
		root := filepath.Join("..", "..")
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // somebody else's temporary file
			case err == nil && d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range systems {
			known.packages = append(known.packages, list(t, s, "./...")...)
		}
	})
	if len(known.packages) == 0 {
		t.Fatal("go list shows no package")
	}
	return known.packages
}

func TestImportsFollowTheRules(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, v := range Check(Rules(), all(t)) {
		if text := v.String(); !seen[text] {
			seen[text] = true
			t.Error(text)
		}
	}
}

func TestNoRuleIsStale(t *testing.T) {
	t.Parallel()
	for _, v := range Stale(Rules(), all(t)) {
		t.Error(v)
	}
	for _, r := range CallRules() {
		for _, pattern := range r.From {
			if !slices.ContainsFunc(all(t), func(p Package) bool { return match(pattern, local(p.ImportPath)) }) {
				t.Errorf("the rule about calls in %s is stale: no package matches", pattern)
			}
		}
	}
}

func TestDomainAndAppAskNobodyForTheTime(t *testing.T) {
	t.Parallel()
	uses, err := Calls(CallRules(), all(t))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(uses)
	for _, u := range slices.Compact(uses) {
		t.Error(u)
	}
}

// The runner's rule holds for everything that is linked into it.
func TestEverythingLinkedIntoTheRunnerIsAllowed(t *testing.T) {
	t.Parallel()
	all(t) // opens what decides whether this result may be kept
	allowed := []string{"std", "golang.org/x/sys/...", "github.com/gowebpki/jcs", "cyberagent/domain/...", "cyberagent/cmd/standard-code-runner/...", "cyberagent/internal/procs"}
	for _, p := range list(t, "linux", "-deps", "./cmd/standard-code-runner") {
		if !anyMatch(allowed, p.ImportPath) {
			t.Errorf("%s is linked into the runner", p.ImportPath)
		}
	}
}

// The domain reaches only itself and the canonical encoding, through however
// many steps.
func TestEverythingLinkedIntoTheDomainIsPure(t *testing.T) {
	t.Parallel()
	all(t) // opens what decides whether this result may be kept
	for _, p := range list(t, "linux", "-deps", "./domain/...") {
		if !anyMatch([]string{"std", "github.com/gowebpki/jcs", "cyberagent/domain/..."}, p.ImportPath) {
			t.Errorf("the domain links %s", p.ImportPath)
		}
	}
}

// faults are fake packages, each of which breaks one rule and no other.
var faults = []struct {
	rule     string
	p        Package
	imported string
}{
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"os"}}, "os"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"context"}}, "context"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"io/fs"}}, "io/fs"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"crypto/rand"}}, "crypto/rand"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"math/rand/v2"}}, "math/rand/v2"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"net/netip"}}, "net/netip"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"cyberagent/ports"}}, "cyberagent/ports"},
	{"domain is pure", Package{ImportPath: "cyberagent/domain/x", Imports: []string{"github.com/oklog/ulid/v2"}}, "github.com/oklog/ulid/v2"},
	{"the domain's tests need no world", Package{ImportPath: "cyberagent/domain/x", XTestImports: []string{"testing", "cyberagent/adapters/host"}}, "cyberagent/adapters/host"},
	{"the domain's tests need no world", Package{ImportPath: "cyberagent/domain/x", TestImports: []string{"github.com/stretchr/testify/require"}}, "github.com/stretchr/testify/require"},
	{"ports know the domain only", Package{ImportPath: "cyberagent/ports", Imports: []string{"cyberagent/app/runs"}}, "cyberagent/app/runs"},
	{"app knows ports and the domain", Package{ImportPath: "cyberagent/app/x", Imports: []string{"cyberagent/adapters/ledger"}}, "cyberagent/adapters/ledger"},
	{"app knows ports and the domain", Package{ImportPath: "cyberagent/app/x", Imports: []string{"cyberagent/config"}}, "cyberagent/config"},
	{"app does not reach the world by itself", Package{ImportPath: "cyberagent/app/x", Imports: []string{"os"}}, "os"},
	{"app does not reach the world by itself", Package{ImportPath: "cyberagent/app/x", Imports: []string{"crypto/rand"}}, "crypto/rand"},
	{"app's tests use fakes", Package{ImportPath: "cyberagent/app/x", XTestImports: []string{"cyberagent/cmd/cyberagent/internal/wiring"}}, "cyberagent/cmd/cyberagent/internal/wiring"},
	{"adapters know ports and the domain", Package{ImportPath: "cyberagent/adapters/x", Imports: []string{"cyberagent/app/runs"}}, "cyberagent/app/runs"},
	{"adapters know ports and the domain", Package{ImportPath: "cyberagent/adapters/x", Imports: []string{"cyberagent/config"}}, "cyberagent/config"},
	{"adapters do not know each other", Package{ImportPath: "cyberagent/adapters/x", Imports: []string{"cyberagent/adapters/x/y", "cyberagent/adapters/host"}}, "cyberagent/adapters/host"},
	{"adapters do not know each other", Package{ImportPath: "cyberagent/adapters/x", Imports: []string{"cyberagent/adapters/xx"}}, "cyberagent/adapters/xx"},
	{"adapters do not know each other", Package{ImportPath: "cyberagent/adapters/x", Imports: []string{"cyberagent/adapters/conformance"}}, "cyberagent/adapters/conformance"},
	{"what tests break with is not in the product", Package{ImportPath: "cyberagent/cmd/cyberagent/internal/wiring", Imports: []string{"cyberagent/adapters/memory"}}, "cyberagent/adapters/memory"},
	{"what tests break with is not in the product", Package{ImportPath: "cyberagent/adapters/docker", Imports: []string{"cyberagent/adapters/docker/dockertest"}}, "cyberagent/adapters/docker/dockertest"},
	{"adapters' tests share helpers only", Package{ImportPath: "cyberagent/adapters/x", XTestImports: []string{"cyberagent/adapters/ledger/ledgertest", "cyberagent/adapters/docker"}}, "cyberagent/adapters/docker"},
	{"engines' libraries stay in their adapters", Package{ImportPath: "cyberagent/config", Imports: []string{"github.com/docker/docker/client"}}, "github.com/docker/docker/client"},
	{"engines' libraries stay in their adapters", Package{ImportPath: "cyberagent/adapters/image", Imports: []string{"github.com/containerd/containerd/v2/client"}}, "github.com/containerd/containerd/v2/client"},
	{"engines' libraries stay in their adapters", Package{ImportPath: "cyberagent/cmd/cyberagent", Imports: []string{"github.com/containerd/errdefs"}}, "github.com/containerd/errdefs"},
	{"SQL stays in the ledger", Package{ImportPath: "cyberagent/cmd/cyberagent", Imports: []string{"github.com/uptrace/bun/dialect/sqlitedialect"}}, "github.com/uptrace/bun/dialect/sqlitedialect"},
	{"SQL stays in the ledger", Package{ImportPath: "cyberagent/config", Imports: []string{"database/sql"}}, "database/sql"},
	{"fx is for the composition root", Package{ImportPath: "cyberagent/config", Imports: []string{"go.uber.org/fx"}}, "go.uber.org/fx"},
	{"the command line is for cmd/cyberagent", Package{ImportPath: "cyberagent/internal/x", Imports: []string{"github.com/urfave/cli/v3"}}, "github.com/urfave/cli/v3"},
	{"the moby profile is an input of seccompgen", Package{ImportPath: "cyberagent/adapters/docker", Imports: []string{"github.com/moby/profiles/seccomp"}}, "github.com/moby/profiles/seccomp"},
	{"config knows the domain only", Package{ImportPath: "cyberagent/config", Imports: []string{"cyberagent/ports"}}, "cyberagent/ports"},
	{"the runner is small", Package{ImportPath: "cyberagent/cmd/standard-code-runner/internal/x", Imports: []string{"github.com/google/uuid"}}, "github.com/google/uuid"},
	{"the runner is small", Package{ImportPath: "cyberagent/cmd/standard-code-runner", Imports: []string{"cyberagent/ports"}}, "cyberagent/ports"},
	{"no mock library", Package{ImportPath: "cyberagent/cmd/cyberagent", TestImports: []string{"go.uber.org/mock/gomock"}}, "go.uber.org/mock/gomock"},
}

func TestEveryRuleCanFail(t *testing.T) {
	t.Parallel()
	proven := map[string]bool{}
	for _, f := range faults {
		got := Check(Rules(), []Package{f.p})
		if len(got) != 1 || got[0].Rule != f.rule || got[0].From != f.p.ImportPath || got[0].Import != f.imported || got[0].Reason == "" {
			t.Errorf("%s importing %s: got %v, want the rule %q alone", f.p.ImportPath, f.imported, got, f.rule)
		}
		proven[f.rule] = true
	}
	for _, r := range Rules() {
		if !proven[r.Name] {
			t.Errorf("no fault proves the rule %q", r.Name)
		}
	}
}

func TestWhatIsAllowedPasses(t *testing.T) {
	t.Parallel()
	for _, v := range Check(Rules(), []Package{
		{ImportPath: "cyberagent/domain/x", Imports: []string{"time", "cyberagent/domain/fault", "github.com/gowebpki/jcs"}, TestImports: []string{"os", "testing", "go/ast"}},
		{ImportPath: "cyberagent/ports", Imports: []string{"context", "io", "cyberagent/domain/id"}},
		{ImportPath: "cyberagent/app/x", Imports: []string{"context", "sync", "io/fs", "cyberagent/ports", "cyberagent/app/operation"}, XTestImports: []string{"cyberagent/adapters/ledger/ledgertest"}},
		{ImportPath: "cyberagent/adapters/docker", Imports: []string{"github.com/docker/docker/client", "cyberagent/ports", "os"}, XTestImports: []string{"cyberagent/adapters/ledger/ledgertest"}},
		{ImportPath: "cyberagent/adapters/ledger", Imports: []string{"github.com/uptrace/bun", "database/sql", "modernc.org/sqlite"}},
		{ImportPath: "cyberagent/adapters/ledger/ledgertest", Imports: []string{"cyberagent/adapters/ledger", "testing"}},
		{ImportPath: "cyberagent/cmd/cyberagent/internal/wiring", Imports: []string{"go.uber.org/fx", "cyberagent/adapters/docker", "github.com/docker/docker/client"}},
		{ImportPath: "cyberagent/cmd/standard-code-runner", Imports: []string{"os", "golang.org/x/sys/unix", "cyberagent/domain/runnerproto", "cyberagent/cmd/standard-code-runner/internal/tree"}},
		{ImportPath: "cyberagentextra/domain", Imports: []string{"os", "go.uber.org/fx"}},
		{ImportPath: "os", Imports: []string{"syscall"}},
	}) {
		t.Error(v)
	}
}

func TestARuleThatMatchesNothingIsStale(t *testing.T) {
	t.Parallel()
	for _, r := range Rules() {
		if len(r.From) == 0 || r.Reason == "" || (r.Allow == nil && r.Forbid == nil && !r.Siblings) {
			t.Errorf("the rule %q says nothing", r.Name)
		}
		for _, pattern := range slices.Concat(r.From, r.Except) {
			if pattern == "..." {
				continue
			}
			// Everything but what the pattern names.
			others := []Package{{ImportPath: "cyberagent/elsewhere"}, {ImportPath: "cyberagent/" + strings.TrimSuffix(pattern, "/...") + "x"}}
			found := slices.ContainsFunc(Stale([]Rule{r}, others), func(v Violation) bool {
				return v.Rule == r.Name && v.Import == pattern && strings.Contains(v.String(), "stale")
			})
			if !found {
				t.Errorf("nobody notices that %s of the rule %q matches nothing", pattern, r.Name)
			}
		}
	}
}

func TestCallsFindsEveryWayToAskForTheTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, source string
		want               string // part of the complaint, empty for none
	}{
		{"a call", "cyberagent/domain/x", `import "time"; var a = time.Now()`, "time.Now"},
		{"a value", "cyberagent/domain/x", `import "time"; var a = time.Now`, "time.Now"},
		{"renamed", "cyberagent/domain/x", `import clock "time"; var a = clock.Since`, "time.Since"},
		{"dotted", "cyberagent/domain/x", `import . "time"; var a = Now()`, "dot import"},
		{"in a function", "cyberagent/app/x", `import "time"; func f() int64 { return func() int64 { return time.Now().Unix() }() }`, "time.Now"},
		{"the host's zone", "cyberagent/domain/x", `import "time"; var a = time.Local`, "time.Local"},
		{"randomness", "cyberagent/domain/x", `import "math/rand/v2"; var a = rand.N(3)`, "math/rand/v2.N"},
		{"cryptographic randomness", "cyberagent/app/x", `import "crypto/rand"; var a = rand.Text()`, "crypto/rand.Text"},
		{"a timer in the domain", "cyberagent/domain/x", `import "time"; var a = time.NewTimer(1)`, "time.NewTimer"},

		{"a timer in app", "cyberagent/app/x", `import "time"; var a = time.NewTimer(1)`, ""},
		{"types and constants", "cyberagent/domain/x", `import "time"; var a time.Time; const b = time.Second; var c = time.UTC`, ""},
		{"another thing's Now", "cyberagent/app/x", `type clock struct{}; func (clock) Now() int { return 0 }; var time clock; var a = time.Now()`, ""},
		{"elsewhere", "cyberagent/adapters/x", `import "time"; var a = time.Now()`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte("package x\n"+c.source+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			uses, err := Calls(CallRules(), []Package{{ImportPath: c.path, Dir: dir, GoFiles: []string{"x.go"}}})
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(uses) != 0 {
					t.Errorf("got %q", uses)
				}
				return
			}
			if len(uses) != 1 || !strings.Contains(uses[0], c.want) {
				t.Errorf("got %q, want one about %s", uses, c.want)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"domain/...", "domain", true},
		{"domain/...", "domain/id", true},
		{"domain/...", "domainx", false},
		{"os", "os", true},
		{"os", "os/exec", false},
		{"std", "os/exec", true},
		{"std", "cyberagent/domain", false},
		{"std", "golang.org/x/sys/unix", false},
		{"...", "anything", true},
	} {
		if got := match(c.pattern, c.path); got != c.want {
			t.Errorf("match(%q, %q) is %v", c.pattern, c.path, got)
		}
	}
}

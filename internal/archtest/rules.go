package archtest

// Rule says what some packages may import. With Allow, everything else is
// refused; with Forbid, everything else is accepted.
//
// Patterns are import paths. "x/..." means x and all below it, "std" the standard
// library, "..." everything. In From and Except, paths are those of this module
// without its name.
type Rule struct {
	Name   string
	From   []string
	Except []string // packages that From would match
	// Tests chooses the imports of _test.go files instead of the others.
	Tests  bool
	Allow  []string
	Forbid []string
	// Siblings forbids adapters to import one another, but for what Allow names.
	Siblings bool
	Reason   string
}

const module = "cyberagent"

// domainStd is the part of the standard library that a pure domain may use:
// nothing that reads a clock, a file, a network, randomness or the environment
// (time is for its types; Calls checks that nobody asks it for the time).
var domainStd = []string{
	"bytes", "cmp", "crypto/sha256", "embed", "encoding", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt", "io",
	"iter", "maps", "math", "math/bits", "path", "reflect", "regexp", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8",
}

// engineLibraries are what only an engine's adapter may know.
var engineLibraries = []string{
	"github.com/docker/...", "github.com/moby/moby/...", "github.com/containerd/...", "github.com/distribution/reference",
	"github.com/opencontainers/...",
}

// ledgerLibraries are what only the ledger's adapter may know.
var ledgerLibraries = []string{"database/sql/...", "github.com/uptrace/bun/...", "modernc.org/...", "github.com/mattn/go-sqlite3"}

// helpers are adapters that others may use in their tests.
var helpers = []string{"adapters/ledger/ledgertest/...", "adapters/memory/...", "adapters/conformance/...", "adapters/docker/dockertest/...", "adapters/containerd/containerdtest/..."}

// Rules returns the table.
func Rules() []Rule {
	return []Rule{
		{
			Name: "domain is pure", From: []string{"domain/..."},
			Allow:  append([]string{module + "/domain/...", "github.com/gowebpki/jcs"}, domainStd...),
			Reason: "the domain has no clock, files, network, randomness or vendor: take the value as an argument, or declare a port",
		},
		{
			Name: "the domain's tests need no world", From: []string{"domain/..."}, Tests: true,
			Allow:  []string{"std", module + "/domain/..."},
			Reason: "a test of the domain that needs an adapter tests the adapter: move it there",
		},
		{
			Name: "ports know the domain only", From: []string{"ports/..."},
			Allow:  []string{"std", module + "/domain/...", module + "/ports/..."},
			Reason: "a port speaks the domain's words; translate a vendor's types in the adapter",
		},
		{
			Name: "app knows ports and the domain", From: []string{"app/..."},
			Allow:  []string{"std", "golang.org/x/mod/semver", module + "/domain/...", module + "/ports/...", module + "/app/..."},
			Reason: "a use case gets its adapters through ports: add a method to a port, or move the code to an adapter or to cmd",
		},
		{
			Name: "app does not reach the world by itself", From: []string{"app/..."},
			Forbid: []string{
				"os", "os/exec", "os/signal", "syscall", "net", "net/http", "database/sql/...", "crypto/rand", "math/rand/...", "path/filepath", "log/...",
			},
			Reason: "files, processes, networks and randomness are behind ports",
		},
		{
			Name: "app's tests use fakes", From: []string{"app/..."}, Tests: true,
			Forbid: append([]string{"go.uber.org/...", "github.com/urfave/cli/...", module + "/cmd/...", module + "/config/..."}, engineLibraries...),
			Reason: "test a use case over fakes and a ledger in a temporary directory; real engines belong to their adapters and internal/e2e",
		},
		{
			Name: "adapters know ports and the domain", From: []string{"adapters/..."},
			Forbid: []string{module + "/app/...", module + "/cmd/...", module + "/config/...", "go.uber.org/...", "github.com/urfave/cli/..."},
			Reason: "an adapter takes plain arguments; cmd/cyberagent wires it",
		},
		{
			Name: "adapters do not know each other", From: []string{"adapters/..."}, Except: helpers, Siblings: true,
			Reason: "what two adapters share is domain or a port; let cmd/cyberagent wire one into the other",
		},
		{
			Name: "adapters' tests share helpers only", From: []string{"adapters/..."}, Except: []string{"adapters/conformance"},
			Tests: true, Siblings: true, Allow: helpers,
			Reason: "use a package whose name ends with test",
		},
		{
			Name: "engines' libraries stay in their adapters", From: []string{"..."},
			Except: []string{"adapters/docker/...", "adapters/containerd/...", "cmd/cyberagent/internal/wiring/...", "internal/imageref"},
			Forbid: engineLibraries,
			Reason: "translate to the domain's words in adapters/docker or adapters/containerd",
		},
		{
			Name: "SQL stays in the ledger", From: []string{"..."}, Except: []string{"adapters/ledger/..."},
			Forbid: ledgerLibraries,
			Reason: "ask ports.Ledger",
		},
		{
			Name: "fx is for the composition root", From: []string{"..."}, Except: []string{"cmd/cyberagent/..."},
			Forbid: []string{"go.uber.org/fx/...", "go.uber.org/dig/..."},
			Reason: "constructors take plain arguments; modules and lifecycle hooks live in cmd/cyberagent/internal/wiring",
		},
		{
			Name: "the command line is for cmd/cyberagent", From: []string{"..."}, Except: []string{"cmd/cyberagent/..."},
			Forbid: []string{"github.com/urfave/cli/..."},
			Reason: "return a fault; cmd/cyberagent prints it and chooses the exit status",
		},
		{
			Name: "the moby profile is an input of seccompgen", From: []string{"..."}, Except: []string{"internal/seccompgen/..."},
			Forbid: []string{"github.com/moby/profiles/..."},
			Reason: "the product's profile is isolation.SeccompProfile",
		},
		{
			Name: "config knows the domain only", From: []string{"config/..."},
			Forbid: []string{module + "/app/...", module + "/adapters/...", module + "/cmd/...", module + "/ports/..."},
			Reason: "configuration is values; cmd/cyberagent hands them to adapters",
		},
		{
			Name: "the runner is small", From: []string{"cmd/standard-code-runner/..."},
			Allow: []string{
				"std", "golang.org/x/sys/...", "github.com/gowebpki/jcs", module + "/domain/...", module + "/cmd/standard-code-runner/...", module + "/internal/procs",
			},
			Reason: "PID 1 of the container is static and auditable: standard library, x/sys, the domain and the list of processes",
		},
		{
			Name: "what tests break with is not in the product", From: []string{"cmd/...", "adapters/docker", "adapters/containerd"},
			Forbid: []string{
				module + "/adapters/memory/...", module + "/adapters/conformance/...", module + "/adapters/docker/dockertest/...", module + "/adapters/containerd/containerdtest/...",
				module + "/adapters/ledger/ledgertest/...",
			},
			Reason: "an engine without processes, sabotages and forgers are for tests: no path of the product may reach them",
		},
		{
			Name: "no mock library", From: []string{"..."}, Tests: true,
			Forbid: []string{"github.com/golang/mock/...", "go.uber.org/mock/...", "github.com/stretchr/testify/mock", "github.com/vektra/mockery/..."},
			Reason: "write the fake by hand; it says what it does",
		},
	}
}

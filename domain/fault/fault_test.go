package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"cyberagent/domain/fault"
)

// vocabulary is the stable list, written out by hand: a code may be added to
// it, none may be renamed or change its class, for both are printed and stored.
var vocabulary = map[string]fault.Class{
	"internal":           fault.ClassInternal,
	"engine_failure":     fault.ClassInternal,
	"engine_timeout":     fault.ClassInternal,
	"start_failed":       fault.ClassInternal,
	"runner_failure":     fault.ClassInternal,
	"ledger_busy":        fault.ClassInternal,
	"ledger_unusable":    fault.ClassInternal,
	"disk_full":          fault.ClassInternal,
	"isolation_mismatch": fault.ClassInternal,

	"invalid_argument": fault.ClassUsage,
	"config_invalid":   fault.ClassUsage,
	"not_found":        fault.ClassUsage,

	"limit_reached":                  fault.ClassBlocked,
	"unsupported":                    fault.ClassBlocked,
	"platform_unsupported":           fault.ClassBlocked,
	"feature_disabled":               fault.ClassBlocked,
	"daemon_unreachable":             fault.ClassBlocked,
	"daemon_permission_denied":       fault.ClassBlocked,
	"api_unsupported":                fault.ClassBlocked,
	"host_os_unsupported":            fault.ClassBlocked,
	"userns_unsupported":             fault.ClassBlocked,
	"selinux_unsupported":            fault.ClassBlocked,
	"swap_limit_unavailable":         fault.ClassBlocked,
	"pids_limit_unavailable":         fault.ClassBlocked,
	"resource_capacity_insufficient": fault.ClassBlocked,
	"image_unconfigured":             fault.ClassBlocked,
	"image_unavailable":              fault.ClassBlocked,
	"image_profile_unsafe":           fault.ClassBlocked,
	"runner_protocol_outdated":       fault.ClassBlocked,
	"dependencies_missing":           fault.ClassBlocked,
	"run_not_eligible":               fault.ClassBlocked,
	"profile_mismatch":               fault.ClassBlocked,
	"permission_mismatch":            fault.ClassBlocked,
	"drydock_not_ready":              fault.ClassBlocked,
	"drydock_drifted":                fault.ClassBlocked,
	"source_unsupported":             fault.ClassBlocked,
	"approval_required":              fault.ClassBlocked,
	"approval_denied":                fault.ClassBlocked,
	"approval_expired":               fault.ClassBlocked,
	"approval_consumed":              fault.ClassBlocked,
	"approval_revoked":               fault.ClassBlocked,
	"approval_foreign":               fault.ClassBlocked,
	"command_mismatch":               fault.ClassBlocked,
	"authority_drift":                fault.ClassBlocked,
	"engine_mismatch":                fault.ClassBlocked,
	"manifest_v1_read_only":          fault.ClassBlocked,
	"mask_invalid":                   fault.ClassBlocked,
	"mask_missing":                   fault.ClassBlocked,
	"mount_refused":                  fault.ClassBlocked,
	"fixture_base_missing":           fault.ClassBlocked,
	"fixture_base_unpinned":          fault.ClassBlocked,
	"fixture_base_absent":            fault.ClassBlocked,
	"fixture_base_incompatible":      fault.ClassBlocked,
	"ledger_schema_newer":            fault.ClassBlocked,
	"headroom":                       fault.ClassBlocked,

	"operation_conflict":    fault.ClassConflict,
	"generation_stale":      fault.ClassConflict,
	"checkpoint_stale":      fault.ClassConflict,
	"trust_digest_mismatch": fault.ClassConflict,

	"in_progress":       fault.ClassRecovery,
	"lease_lost":        fault.ClassRecovery,
	"cleanup_pending":   fault.ClassRecovery,
	"recovery_required": fault.ClassRecovery,
	"integrity_lost":    fault.ClassRecovery,

	"cancelled": fault.ClassCancelled,
}

func TestVocabularyIsStable(t *testing.T) {
	t.Parallel()
	for word, class := range vocabulary {
		if !slices.Contains(fault.Codes(), fault.Code(word)) {
			t.Errorf("the code %q is gone; codes are added, never renamed", word)
		}
		if got := fault.Code(word).Class(); got != class {
			t.Errorf("class of %q is %d, want %d", word, got, class)
		}
	}
	for _, c := range fault.Codes() {
		if _, ok := vocabulary[string(c)]; !ok {
			t.Errorf("the code %q is new: add it to the list of this test with the exit status of its class", c)
		}
	}
	if !slices.IsSorted(fault.Codes()) {
		t.Error("Codes is not sorted")
	}
}

// constants reads the values of the constants of type Code from the source.
func constants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if typ, ok := v.Type.(*ast.Ident); !ok || typ.Name != "Code" {
				continue
			}
			for i, name := range v.Names {
				text, err := strconv.Unquote(v.Values[i].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values[name.Name] = text
			}
		}
	}
	if len(values) == 0 {
		t.Fatal("no constants of type Code in codes.go")
	}
	return values
}

func TestEveryConstantHasAClassAndEveryClassAConstant(t *testing.T) {
	t.Parallel()
	byWord := map[string]string{}
	for name, word := range constants(t) {
		if other, twice := byWord[word]; twice {
			t.Errorf("%s and %s are both %q", name, other, word)
		}
		byWord[word] = name
		if !slices.Contains(fault.Codes(), fault.Code(word)) {
			t.Errorf("%s (%q) has no class", name, word)
		}
	}
	for _, c := range fault.Codes() {
		if _, ok := byWord[string(c)]; !ok {
			t.Errorf("%q has a class but no constant", c)
		}
	}
}

func TestCodesAreSnakeCase(t *testing.T) {
	t.Parallel()
	for _, c := range fault.Codes() {
		for _, r := range c {
			if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' {
				t.Errorf("%q has the character %q", c, r)
			}
		}
	}
}

func TestAnUnknownCodeIsInternal(t *testing.T) {
	t.Parallel()
	for _, c := range []fault.Code{"", "from_the_future"} {
		if got := c.Class(); got != fault.ClassInternal {
			t.Errorf("class of %q is %d, want internal", c, got)
		}
	}
}

func TestCopiesLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	first := fault.New(fault.NotFound, "no Run %s", "x").With("a", "1")
	at := first.At("run")
	hint := first.Hint("use %s", "list")
	with := first.With("b", "2")

	if first.Field != "" || first.Remedy != "" || len(first.Details) != 1 {
		t.Errorf("the original changed: %+v", first)
	}
	if at.Field != "run" || at.Code != fault.NotFound || at.Msg != "no Run x" {
		t.Errorf("At gave %+v", at)
	}
	if hint.Remedy != "use list" || hint.Field != "" {
		t.Errorf("Hint gave %+v", hint)
	}
	if len(with.Details) != 2 || with.Details["a"] != "1" || with.Details["b"] != "2" {
		t.Errorf("With gave %v", with.Details)
	}
	if _, kept := at.With("c", "3").Details["c"]; !kept {
		t.Error("With did not keep its fact")
	}
	if _, leaked := first.Details["c"]; leaked {
		t.Error("With on a copy reached the original's details")
	}
}

func TestErrorSaysFieldSentenceAndCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	for _, c := range []struct {
		name string
		err  *fault.Error
		want string
	}{
		{"sentence alone", fault.New(fault.Internal, "it broke"), "it broke"},
		{"with field", fault.New(fault.InvalidArgument, "empty").At("purpose"), "purpose: empty"},
		{"with cause", fault.Wrap(fault.DaemonUnreachable, cause, "no answer"), "no answer: connection refused"},
		{"with both", fault.Wrap(fault.DaemonUnreachable, cause, "no answer").At("engine"), "engine: no answer: connection refused"},
		{"nil cause", fault.Wrap(fault.Internal, nil, "it broke"), "it broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.err.Error(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestCodeOfAndFromFindTheOutermostFault(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	inner := fault.New(fault.LeaseLost, "another owner")
	for _, c := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"nil has no code", nil, ""},
		{"a plain error is internal", plain, "internal"},
		{"a fault", inner, "lease_lost"},
		{"through a wrap of fmt", fmt.Errorf("append: %w", inner), "lease_lost"},
		{"through two wraps", fmt.Errorf("a: %w", fmt.Errorf("b: %w", inner)), "lease_lost"},
		{"through a join", errors.Join(plain, inner), "lease_lost"},
		{"the outermost of two", fault.Wrap(fault.RecoveryRequired, inner, "stopped"), "recovery_required"},
		{"a plain wrap that drops the chain", fmt.Errorf("append: %v", inner), "internal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fault.CodeOf(c.err); got != c.want {
				t.Errorf("CodeOf is %q, want %q", got, c.want)
			}
			from := fault.From(c.err)
			if c.err == nil {
				if from != nil {
					t.Errorf("From(nil) is %v", from)
				}
				return
			}
			if from.Code != c.want {
				t.Errorf("From's code is %q, want %q", from.Code, c.want)
			}
		})
	}
}

func TestErrorsIsAsksForAKind(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("op: %w", fault.Wrap(fault.RecoveryRequired, fault.Wrap(fault.LeaseLost, cause, "in"), "out"))
	for _, target := range []error{fault.RecoveryRequired, fault.LeaseLost, cause} {
		if !errors.Is(err, target) {
			t.Errorf("errors.Is does not find %v", target)
		}
	}
	if errors.Is(err, fault.NotFound) {
		t.Error("errors.Is finds a code that is not there")
	}
}

package id_test

import (
	"errors"
	"strings"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
)

const body = "01JABCDEFGHJKMNPQRSTVWXYZ0" // 26 characters of Crockford base32

func TestValid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		kind id.Kind
		s    string
		want bool
	}{
		{"exact", id.KindRun, "run_" + body, true},
		{"only digits", id.KindRun, "run_00000000000000000000000000", true},
		{"empty", id.KindRun, "", false},
		{"prefix alone", id.KindRun, "run_", false},
		{"no prefix", id.KindRun, body, false},
		{"other prefix", id.KindRun, "prep_" + body, false},
		{"no underscore", id.KindRun, "run" + body, false},
		{"lower case", id.KindRun, "run_" + strings.ToLower(body), false},
		{"one short", id.KindRun, "run_" + body[1:], false},
		{"one long", id.KindRun, "run_" + body + "0", false},
		{"letter I", id.KindRun, "run_I" + body[1:], false},
		{"letter L", id.KindRun, "run_L" + body[1:], false},
		{"letter O", id.KindRun, "run_O" + body[1:], false},
		{"letter U", id.KindRun, "run_U" + body[1:], false},
		{"dash", id.KindRun, "run_-" + body[1:], false},
		{"newline at the end", id.KindRun, "run_" + body[1:] + "\n", false},
		{"byte 0xff", id.KindRun, "run_\xff" + body[1:], false},
		{"two bytes of UTF-8", id.KindRun, "run_é" + body[2:], false},
		{"path", id.KindRun, "run_../../../../../../etc/pass", false},
		{"space before", id.KindRun, " run_" + body, false},
		{"leading dash, as a flag", id.KindRun, "-run_" + body, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := id.Valid(c.kind, c.s); got != c.want {
				t.Errorf("Valid(%q) is %v, want %v", c.s, got, c.want)
			}
		})
	}
}

func TestPrefixesAreStableAndIdsShort(t *testing.T) {
	t.Parallel()
	for kind, prefix := range map[id.Kind]string{
		id.KindRun: "run_", id.KindDrydock: "dry_", id.KindCheckpoint: "ckpt_", id.KindPreparation: "prep_",
		id.KindApproval: "appr_", id.KindAdmission: "adm_", id.KindReceipt: "rcpt_", id.KindJob: "job_",
		id.KindInstallation: "inst_", id.KindOwner: "own_",
	} {
		s := id.Format(kind, body)
		if s != prefix+body {
			t.Errorf("an id of kind %q is %q, want the prefix %q", kind, s, prefix)
		}
		if !id.Valid(kind, s) {
			t.Errorf("%q is not valid", s)
		}
		if len(s) > 64 {
			t.Errorf("%q has over 64 characters", s)
		}
	}
}

func TestEachParserTakesItsKindOnlyAndNamesTheField(t *testing.T) {
	t.Parallel()
	parsers := map[string]func(string, string) (string, error){
		"run":  func(f, s string) (string, error) { v, err := id.ParseRun(f, s); return string(v), err },
		"dry":  func(f, s string) (string, error) { v, err := id.ParseDrydock(f, s); return string(v), err },
		"ckpt": func(f, s string) (string, error) { v, err := id.ParseCheckpoint(f, s); return string(v), err },
		"prep": func(f, s string) (string, error) { v, err := id.ParsePreparation(f, s); return string(v), err },
		"appr": func(f, s string) (string, error) { v, err := id.ParseApproval(f, s); return string(v), err },
		"adm":  func(f, s string) (string, error) { v, err := id.ParseAdmission(f, s); return string(v), err },
		"job":  func(f, s string) (string, error) { v, err := id.ParseJob(f, s); return string(v), err },
		"inst": func(f, s string) (string, error) { v, err := id.ParseInstallation(f, s); return string(v), err },
	}
	for own, parse := range parsers {
		t.Run(own, func(t *testing.T) {
			t.Parallel()
			for other := range parsers {
				s := other + "_" + body
				got, err := parse("field", s)
				if other == own {
					if err != nil || got != s {
						t.Errorf("%q: %q, %v", s, got, err)
					}
					continue
				}
				var e *fault.Error
				if !errors.As(err, &e) || e.Code != fault.InvalidArgument || e.Field != "field" || e.Remedy == "" {
					t.Errorf("%q: %+v, want invalid_argument at field with a remedy", s, err)
				}
				if got != "" {
					t.Errorf("%q: a refused id came back as %q", s, got)
				}
			}
		})
	}
}

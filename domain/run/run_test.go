package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/run"
)

var (
	noon  = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	later = noon.Add(time.Hour)
)

const rid = id.Run("run_00000000000000000000000001")

func TestNewStartsWithTheLeastRights(t *testing.T) {
	t.Parallel()
	r, err := run.New(rid, "fix the build", "/src", noon)
	if err != nil {
		t.Fatal(err)
	}
	want := run.Run{
		ID: rid, Title: "fix the build", Workspace: "/src", Kind: "code", Status: "active",
		Profile:    run.ProfileSnapshot{Revision: 1, Profile: "none", At: noon},
		Permission: run.PermissionSnapshot{Revision: 1, Permission: "read_only", At: noon},
		CreatedAt:  noon, UpdatedAt: noon,
	}
	if r != want {
		t.Errorf("got %+v\nwant %+v", r, want)
	}
}

func TestNewRefusesABadTitle(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]string{
		"empty": "", "201 characters": strings.Repeat("é", 201), "newline": "a\nb", "bidi override": "a\u202eb",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := run.New(rid, title, "/src", noon)
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != "invalid_argument" || e.Field != "title" || e.Remedy == "" {
				t.Errorf("got %+v", err)
			}
		})
	}
	if _, err := run.New(rid, strings.Repeat("é", 200), "/src", noon); err != nil {
		t.Errorf("200 characters: %v", err)
	}
}

func TestTransition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to run.Status
		code     fault.Code // empty: allowed
	}{
		{"active", "active", ""},
		{"active", "paused", ""},
		{"active", "closed", ""},
		{"paused", "active", ""},
		{"paused", "paused", ""},
		{"paused", "closed", ""},
		{"closed", "active", "run_not_eligible"},
		{"closed", "paused", "run_not_eligible"},
		{"closed", "closed", ""},
		{"active", "", "invalid_argument"},
		{"active", "deleted", "invalid_argument"},
		{"closed", "deleted", "invalid_argument"},
	} {
		t.Run(string(c.from+" to "+c.to), func(t *testing.T) {
			t.Parallel()
			before := run.Run{ID: rid, Status: c.from, UpdatedAt: noon}
			after, err := before.Transition(c.to, later)
			if got := fault.CodeOf(err); got != c.code {
				t.Fatalf("code %q, want %q", got, c.code)
			}
			want := before
			if c.code == "" && c.from != c.to {
				want.Status, want.UpdatedAt = c.to, later
			}
			if after != want {
				t.Errorf("got %+v, want %+v", after, want)
			}
		})
	}
}

func TestWordsAreStable(t *testing.T) {
	t.Parallel()
	for _, w := range []string{"none", "docker", "local"} {
		if p, err := run.ParseProfile(w); err != nil || string(p) != w {
			t.Errorf("profile %q: %q, %v", w, p, err)
		}
	}
	for _, w := range []string{"read_only", "approval", "workspace_access", "full_access", "debug"} {
		if p, err := run.ParsePermission(w); err != nil || string(p) != w {
			t.Errorf("permission %q: %q, %v", w, p, err)
		}
	}
	if got := len(run.Profiles()); got != 3 {
		t.Errorf("%d profiles, want 3", got)
	}
	if got := len(run.Permissions()); got != 5 {
		t.Errorf("%d permissions, want 5", got)
	}
	for _, bad := range []string{"", "Docker", "docker ", "host", "workspace-access"} {
		for field, err := range map[string]error{"profile": second(run.ParseProfile(bad)), "permission": second(run.ParsePermission(bad))} {
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != "invalid_argument" || e.Field != field {
				t.Errorf("%s %q: %+v", field, bad, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestCheckTextRefusesWhatAReviewerCannotTrust(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, s string
		ok      bool
	}{
		{"plain", "offline tests", true},
		{"one character", "x", true},
		{"ten characters of four bytes", strings.Repeat("😀", 10), true},
		{"letters of other scripts", "тест 測試 ทด", true},
		{"combining accent", "e\u0301", true},
		{"right-to-left letters", "אבג", true},
		{"replacement character", "\ufffd", true},

		{"empty", "", false},
		{"31 characters", strings.Repeat("x", 31), false},
		{"invalid UTF-8", "a\xffb", false},
		{"NUL", "a\x00b", false},
		{"newline", "a\nb", false},
		{"carriage return", "a\rb", false},
		{"tab", "a\tb", false},
		{"escape", "a\x1b[31mb", false},
		{"backspace", "a\bb", false},
		{"DEL", "a\x7fb", false},
		{"C1 control CSI", "a\u009bb", false},
		{"next line", "a\u0085b", false},
		{"soft hyphen", "a\u00adb", false},
		{"Arabic letter mark", "a\u061cb", false},
		{"Mongolian vowel separator", "a\u180eb", false},
		{"zero width space", "a\u200bb", false},
		{"zero width joiner", "a\u200db", false},
		{"left-to-right mark", "a\u200eb", false},
		{"line separator", "a\u2028b", false},
		{"paragraph separator", "a\u2029b", false},
		{"right-to-left override", "a\u202eb", false},
		{"word joiner", "a\u2060b", false},
		{"right-to-left isolate", "a\u2067b", false},
		{"byte order mark", "\ufeffa", false},
		{"interlinear annotation", "a\ufff9b", false},
		{"tag character", "a\U000e0041b", false},
		{"at the end", "a\u202e", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := run.CheckText("reason", c.s, 30)
			if c.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *fault.Error
			if !errors.As(err, &e) || e.Code != "invalid_argument" || e.Field != "reason" || e.Remedy == "" {
				t.Errorf("got %+v", err)
			}
		})
	}
}

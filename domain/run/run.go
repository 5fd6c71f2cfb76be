// Package run holds the Code Run: one task of a coding agent on one source
// workspace, with revisioned snapshots of where its commands may execute and
// what they are permitted (contract section 1).
package run

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/limits"
	"cyberagent/domain/phrase"
)

// Kind is what a Run is for. Only code exists.
type Kind string

// KindCode is the kind of every Run that this product makes.
const KindCode Kind = "code"

// Status says whether a Run accepts work.
type Status string

// The statuses. A closed Run stays closed.
const (
	Active Status = "active"
	Paused Status = "paused"
	Closed Status = "closed"
)

// Statuses returns every status.
func Statuses() []Status { return []Status{Active, Paused, Closed} }

// Profile says where commands of a Run may execute.
type Profile string

// The execution profiles. Local is a known word without an adapter: it is
// always blocked, and nothing ever runs on the host.
const (
	ProfileNone   Profile = "none"
	ProfileDocker Profile = "docker"
	ProfileLocal  Profile = "local"
)

// Profiles returns every profile.
func Profiles() []Profile { return []Profile{ProfileNone, ProfileDocker, ProfileLocal} }

// Permission says what a Run is permitted.
type Permission string

// The permissions. Only WorkspaceAccess admits a Standard Code container.
const (
	ReadOnly        Permission = "read_only"
	ApprovalOnly    Permission = "approval"
	WorkspaceAccess Permission = "workspace_access"
	FullAccess      Permission = "full_access"
	Debug           Permission = "debug"
)

// Permissions returns every permission.
func Permissions() []Permission {
	return []Permission{ReadOnly, ApprovalOnly, WorkspaceAccess, FullAccess, Debug}
}

// ProfileSnapshot is one revision of a Run's execution profile. Revisions start
// at 1 and are never changed.
type ProfileSnapshot struct {
	Revision int64
	Profile  Profile
	At       time.Time
}

// PermissionSnapshot is one revision of a Run's permission.
type PermissionSnapshot struct {
	Revision   int64
	Permission Permission
	At         time.Time
}

// Run is a Code Run with its current snapshots. Workspace is the absolute path
// of the source repository on this host.
type Run struct {
	ID         id.Run
	Title      string
	Workspace  string
	Kind       Kind
	Status     Status
	Profile    ProfileSnapshot
	Permission PermissionSnapshot
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// New makes an active Run with the default profile (none) and permission
// (read_only), both at revision 1. It returns invalid_argument for a title that
// is empty, too long or has control characters.
func New(rid id.Run, title, workspace string, now time.Time) (Run, error) {
	if err := CheckText("title", title, limits.TitleRunes); err != nil {
		return Run{}, err
	}
	return Run{
		ID: rid, Title: title, Workspace: workspace, Kind: KindCode, Status: Active,
		Profile:    ProfileSnapshot{Revision: 1, Profile: ProfileNone, At: now},
		Permission: PermissionSnapshot{Revision: 1, Permission: ReadOnly, At: now},
		CreatedAt:  now, UpdatedAt: now,
	}, nil
}

// ParseProfile accepts a profile's word.
func ParseProfile(s string) (Profile, error) { return oneOf("profile", s, Profiles()) }

// ParsePermission accepts a permission's word.
func ParsePermission(s string) (Permission, error) { return oneOf("permission", s, Permissions()) }

func oneOf[T ~string](field, s string, all []T) (T, error) {
	for _, v := range all {
		if string(v) == s {
			return v, nil
		}
	}
	return "", fault.New(fault.InvalidArgument, "%q is not one of %v", s, all).At(field).
		Hint("use one of %v", all)
}

// Eligible refuses a Run that takes no work (run_not_eligible), and says what to do.
func (r Run) Eligible() error {
	if r.Status == Active {
		return nil
	}
	return fault.New(fault.RunNotEligible, "the Run is %s", r.Status).At("run").Hint("%s", r.Remedy())
}

// Remedy says how to go on when the Run takes no work.
func (r Run) Remedy() string {
	if r.Status == Paused {
		return "resume it with `cyberagent run resume " + string(r.ID) + "`"
	}
	return "begin another Run: `cyberagent run create " + phrase.Word(r.Title) + " --workspace " + phrase.Word(r.Workspace) + "`"
}

// Transition returns the Run with another status. Closed is final
// (run_not_eligible), an unknown word is invalid_argument; a change to the same
// status is allowed and changes nothing.
func (r Run) Transition(to Status, now time.Time) (Run, error) {
	if _, err := oneOf("status", string(to), Statuses()); err != nil {
		return r, err
	}
	if r.Status == to {
		return r, nil
	}
	if r.Status == Closed {
		return r, r.Eligible()
	}
	r.Status, r.UpdatedAt = to, now
	return r, nil
}

// CheckText refuses text that a reviewer cannot trust on a screen: empty,
// longer than most characters, not UTF-8, or with control, format, line or
// paragraph separator characters.
func CheckText(field, s string, most int) error {
	switch {
	case !utf8.ValidString(s):
		return fault.New(fault.InvalidArgument, "not valid UTF-8").At(field).Hint("give plain UTF-8 text")
	case strings.TrimSpace(s) == "":
		return fault.New(fault.InvalidArgument, "empty").At(field).Hint("give 1 to %d characters", most)
	case utf8.RuneCountInString(s) > most:
		return fault.New(fault.InvalidArgument, "%d characters, at most %d are allowed", utf8.RuneCountInString(s), most).
			At(field).Hint("shorten it to %d characters", most)
	}
	for i, c := range s {
		if Unsafe(c) {
			return fault.New(fault.InvalidArgument, "character %U at byte %d is not allowed", c, i).
				At(field).Hint("remove control, format and line separator characters")
		}
	}
	return nil
}

// Unsafe says whether a character can hide or reorder text on a screen: NUL and
// other controls, Unicode format characters (Cf), line and paragraph separators.
func Unsafe(c rune) bool {
	return unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

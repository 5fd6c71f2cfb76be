// Package id gives the product's identifiers: a type prefix and 26 characters
// of Crockford base32 (contract section 1). Making new ones needs randomness
// and is an adapter's work.
package id

import (
	"strings"

	"cyberagent/domain/fault"
)

// Run identifies a Code Run. Like every kind of identifier it is a Go type of its
// own, so that one cannot be passed for another.
type Run string

// Drydock identifies a Drydock.
type Drydock string

// Checkpoint identifies a Checkpoint.
type Checkpoint string

// Preparation identifies a preparation.
type Preparation string

// Approval identifies an approval.
type Approval string

// Admission identifies an admission, which is also the execution.
type Admission string

// Receipt identifies a receipt.
type Receipt string

// Job identifies a Job of the Command Runtime.
type Job string

// Installation identifies one ledger; its containers carry it as a label.
type Installation string

// Owner identifies one process's claim on an admission.
type Owner string

// Kind is the prefix of a kind of identifier, without the underscore.
type Kind string

// The prefixes.
const (
	KindRun          Kind = "run"
	KindDrydock      Kind = "dry"
	KindCheckpoint   Kind = "ckpt"
	KindPreparation  Kind = "prep"
	KindApproval     Kind = "appr"
	KindAdmission    Kind = "adm"
	KindReceipt      Kind = "rcpt"
	KindJob          Kind = "job"
	KindInstallation Kind = "inst"
	KindOwner        Kind = "own"
)

// Len is the number of base32 characters after the prefix.
const Len = 26

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// ParseRun accepts a Run's id. Like the other Parse functions it returns
// invalid_argument, naming the field, for anything that is not one.
func ParseRun(field, s string) (Run, error) { return parse[Run](KindRun, field, s) }

// ParseDrydock accepts a Drydock's id.
func ParseDrydock(field, s string) (Drydock, error) { return parse[Drydock](KindDrydock, field, s) }

// ParseCheckpoint accepts a Checkpoint's id.
func ParseCheckpoint(field, s string) (Checkpoint, error) {
	return parse[Checkpoint](KindCheckpoint, field, s)
}

// ParsePreparation accepts a preparation's id.
func ParsePreparation(field, s string) (Preparation, error) {
	return parse[Preparation](KindPreparation, field, s)
}

// ParseApproval accepts an approval's id.
func ParseApproval(field, s string) (Approval, error) { return parse[Approval](KindApproval, field, s) }

// ParseAdmission accepts an admission's id.
func ParseAdmission(field, s string) (Admission, error) {
	return parse[Admission](KindAdmission, field, s)
}

// ParseJob accepts a Job's id.
func ParseJob(field, s string) (Job, error) { return parse[Job](KindJob, field, s) }

// ParseInstallation accepts an installation's id.
func ParseInstallation(field, s string) (Installation, error) {
	return parse[Installation](KindInstallation, field, s)
}

func parse[T ~string](k Kind, field, s string) (T, error) {
	if !Valid(k, s) {
		return "", fault.New(fault.InvalidArgument, "%q is not an id of the form %s_ and %d characters", s, k, Len).
			At(field).Hint("copy the id from the output that made it; it starts with %s_", k)
	}
	return T(s), nil
}

// Valid says whether s is an id of the kind.
func Valid(k Kind, s string) bool {
	rest, ok := strings.CutPrefix(s, string(k)+"_")
	if !ok || len(rest) != Len {
		return false
	}
	for i := range len(rest) {
		if !strings.ContainsRune(alphabet, rune(rest[i])) {
			return false
		}
	}
	return true
}

// ValidName says whether s is a name that a caller chose for a request or an
// effect: 1 to most of [A-Za-z0-9._:-].
func ValidName(s string, most int) bool {
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return s != "" && len(s) <= most
}

// Format joins a kind and 26 characters made by an adapter.
func Format(k Kind, base32 string) string { return string(k) + "_" + base32 }

// FirstCheckpoint is the Checkpoint that a Drydock is created with. It has the
// Drydock's own characters, so that a creation that was cut off is finished
// under the same id.
func FirstCheckpoint(d Drydock) Checkpoint {
	_, rest, _ := strings.Cut(string(d), "_")
	return Checkpoint(Format(KindCheckpoint, rest))
}

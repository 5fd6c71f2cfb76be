package isolation

import (
	_ "embed"

	"cyberagent/domain/canon"
)

// seccompProfile is the product's profile in the engine's JSON form. `go
// generate` makes it (internal/seccompgen) and a test proves that it is current.
//
//go:embed seccomp.v2.json
var seccompProfile []byte

// SeccompProfile returns the one profile of both engines: moby's default of the
// version in go.mod without capabilities' rules, AF_VSOCK, AF_ALG, io_uring,
// keyctl, the 32-bit ABIs and socketcall, with scheduling and limit calls on the
// caller itself only (contract section 2), and without preallocation: a call that
// takes gigabytes in no time could not be stopped in time (docs/growth.md).
func SeccompProfile() []byte { return append([]byte{}, seccompProfile...) }

// SeccompSHA256 is the digest of the profile's bytes.
func SeccompSHA256() string { return canon.SHA256(seccompProfile) }

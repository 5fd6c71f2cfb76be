// Command seccompgen writes the product's seccomp profile from moby's default of
// the version in go.mod. See isolation.SeccompProfile for what differs.
//
//	go run ./internal/seccompgen domain/isolation/seccomp.v2.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/moby/profiles/seccomp"
)

type arch struct {
	Architecture     string   `json:"architecture"`
	SubArchitectures []string `json:"subArchitectures"`
}

type arg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo,omitempty"`
	Op       string `json:"op"`
}

type filter struct {
	Arches []string `json:"arches,omitempty"`
}

type rule struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint    `json:"errnoRet,omitempty"`
	Args     []arg    `json:"args,omitempty"`
	Includes *filter  `json:"includes,omitempty"`
}

type profile struct {
	DefaultAction   string `json:"defaultAction"`
	DefaultErrnoRet uint   `json:"defaultErrnoRet"`
	ArchMap         []arch `json:"archMap"`
	Syscalls        []rule `json:"syscalls"`
}

// equal makes a rule that allows a call only when the numbered arguments have
// exactly these values, all 64 bits of them.
func equal(name string, values ...uint64) rule {
	r := rule{Names: []string{name}, Action: "SCMP_ACT_ALLOW"}
	for i, v := range values {
		r.Args = append(r.Args, arg{Index: uint(i), Value: v, Op: "SCMP_CMP_EQ"})
	}
	return r
}

// selfOnly are the calls that may name another process. The runner has the
// command's uid, so they are allowed on the caller itself only: pid 0. The
// priority calls need "one process" (0 for setpriority, 1 for ioprio_set) first,
// for "all of this user" would reach the runner.
func selfOnly() []rule {
	var rules []rule
	for _, n := range []string{"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"} {
		rules = append(rules, equal(n, 0))
	}
	return append(rules, equal("setpriority", 0, 0), equal("ioprio_set", 1, 0))
}

// gone are calls of moby's default that this product denies.
var gone = []string{"socketcall", "keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register"}

// unsupported is what a filesystem without preallocation answers (EOPNOTSUPP), and
// what programs are prepared for.
const unsupported = 95

// noInstantGrowth takes away the two ways to take gigabytes of the disk between two
// looks of the growth watcher: fallocate, which programs then do without, and
// FS_IOC_RESVSP with its kin, the same by ioctl. Of ioctl every type but 'X', the
// second byte of the command, is allowed: one alternative for each bit in which a
// type may differ from it, for an engine takes two conditions on one argument for
// alternatives, too.
func noInstantGrowth() []rule {
	errno := uint(unsupported)
	rules := []rule{{Names: []string{"fallocate"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &errno}}
	for bit := range 8 {
		mask := uint64(1) << (8 + bit)
		rules = append(rules, rule{Names: []string{"ioctl"}, Action: "SCMP_ACT_ALLOW", Args: []arg{
			{Index: 1, Value: mask, ValueTwo: ^(uint64('X') << 8) & mask, Op: "SCMP_CMP_MASKED_EQ"},
		}})
	}
	return rules
}

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "seccompgen:", err)
		os.Exit(1)
	}
}

func generate(out string) error {
	b, err := Profile()
	if err != nil {
		return err
	}
	return os.WriteFile(out, b, 0o644)
}

// Profile returns the profile's bytes.
func Profile() ([]byte, error) {
	base := seccomp.DefaultProfile()
	p := profile{
		DefaultAction: "SCMP_ACT_ERRNO", DefaultErrnoRet: 1,
		ArchMap: []arch{
			{Architecture: "SCMP_ARCH_X86_64", SubArchitectures: []string{}},
			{Architecture: "SCMP_ARCH_AARCH64", SubArchitectures: []string{}},
		},
	}
	restricted := append(slices.Clone(gone), "fallocate", "ioctl")
	for _, r := range selfOnly() {
		restricted = append(restricted, r.Names...)
	}
	for _, s := range base.Syscalls {
		r, keep := convert(s, restricted)
		if keep {
			p.Syscalls = append(p.Syscalls, r)
		}
	}
	p.Syscalls = append(append(p.Syscalls, selfOnly()...), noInstantGrowth()...)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetIndent("", " ")
	if err := enc.Encode(p); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// convert resolves one of moby's rules for a container without capabilities on
// the two architectures.
func convert(s *seccomp.Syscall, restricted []string) (rule, bool) {
	r := rule{Action: string(s.Action), ErrnoRet: s.ErrnoRet}
	if s.Name != "" { //nolint:staticcheck // an old form that a profile may still have
		r.Names = []string{s.Name} //nolint:staticcheck // as above
	}
	for _, n := range s.Names {
		if !slices.Contains(restricted, n) {
			r.Names = append(r.Names, n)
		}
	}
	if s.Includes != nil {
		if len(s.Includes.Caps) > 0 {
			return rule{}, false
		}
		if len(s.Includes.Arches) > 0 {
			f := &filter{}
			for _, a := range []string{"amd64", "arm64"} {
				if slices.Contains(s.Includes.Arches, a) {
					f.Arches = append(f.Arches, a)
				}
			}
			if len(f.Arches) == 0 {
				return rule{}, false
			}
			r.Includes = f
		}
	}
	for _, a := range s.Args {
		r.Args = append(r.Args, arg{Index: a.Index, Value: a.Value, ValueTwo: a.ValueTwo, Op: string(a.Op)})
	}
	return r, len(r.Names) > 0
}

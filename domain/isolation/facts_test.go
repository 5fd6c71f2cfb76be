package isolation_test

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/isolation"
)

// expected is the whole fact list, sorted by name, written out by hand from
// contract section 2. It has no character that JSON escapes.
var expected = []isolation.Fact{
	{"capabilities.ambient", "0000000000000000"},
	{"capabilities.bounding", "0000000000000000"},
	{"capabilities.effective", "0000000000000000"},
	{"capabilities.inheritable", "0000000000000000"},
	{"capabilities.permitted", "0000000000000000"},
	{"cgroup.memory_bytes", "2147483648"},
	{"cgroup.memory_swap_bytes", "2147483648"},
	{"cgroup.milli_cpus", "2000"},
	{"cgroup.pids", "128"},
	{"cgroup.readonly", "yes"},
	{"contract", "standard-code-isolation.v1"},
	{"environment", "none"},
	{"hostname", "standard-code"},
	{"mask", "ro matches"},
	{"mask.sha256", "d9d814a947037f845b58d9f6c8d86aec878b64e515d17f720a9c08c4e50f7704"},
	{"mounts.unknown", "none"},
	{"mounts.writable", "none beyond the contract"},
	{"namespace.cgroup", "own"},
	{"namespace.ipc", "own"},
	{"namespace.mnt", "own"},
	{"namespace.net", "own"},
	{"namespace.pid", "own"},
	{"namespace.uts", "own"},
	{"network.interfaces", "lo"},
	{"network.ipv6", "loopback only"},
	{"network.routes", "none"},
	{"no_new_privileges", "1"},
	{"paths.masked", "yes"},
	{"paths.readonly", "yes"},
	{"process.pid", "1"},
	{"rlimit.core", "0"},
	{"rlimit.fsize", "16777216"},
	{"rlimit.msgqueue", "0"},
	{"rlimit.nofile", "4096"},
	{"root", "ro"},
	{"seccomp.io_uring_setup", "EPERM"},
	{"seccomp.keyctl", "EPERM"},
	{"seccomp.mode", "2"},
	{"seccomp.prlimit64(pid 2)", "EPERM"},
	{"seccomp.socket(AF_ALG)", "EPERM"},
	{"seccomp.socket(AF_VSOCK)", "EPERM"},
	{"stdin.tty", "no"},
	{"tmpfs./dev/shm", "rw,nosuid,nodev,noexec,bytes=67108864,inodes=4096,mode=1777,uid=0,gid=0"},
	{"tmpfs./standard-code/cache", "rw,nosuid,nodev,exec,bytes=134217728,inodes=16384,mode=0700,uid=65532,gid=65532"},
	{"user.gids", "65532 65532 65532 65532"},
	{"user.groups", "none"},
	{"user.uids", "65532 65532 65532 65532"},
	{"workspace", "rw matches"},
}

func TestExpectedIsTheContract(t *testing.T) {
	t.Parallel()
	got := isolation.Expected()
	if slices.Equal(got, expected) {
		return
	}
	for _, f := range got {
		if !slices.Contains(expected, f) {
			t.Errorf("not in this test's list: %+v", f)
		}
	}
	for _, f := range expected {
		if !slices.Contains(got, f) {
			t.Errorf("not expected any more: %+v", f)
		}
	}
	if len(got) == len(expected) {
		t.Error("the order differs")
	}
}

func TestFactsSHA256IsThatOfTheCanonicalList(t *testing.T) {
	t.Parallel()
	items := make([]string, len(expected))
	for i, f := range expected {
		items[i] = `{"name":"` + f.Name + `","value":"` + f.Value + `"}`
	}
	sum := sha256.Sum256([]byte("[" + strings.Join(items, ",") + "]"))
	want := hex.EncodeToString(sum[:])
	if got := isolation.FactsSHA256(expected); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	shuffled := slices.Clone(expected)
	slices.Reverse(shuffled)
	if got := isolation.FactsSHA256(shuffled); got != want {
		t.Error("the digest depends on the order of measurement")
	}
	if shuffled[0] != expected[len(expected)-1] {
		t.Error("the caller's list was sorted")
	}
	changed := slices.Clone(expected)
	changed[0].Value = "0000000000000001"
	if isolation.FactsSHA256(changed) == want {
		t.Error("the digest does not depend on the values")
	}
}

func TestTheContractsOwnFactsMatch(t *testing.T) {
	t.Parallel()
	measured := slices.Clone(expected)
	slices.Reverse(measured)
	if diffs := isolation.Mismatches(measured, isolation.Expected()); len(diffs) != 0 {
		t.Errorf("got %+v", diffs)
	}
}

func TestMismatchesFindsEveryFactThatIsMissingDifferentOrRepeated(t *testing.T) {
	t.Parallel()
	for i, f := range expected {
		for _, c := range []struct {
			name     string
			measured []isolation.Fact
			want     isolation.Difference
		}{
			{"missing", slices.Delete(slices.Clone(expected), i, i+1), isolation.Difference{Property: f.Name, Want: f.Value, Got: "not measured"}},
			{"different", slices.Replace(slices.Clone(expected), i, i+1, isolation.Fact{Name: f.Name, Value: "x"}), isolation.Difference{Property: f.Name, Want: f.Value, Got: "x"}},
			{"empty", slices.Replace(slices.Clone(expected), i, i+1, isolation.Fact{Name: f.Name}), isolation.Difference{Property: f.Name, Want: f.Value}},
			{"unreadable", slices.Replace(slices.Clone(expected), i, i+1, isolation.Fact{Name: f.Name, Value: "unreadable"}), isolation.Difference{Property: f.Name, Want: f.Value, Got: "unreadable"}},
			{"twice", append(slices.Clone(expected), f), isolation.Difference{Property: f.Name, Want: "once", Got: "twice"}},
			{"twice, the second other", append(slices.Clone(expected), isolation.Fact{Name: f.Name, Value: "x"}), isolation.Difference{Property: f.Name, Want: "once", Got: "twice"}},
		} {
			if got := isolation.Mismatches(c.measured, isolation.Expected()); len(got) != 1 || got[0] != c.want {
				t.Errorf("%s %s: got %+v, want %+v", f.Name, c.name, got, c.want)
			}
		}
	}
}

func TestMismatchesFindsWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	got := isolation.Mismatches(append(slices.Clone(expected), isolation.Fact{Name: "devices", Value: "/dev/kvm"}), isolation.Expected())
	want := isolation.Difference{Property: "devices", Want: "absent", Got: "/dev/kvm"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNoMeasurementIsAMismatchOfEverything(t *testing.T) {
	t.Parallel()
	if got := isolation.Mismatches(nil, isolation.Expected()); len(got) != len(expected) {
		t.Errorf("%d mismatches, want %d", len(got), len(expected))
	}
}

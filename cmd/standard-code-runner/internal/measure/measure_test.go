//go:build linux

package measure

import (
	"slices"
	"strings"
	"testing"

	"cyberagent/cmd/standard-code-runner/internal/mountinfo"
	"cyberagent/domain/isolation"
)

// docker is what Docker Engine 20.10 on cgroup v1 mounts for the contract.
const docker = `71 47 0:38 / / ro,relatime master:2 - overlay overlay rw,lowerdir=/l
72 71 0:41 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
73 71 0:42 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
74 73 0:43 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,gid=5,mode=620,ptmxmode=666
75 71 0:44 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
76 75 0:45 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
80 76 0:31 /docker/x /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime - cgroup cgroup rw,memory
86 73 0:40 / /dev/mqueue rw,nosuid,nodev,noexec,relatime - mqueue mqueue rw
87 71 254:0 /ws /workspace rw,relatime - ext4 /dev/vda rw
88 87 254:0 /mask /workspace/.git ro,relatime - ext4 /dev/vda rw
89 71 254:0 /h /etc/hosts ro,relatime - ext4 /dev/vda rw
92 73 0:46 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,size=65536k,nr_inodes=4096
93 71 0:47 / /standard-code/cache rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=131072k
48 72 0:41 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
52 72 0:48 / /proc/acpi ro,relatime - tmpfs tmpfs ro
53 72 0:42 /null /proc/keys rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
`

// pretend answers as that container's filesystem would.
type pretend struct {
	kinds map[string]pathKind
	open  []string
}

func (p pretend) kind(path string) pathKind { return p.kinds[path] }
func (p pretend) writable(path string) bool { return slices.Contains(p.open, path) }
func mounts(t *testing.T, s string) []mountinfo.Mount {
	t.Helper()
	m, err := mountinfo.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func usual() pretend {
	return pretend{kinds: map[string]pathKind{"/proc/acpi": emptyDir, "/proc/keys": nullDevice, "/proc/bus": otherDir}}
}

func TestTheEnginesOwnMountsAreKnown(t *testing.T) {
	m := mounts(t, docker)
	for name, got := range map[string][2]string{
		"unknown":  {unknownMounts(m), isolation.None},
		"writable": {writableMounts(m, usual()), "none beyond the contract"},
		"masked":   {maskedPaths(m, usual()), isolation.Yes},
		"readonly": {readonlyPaths(m, usual()), isolation.Yes},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q", name, got[0])
		}
	}
}

func TestEveryOtherMountIsNamed(t *testing.T) {
	for line, want := range map[string]struct{ unknown, writable string }{
		"1 2 0:9 / /data rw - ext4 /dev/vda rw":                    {"/data(ext4)", "/data(ext4)"},
		"1 2 0:9 / /data ro - ext4 /dev/vda rw":                    {"/data(ext4)", ""},
		"1 2 0:9 / /run rw - tmpfs tmpfs rw":                       {"/run(tmpfs)", "/run(tmpfs)"},
		"1 2 0:9 / /workspace/sub rw - ext4 /dev/vda rw":           {"/workspace/sub(ext4)", "/workspace/sub(ext4)"},
		"1 2 0:9 / /standard-code/cache rw - ext4 /dev/vda rw":     {"/standard-code/cache(ext4)", "/standard-code/cache(ext4)"},
		"1 2 0:9 / /dev/mqueue rw - tmpfs tmpfs rw":                {"/dev/mqueue(tmpfs)", "/dev/mqueue(tmpfs)"},
		"1 2 0:9 / /proc/sys rw - proc proc rw":                    {"", "/proc/sys(proc)"},
		"1 2 0:9 / /proc/1 ro - proc proc rw":                      {"/proc/1(proc)", ""},
		"1 2 0:9 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids": {"", "/sys/fs/cgroup/pids(cgroup)"},
		"1 2 0:9 / /etc/resolv.conf rw - ext4 /dev/vda rw":         {"", "/etc/resolv.conf(ext4)"},
		"1 2 0:9 / /var/run/docker.sock rw - tmpfs tmpfs rw":       {"/var/run/docker.sock(tmpfs)", "/var/run/docker.sock(tmpfs)"},
		"1 2 0:9 / /etc/passwd ro - ext4 /dev/vda rw":              {"/etc/passwd(ext4)", ""},
		"1 2 0:9 / /workspace rw - tmpfs tmpfs rw":                 {"/workspace(tmpfs)", ""},
	} {
		m := mounts(t, docker+line+"\n")
		unknown, writable := unknownMounts(m), writableMounts(m, usual())
		if want.unknown == "" {
			want.unknown = isolation.None
		}
		if want.writable == "" {
			want.writable = "none beyond the contract"
		}
		if unknown != want.unknown || writable != want.writable {
			t.Errorf("%s:\n unknown %q, writable %q", line, unknown, writable)
		}
	}
}

func TestADirectoryOfTheEnginesThatTheUserCanWriteIsNamed(t *testing.T) {
	look := usual()
	look.open = []string{"/dev", "/sys/fs/cgroup"}
	if got := writableMounts(mounts(t, docker), look); got != "/dev(tmpfs) /sys/fs/cgroup(tmpfs)" {
		t.Errorf("%q", got)
	}
}

func TestAMaskedPathThatShowsSomethingIsNamed(t *testing.T) {
	look := usual()
	look.kinds["/proc/kcore"] = otherFile       // not masked at all
	look.kinds["/proc/acpi"] = otherDir         // masked by something that is not empty
	look.kinds["/proc/timer_list"] = nullDevice // looks masked, is no mount
	if got := maskedPaths(mounts(t, docker), look); got != "/proc/acpi /proc/kcore /proc/timer_list" {
		t.Errorf("%q", got)
	}
}

func TestAPathThatIsNotReadOnlyIsNamed(t *testing.T) {
	look := usual()
	look.kinds["/proc/sysrq-trigger"] = otherFile
	m := mounts(t, strings.Replace(docker, "/proc/bus ro", "/proc/bus rw", 1))
	if got := readonlyPaths(m, look); got != "/proc/bus /proc/sysrq-trigger" {
		t.Errorf("%q", got)
	}
}

func TestTheNetworkIsTheLoopbackAlone(t *testing.T) {
	const dev = "Inter-|   Receive  |  Transmit\n face |bytes |bytes\n    lo:  0 0\n"
	if got := interfaces(dev); got != "lo" {
		t.Errorf("%q", got)
	}
	if got := interfaces(dev + "  eth0: 1 2\n"); got != "eth0 lo" {
		t.Errorf("%q", got)
	}
	const head = "Iface\tDestination\tGateway\n"
	const v6lo = "00000000000000000000000000000000 00 00 00 00 ffffffff 00000001 00000000 00200200       lo\n"
	if got := routes(head, v6lo); got != isolation.None {
		t.Errorf("%q", got)
	}
	if got := routes(head+"eth0\t00000000\t010011AC\n", v6lo+strings.Replace(v6lo, "lo", "eth0", 1)); got != "2 beyond the loopback" {
		t.Errorf("%q", got)
	}
	if got := ipv6("00000000000000000000000000000001 01 80 10 80       lo\n"); got != "loopback only" {
		t.Errorf("%q", got)
	}
	if got := ipv6("fe80000000000000000000fffe000001 02 40 20 80     eth0\n"); got != "fe80000000000000000000fffe000001 on eth0" {
		t.Errorf("%q", got)
	}
}

func TestOutsideTheContainerNothingMatches(t *testing.T) {
	measured := Collect(isolation.Host{})
	names := map[string]bool{}
	for _, f := range measured {
		if names[f.Name] {
			t.Errorf("%s twice", f.Name)
		}
		names[f.Name] = true
	}
	for _, f := range isolation.Expected() {
		if !names[f.Name] {
			t.Errorf("%s is not measured", f.Name)
		}
	}
	if len(measured) != len(isolation.Expected()) {
		t.Errorf("%d facts measured, %d expected", len(measured), len(isolation.Expected()))
	}
	if ws, mask := Intact(isolation.Host{}); ws || mask {
		t.Errorf("intact: %v %v", ws, mask)
	}
}

func TestALongFactIsCut(t *testing.T) {
	var f facts
	f.set("x", strings.Repeat("y", 10_000))
	if len(f[0].Value) > maxFact+3 {
		t.Errorf("%d bytes", len(f[0].Value))
	}
}

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// found is what testdata/probe.py writes.
type found struct {
	Status  map[string]string
	Calls   map[string]string
	Network struct {
		Interfaces, Routes, Addresses6, Sockets []string
		Connect, Connect6                       string
	}
	Mounts []struct {
		Target, Type string
		Options      []string
		Shared       bool
	}
	Mask struct {
		Content  string
		Attempts map[string]string
	}
	Cache, Shm struct {
		Bytes, Inodes int64
		Mode          string
	}
	Image struct {
		Holes              []string
		Directories, Files int
	}
	Kernel struct {
		Holes []string
		Tried int
	}
	First        map[string]string
	Environment  map[string]string
	Environments map[string]string
	Rlimits      map[string][2]int64
	Groups       map[string][]string
	Hostname     string
	Hosts        string
	Workdir      string
	Argv         []string
	Stdin        string
	Pids         []int
	Executes     map[string]string
	Session      bool
	Devices      []string
	Descriptors  int
}

func TestProbe_ACommandFindsTheContractInside(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t, "probe.py"))
	r := f.MustRun(t, python("probe.py", "-x", "--", "$HOME", "a b", ""), 0)
	if want := (counts{Added: 1}); r.Checkpoint.Changed != want {
		t.Errorf("the probe left %+v", r.Checkpoint.Changed)
	}
	b, err := os.ReadFile(filepath.Join(f.path, "probe.json"))
	must(t, err)
	var p found
	must(t, json.Unmarshal(b, &p))
	for name, check := range map[string]func(*testing.T, found){
		"its user has no privilege":                  checkUser,
		"calls that reach the kernel are denied":     checkCalls,
		"the network is lo alone":                    checkNetwork,
		"the mounts are the contract's":              checkMounts,
		"git's control file is the mask and stays":   checkMask,
		"nothing else can be written":                checkWrites,
		"limits are in effect":                       checkLimits,
		"the environment is the toolchain's alone":   checkEnvironment,
		"the process is alone and sees nothing else": checkProcess,
	} {
		t.Run(name, func(t *testing.T) { check(t, p) })
	}
	if strings.Contains(string(b), canary) {
		t.Error("a secret of the operator's process is inside")
	}
}

func checkUser(t *testing.T, p found) {
	const none = "0000000000000000"
	ids := "65532 65532 65532 65532"
	want := map[string]string{
		"Uid": ids, "Gid": ids, "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
		"NoNewPrivs": "1", "Seccomp": "2",
	}
	// Some engines repeat the user's own group here.
	if g := p.Status["Groups"]; g != "" && g != "65532" {
		t.Errorf("the groups are %q", g)
	}
	delete(p.Status, "Groups")
	if !maps.Equal(p.Status, want) {
		t.Errorf("the status is %v, want %v", p.Status, want)
	}
}

func checkCalls(t *testing.T, p found) {
	if len(p.Calls) < 17 {
		t.Errorf("only %d calls were tried", len(p.Calls))
	}
	for name, got := range p.Calls {
		if got != "EPERM" {
			t.Errorf("%s: %s, want EPERM", name, got)
		}
	}
}

func checkNetwork(t *testing.T, p found) {
	n := p.Network
	if !slices.Equal(n.Interfaces, []string{"lo"}) || len(n.Routes) > 0 || len(n.Sockets) > 0 {
		t.Errorf("the network: %+v", n)
	}
	for _, a := range n.Addresses6 {
		if a != "00000000000000000000000000000001" {
			t.Errorf("an address: %s", a)
		}
	}
	if n.Connect != "ENETUNREACH" || (n.Connect6 != "ENETUNREACH" && n.Connect6 != "EADDRNOTAVAIL" && n.Connect6 != "EAFNOSUPPORT") {
		t.Errorf("connecting: %s, %s", n.Connect, n.Connect6)
	}
	if p.Hostname != "standard-code" {
		t.Errorf("the host name is %q", p.Hostname)
	}
	if !strings.Contains(p.Hosts, "127.0.0.1\tlocalhost\n") {
		t.Errorf("localhost has no address: /etc/hosts is %q", p.Hosts)
	}
	for l := range strings.Lines(p.Hosts) {
		words := strings.Fields(l)
		for i, w := range words {
			if i > 0 && w != "localhost" && !strings.HasPrefix(w, "ip6-") {
				t.Errorf("/etc/hosts names %q", w)
			}
		}
		if len(words) > 0 && !slices.Contains([]string{"127.0.0.1", "::1", "fe00::0", "fe00::", "ff00::0", "ff00::", "ff02::1", "ff02::2"}, words[0]) {
			t.Errorf("/etc/hosts has %q", words[0])
		}
	}
}

func checkMounts(t *testing.T, p found) {
	options := map[string][]string{
		"/": {"ro"}, "/workspace": {"rw"}, "/workspace/.git": {"ro"},
		"/standard-code/cache": {"rw", "nosuid", "nodev"}, "/dev/shm": {"rw", "nosuid", "nodev", "noexec"},
		"/sys": {"ro"}, "/proc/sys": {"ro"},
	}
	// What shows files of the host: the two mounts, and what the engine has of its
	// own three files.
	engines, fromHost := []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf"}, []string{"/workspace", "/workspace/.git"}
	var got []string
	for _, m := range p.Mounts {
		if m.Shared {
			t.Errorf("%s propagates", m.Target)
		}
		for _, o := range options[m.Target] {
			if !slices.Contains(m.Options, o) {
				t.Errorf("%s is %v, want %s", m.Target, m.Options, o)
			}
		}
		if m.Target == "/standard-code/cache" && slices.Contains(m.Options, "noexec") {
			t.Error("nothing can be executed in the cache")
		}
		delete(options, m.Target)
		if !slices.Contains([]string{"overlay", "proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2"}, m.Type) && !slices.Contains(engines, m.Target) {
			got = append(got, m.Target)
		}
		if strings.HasPrefix(m.Target, "/etc/") && !slices.Contains(m.Options, "ro") {
			t.Errorf("%s is %v", m.Target, m.Options)
		}
	}
	if slices.Sort(got); !slices.Equal(got, fromHost) {
		t.Errorf("from the host come %v, want %v", got, fromHost)
	}
	if len(options) > 0 {
		t.Errorf("there is no mount for %v", slices.Collect(maps.Keys(options)))
	}
	if c := p.Cache; c.Bytes != 134217728 || c.Inodes != 16384 || c.Mode != "0o700" {
		t.Errorf("the cache: %+v", c)
	}
	if s := p.Shm; s.Bytes != 64<<20 || s.Inodes != 4096 || s.Mode != "0o1777" {
		t.Errorf("shm: %+v", s)
	}
	if want := map[string]string{"cache": "allowed", "shm": "EACCES"}; !maps.Equal(p.Executes, want) {
		t.Errorf("executing: %v, want %v", p.Executes, want)
	}
}

func checkMask(t *testing.T, p found) {
	if p.Mask.Content != "gitdir: .standard-code-git-disabled\n" {
		t.Errorf("/workspace/.git says %q", p.Mask.Content)
	}
	if len(p.Mask.Attempts) != 9 {
		t.Errorf("%d attempts", len(p.Mask.Attempts))
	}
	for name, got := range p.Mask.Attempts {
		if got == "allowed" {
			t.Errorf("%s on the mask works", name)
		}
	}
}

func checkWrites(t *testing.T, p found) {
	// Devices without storage, and message queues, of which the limit allows none.
	allowed := []string{
		"/dev/full", "/dev/mqueue", "/dev/null", "/dev/pts/ptmx", "/dev/random", "/dev/tty", "/dev/urandom", "/dev/zero",
	}
	for _, h := range p.Image.Holes {
		if !slices.Contains(allowed, h) {
			t.Errorf("%s can be written", h)
		}
	}
	if p.Image.Directories < 500 || p.Image.Files < 5000 || p.Kernel.Tried < 1000 {
		t.Errorf("only %d directories, %d files and %d of the kernel's were tried", p.Image.Directories, p.Image.Files, p.Kernel.Tried)
	}
	if len(p.Kernel.Holes) > 0 {
		t.Errorf("the kernel lets %v be written", p.Kernel.Holes)
	}
	for _, d := range p.Devices {
		if !slices.Contains([]string{"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}, d) {
			t.Errorf("a device: %s", d)
		}
	}
}

func checkLimits(t *testing.T, p found) {
	want := map[string][2]int64{"FSIZE": {16 << 20, 16 << 20}, "CORE": {0, 0}, "NOFILE": {4096, 4096}, "MSGQUEUE": {0, 0}}
	if !maps.Equal(p.Rlimits, want) {
		t.Errorf("the process limits are %v, want %v", p.Rlimits, want)
	}
	g := p.Groups
	cpu := append(slices.Clone(g["cpu"]), g["period"]...) // version 2 has both in one file
	if !slices.Equal(g["memory"], []string{"2147483648"}) || !slices.Equal(g["pids"], []string{"128"}) || len(cpu) < 2 ||
		cpu[0] != "200000" || cpu[1] != "100000" {
		t.Errorf("the group limits are %v", g)
	}
}

// The variables that every toolchain has, and python's.
var (
	common       = []string{"CI", "HOME", "LANG", "PATH", "TMPDIR", "TZ"}
	pythonNames  = []string{"PIP_DISABLE_PIP_VERSION_CHECK", "PIP_NO_INDEX", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE"}
	nodeNames    = []string{"NO_UPDATE_NOTIFIER", "npm_config_audit", "npm_config_cache", "npm_config_fund", "npm_config_offline", "npm_config_update_notifier"}
	commonValues = map[string]string{"CI": "true", "LANG": "C.UTF-8", "TZ": "UTC"}
)

func checkEnvironment(t *testing.T, p found) { checkNames(t, p.Environment, pythonNames) }

func checkNames(t *testing.T, env map[string]string, more []string) {
	t.Helper()
	want := slices.Sorted(slices.Values(append(slices.Clone(common), more...)))
	if got := slices.Sorted(maps.Keys(env)); !slices.Equal(got, want) {
		t.Errorf("the environment has %v, want %v", got, want)
	}
	for n, v := range commonValues {
		if env[n] != v {
			t.Errorf("%s is %q, want %q", n, env[n], v)
		}
	}
	for _, n := range []string{"HOME", "TMPDIR"} {
		if !strings.HasPrefix(env[n], "/standard-code/cache/") {
			t.Errorf("%s is %q", n, env[n])
		}
	}
}

func checkProcess(t *testing.T, p found) {
	if len(p.Pids) != 2 || p.Pids[0] != 1 || !p.Session || p.Workdir != "/workspace" || p.Stdin != "" || p.Descriptors != 3 {
		t.Errorf("the process: pids %v, own session %t, in %s, stdin %q, %d descriptors", p.Pids, p.Session, p.Workdir, p.Stdin, p.Descriptors)
	}
	if want := []string{"-x", "--", "$HOME", "a b", ""}; !slices.Equal(p.Argv, want) {
		t.Errorf("the arguments are %q, want %q", p.Argv, want)
	}
	if p.Environments["1"] != "EACCES" {
		t.Errorf("the runner's environment: %q", p.Environments["1"])
	}
	for what, got := range p.First {
		if got == "allowed" {
			t.Errorf("the runner's %s can be read", what)
		}
	}
}

func TestProbe_NodeHasItsOwnEnvironmentAlone(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	f.MustRun(t, command{toolchain: "node", args: []string{"-e", "require('fs').writeFileSync('env.json', JSON.stringify(process.env))"}}, 0)
	b, err := os.ReadFile(filepath.Join(f.path, "env.json"))
	must(t, err)
	var env map[string]string
	must(t, json.Unmarshal(b, &env))
	checkNames(t, env, nodeNames)
}

package doctor_test

import (
	"context"
	"strings"
	"testing"

	"cyberagent/app/doctor"
	"cyberagent/domain/admission"
	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// world is a machine on which all is well; each test spoils one thing.
type world struct {
	ports.Engine

	host    ports.HostFacts
	storage ports.StorageFacts
	ledger  ports.LedgerFacts
	facts   admission.EngineFacts
	parts   map[string]string
	image   admission.ImageFacts
}

func (w *world) Facts(context.Context) ports.HostFacts { return w.host }
func (w *world) Storage(context.Context, string) (ports.StorageFacts, error) {
	return w.storage, nil
}
func (w *world) Examine(context.Context) (ports.LedgerFacts, error)   { return w.ledger, nil }
func (w *world) Probe(context.Context) (admission.EngineFacts, error) { return w.facts, nil }
func (w *world) Parts(context.Context, admission.EngineFacts) map[string]string {
	return w.parts
}

func (w *world) InspectImage(context.Context, string) (admission.ImageFacts, error) {
	return w.image, nil
}

const digest = "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

type engine struct {
	*world
}

func (engine) Engine() isolation.Engine { return isolation.Docker }

func well() *world {
	return &world{
		host: ports.HostFacts{OS: "linux", Kernel: "6.1", Arch: "amd64", CgroupVersion: "2", Controllers: []string{"cpu", "memory", "pids"}, Seccomp: true, Git: "2.39.5"},
		storage: ports.StorageFacts{
			Path: "/home", Filesystem: "ext4", Free: drydock.Free{Bytes: 8 << 30, Inodes: 2_000_000, InodesKnown: true}, Writable: true, Access: drydock.AccessOwner,
		},
		ledger: ports.LedgerFacts{Path: "/home/ledger.db", Newest: "133"},
		facts: admission.EngineFacts{
			Engine: isolation.Docker, Reachability: admission.Reachable, Version: "28.5.2", APIVersion: "1.51", APISupported: true,
			OSType: "linux", Architecture: "amd64", HostArch: "amd64", Seccomp: true, SwapLimit: true, PidsLimit: true, MemoryLimit: true,
			CPUs: 4, MemoryBytes: 8 << 30, CgroupVersion: "2", PrivateCgroup: true, Runtime: "runc",
		},
		image: admission.ImageFacts{Configured: digest},
	}
}

// other is the image of one repository.
var other = "sha256:" + strings.Repeat("e", 64)

func examine(w *world) doctor.Report {
	s := doctor.Service{
		Machine: w, Storage: w, Ledger: w, Engines: []ports.Engine{engine{w}},
		ImageDigest: func(isolation.Engine) string { return digest }, Home: "/home",
		Projects: map[string]string{"/home/op/parser": other},
	}
	return s.Examine(context.Background())
}

func TestDoctor_NamesWhatIsWrongWithARemedy(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*world)
		check  string
		status doctor.Status
		says   string
	}{
		"no git":                    {func(w *world) { w.host.Git = "" }, "git", doctor.Failure, "not found"},
		"an old git":                {func(w *world) { w.host.Git = "2.25.1" }, "git", doctor.Warning, "2.25.1"},
		"another system":            {func(w *world) { w.host.OS = "darwin" }, "host", doctor.Failure, "Linux"},
		"no cgroup":                 {func(w *world) { w.host.CgroupVersion = "" }, "cgroup", doctor.Failure, "no cgroup"},
		"no memory controller":      {func(w *world) { w.host.Controllers = []string{"cpu", "pids"} }, "cgroup", doctor.Failure, "memory"},
		"no seccomp":                {func(w *world) { w.host.Seccomp = false }, "seccomp", doctor.Failure, "seccomp"},
		"SELinux":                   {func(w *world) { w.host.SELinux = true }, "lsm", doctor.Warning, "SELinux"},
		"a network home":            {func(w *world) { w.storage.Network, w.storage.Filesystem = true, "nfs" }, "storage", doctor.Failure, "nfs"},
		"a read-only home":          {func(w *world) { w.storage.Writable = false }, "storage", doctor.Failure, "not writable"},
		"a full disk":               {func(w *world) { w.storage.Free.Bytes = 1 << 30 }, "storage", doctor.Failure, "1024 MiB free"},
		"no inodes":                 {func(w *world) { w.storage.Free.Inodes = 999_999 }, "storage", doctor.Failure, "inodes"},
		"no ACLs":                   {func(w *world) { w.storage.Access, w.storage.AccessError = "", "no POSIX ACLs there" }, "access", doctor.Failure, "ACLs"},
		"a newer ledger":            {func(w *world) { w.ledger.Present, w.ledger.Schema = true, "999" }, "ledger", doctor.Failure, "999"},
		"a damaged ledger":          {func(w *world) { w.ledger.Present, w.ledger.Schema, w.ledger.Integrity = true, "133", "row 5 missing" }, "ledger", doctor.Failure, "row 5"},
		"an engine that is not up":  {func(w *world) { w.facts.Reachability, w.facts.Detail = admission.Unreachable, "no such file" }, "docker", doctor.Failure, "no such file"},
		"an engine without a right": {func(w *world) { w.facts.Reachability = admission.PermissionDenied }, "docker", doctor.Failure, "no right"},
		"no swap limit":             {func(w *world) { w.facts.SwapLimit = false }, "docker", doctor.Failure, "swap"},
		"an old runtime":            {func(w *world) { w.parts = map[string]string{"runc": "1.1.11"} }, "docker/versions", doctor.Warning, "CVE-2024-21626"},
		"no image of a repository":  {func(*world) {}, "image of /home/op/parser", doctor.Warning, "does not have the image"},
		"no image":                  {func(*world) {}, "image", doctor.Failure, digest[:20]},
	} {
		t.Run(name, func(t *testing.T) {
			w := well()
			c.spoil(w)
			for _, f := range examine(w).Findings {
				if f.Check == c.check && f.Status == c.status && strings.Contains(f.Detail, c.says) {
					if f.Remedy == "" {
						t.Errorf("no remedy: %+v", f)
					}
					return
				}
			}
			t.Errorf("no %s of %s that says %q: %+v", c.status, c.check, c.says, examine(w).Findings)
		})
	}
}

func TestDoctor_APartThatFailsDoesNotEndTheReport(t *testing.T) {
	w := well()
	s := doctor.Service{
		Machine: w, Storage: broken{}, Ledger: broken{}, Engines: []ports.Engine{engine{w}},
		ImageDigest: func(isolation.Engine) string { return "" },
	}
	r := s.Examine(context.Background())
	got := map[string]doctor.Status{}
	for _, f := range r.Findings {
		got[f.Check] = f.Status
	}
	if got["storage"] != doctor.Failure || got["ledger"] != doctor.Failure || got["docker"] != doctor.OK || got["image"] != doctor.Failure || r.Status != doctor.Failure {
		t.Errorf("%+v", r)
	}
}

type broken struct{}

func (broken) Storage(context.Context, string) (ports.StorageFacts, error) {
	return ports.StorageFacts{}, fault.New(fault.ConfigInvalid, "gone")
}

func (broken) Examine(context.Context) (ports.LedgerFacts, error) {
	return ports.LedgerFacts{}, fault.New(fault.LedgerUnusable, "gone")
}

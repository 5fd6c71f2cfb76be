package containerd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/protobuf/proto"

	"cyberagent/domain/canon"
	"cyberagent/domain/isolation"
)

// surroundings are what a record refers to, as the engine reports it now.
type surroundings struct {
	imageID string // of the image that has the record's image name
	chainID string // of that image
	parent  string // of the record's snapshot
	cfg     Config
}

// properties reports a container in the contract's words.
func (e *Engine) properties(ctx context.Context, record containers.Container) (isolation.Properties, error) {
	s := surroundings{cfg: e.cfg}
	img, present, err := e.imageNamed(ctx, record.Image)
	if err != nil {
		return isolation.Properties{}, err
	}
	if present {
		s.imageID, s.chainID = img.id, img.chainID()
	}
	snapshot, err := e.snapshotOf(ctx, record.SnapshotKey)
	if err != nil {
		return isolation.Properties{}, err
	}
	if snapshot != nil {
		s.parent = snapshot.Parent
	}
	return readback(record, s), nil
}

// readback is the pure half: record to properties. Each field is taken out of a
// copy; what is left of it is Extra.
func readback(c containers.Container, s surroundings) isolation.Properties {
	var x extras
	p := isolation.Properties{Name: take(&c.ID), Labels: ours(take(&c.Labels)), ImageID: s.imageID}
	take(&c.CreatedAt) // when says nothing about how
	take(&c.UpdatedAt)
	image := take(&c.Image)
	x.unless(s.imageID != "" && s.parent == s.chainID, "snapshot.parent", image+" on "+s.parent)
	key, kind := take(&c.SnapshotKey), take(&c.Snapshotter)
	x.unless(key == p.Name && kind == snapshotter, "snapshot", kind+" "+key)
	name, opts := take(&c.Runtime.Name), take(&c.Runtime.Options)
	x.unless(name == s.cfg.Runtime, "runtime", name)
	x.unless(isBinary(opts, s.cfg.Binary), "runtime.options", opts)
	r, err := runOf(c)
	delete(c.Extensions, extension)
	x.unless(err == nil, "extensions."+extension, fmt.Sprint(err))
	p.Stdin = r.Stdin
	if within(s.cfg.Dir, r.Dir) {
		p.LogDriver = "none" // both streams go to FIFOs of ours and nowhere else
	}
	raw := take(&c.Spec)
	x.residue("container.", c)
	spec, err := decode(raw)
	if err != nil {
		x.add("spec", err.Error())
	} else {
		fromSpec(spec, r.Dir, &p, &x)
	}
	p.Extra = x
	return p
}

// decode accepts the specification only when every field of it is known.
func decode(raw typeurl.Any) (specs.Spec, error) {
	var s specs.Spec
	if raw == nil {
		return s, fmt.Errorf("none")
	}
	dec := json.NewDecoder(bytes.NewReader(raw.GetValue()))
	dec.DisallowUnknownFields()
	err := dec.Decode(&s)
	return s, err
}

// isBinary says whether the shim's options name exactly that OCI runtime and
// nothing else.
func isBinary(opts typeurl.Any, name string) bool {
	if opts == nil || len(opts.GetValue()) == 0 {
		return name == ""
	}
	v, err := typeurl.UnmarshalAny(opts)
	o, ok := v.(*options.Options)
	return err == nil && ok && proto.Equal(o, &options.Options{BinaryName: name})
}

func fromSpec(s specs.Spec, dir rundir, p *isolation.Properties, x *extras) {
	version := take(&s.Version)
	x.unless(version == ociVersion, "ociVersion", version)
	p.Hostname = take(&s.Hostname)
	if root := take(&s.Root); root != nil {
		p.ReadOnlyRoot = take(&root.Readonly)
		path := take(&root.Path)
		x.unless(path == rootfs, "root.path", path)
		x.residue("root.", *root)
	}
	if process := take(&s.Process); process != nil {
		fromProcess(*process, p, x)
	}
	fromMounts(take(&s.Mounts), dir, p, x)
	if linux := take(&s.Linux); linux != nil {
		fromLinux(*linux, p, x)
	}
	x.residue("", s)
}

func fromProcess(s specs.Process, p *isolation.Properties, x *extras) {
	p.TTY, p.Env, p.WorkingDir, p.NoNewPrivileges = take(&s.Terminal), take(&s.Env), take(&s.Cwd), take(&s.NoNewPrivileges)
	p.User = fmt.Sprintf("%d:%d", take(&s.User.UID), take(&s.User.GID))
	for _, g := range take(&s.User.AdditionalGids) {
		p.Groups = append(p.Groups, strconv.FormatUint(uint64(g), 10))
	}
	if args := take(&s.Args); len(args) > 0 {
		p.Entrypoint, p.Args = args[:1], args[1:]
	}
	p.Capabilities = capabilities(take(&s.Capabilities))
	for _, r := range take(&s.Rlimits) {
		name, ok := strings.CutPrefix(r.Type, rlimitWord)
		if !ok || r.Soft != r.Hard {
			x.add("process.rlimits", r)
			continue
		}
		p.Rlimits = append(p.Rlimits, isolation.Rlimit{Name: strings.ToLower(name), Value: int64(r.Hard)})
	}
	score := take(&s.OOMScoreAdj)
	x.unless(score != nil && *score == 0, "process.oomScoreAdj", score)
	x.residue("process.", s)
}

// capabilities is what any set holds. Without sets the runtime decides.
func capabilities(c *specs.LinuxCapabilities) []string {
	if c == nil {
		return []string{"runtime default"}
	}
	all := slices.Concat(c.Bounding, c.Effective, c.Inheritable, c.Permitted, c.Ambient)
	slices.Sort(all)
	return slices.Compact(all)
}

func fromLinux(s specs.Linux, p *isolation.Properties, x *extras) {
	fromNamespaces(take(&s.Namespaces), p, x)
	group := take(&s.CgroupsPath)
	x.unless(group == cgroupRoot+p.Name, "linux.cgroupsPath", group)
	propagation := take(&s.RootfsPropagation)
	x.unless(propagation == rprivate, "linux.rootfsPropagation", propagation)
	p.MaskedPaths, p.ReadonlyPaths = take(&s.MaskedPaths), take(&s.ReadonlyPaths)
	p.SeccompSHA256 = profileSHA256(take(&s.Seccomp))
	if r := take(&s.Resources); r != nil {
		fromResources(*r, p, x)
	}
	x.residue("linux.", s)
}

// fromNamespaces: a kind that is missing, or has a path, is somebody else's.
func fromNamespaces(list []specs.LinuxNamespace, p *isolation.Properties, x *extras) {
	own := map[specs.LinuxNamespaceType]string{}
	for _, n := range list {
		if _, twice := own[n.Type]; twice || n.Path != "" || !slices.Contains(namespaceTypes(), n.Type) {
			x.add("linux.namespaces", n)
		}
		own[n.Type] = private
	}
	word := func(t specs.LinuxNamespaceType, word string) string {
		if own[t] == "" {
			return "host"
		}
		return word
	}
	p.PIDMode, p.UTSMode = word(specs.PIDNamespace, private), word(specs.UTSNamespace, private)
	p.NetworkMode = word(specs.NetworkNamespace, "none") // nothing connects it
	p.IPCMode = word(specs.IPCNamespace, "none")         // and /dev/shm is the contract's
	p.CgroupMode = private                               // also where the kernel has none
	if cgroupNamespaces() {
		p.CgroupMode = word(specs.CgroupNamespace, private)
	}
	x.unless(own[specs.MountNamespace] != "", "linux.namespaces.mount", "host")
}

func fromResources(s specs.LinuxResources, p *isolation.Properties, x *extras) {
	devices := take(&s.Devices)
	x.unless(reflect.DeepEqual(devices, noDevices()), "linux.resources.devices", devices)
	p.OOMKill = true
	if m := take(&s.Memory); m != nil {
		p.MemoryBytes, p.MemorySwapBytes = number(take(&m.Limit)), number(take(&m.Swap))
		if off := take(&m.DisableOOMKiller); off != nil {
			p.OOMKill = !*off
		}
		x.residue("linux.resources.memory.", *m)
	}
	if c := take(&s.CPU); c != nil {
		quota, period := number(take(&c.Quota)), take(&c.Period)
		x.unless(period != nil && *period == cpuPeriod, "linux.resources.cpu.period", period)
		p.NanoCPUs = quota * 1_000_000_000 / int64(cpuPeriod)
		x.residue("linux.resources.cpu.", *c)
	}
	if l := take(&s.Pids); l != nil {
		p.Pids = number(take(&l.Limit))
		x.residue("linux.resources.pids.", *l)
	}
	x.residue("linux.resources.", s)
}

// number is 0, no limit, for what is not said.
func number(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// profileSHA256 is the domain's digest for exactly the domain's profile, and the
// digest of what is there for any other.
func profileSHA256(got *specs.LinuxSeccomp) string {
	if got == nil {
		return ""
	}
	text, err := json.Marshal(got)
	if err != nil {
		return "unreadable"
	}
	want, err := seccompProfile(isolation.SeccompProfile())
	if err == nil {
		if w, err := json.Marshal(want); err == nil && bytes.Equal(w, text) {
			return isolation.SeccompSHA256()
		}
	}
	return canon.SHA256(text)
}

// fromMounts takes out what the product asks for; whatever else there is, and
// another order, in which one could hide another, is Extra. An additional
// projection of the host is a property.
func fromMounts(list []specs.Mount, dir rundir, p *isolation.Properties, x *extras) {
	var order []specs.Mount
	fixed := kernelMounts()
	for _, f := range etcFiles() {
		fixed = append(fixed, etcMount(f, dir))
	}
	for _, m := range list {
		switch {
		case slices.ContainsFunc(fixed, func(f specs.Mount) bool { return reflect.DeepEqual(f, m) }):
		case m.Type == "tmpfs":
			t, err := isolation.ParseTmpfs(m.Destination, m.Options)
			x.unless(err == nil && m.Source == "tmpfs" && len(m.UIDMappings)+len(m.GIDMappings) == 0, "mounts."+m.Destination, m)
			p.Tmpfs = append(p.Tmpfs, t)
		case m.Type == "bind" || slices.Contains(m.Options, "bind") || slices.Contains(m.Options, "rbind"):
			got := isolation.Mount{
				Source: m.Source, Target: m.Destination,
				ReadOnly: slices.Contains(m.Options, "ro"), Private: slices.Contains(m.Options, rprivate),
			}
			x.unless(reflect.DeepEqual(bind(got), m), "mounts."+m.Destination, m)
			p.Mounts = append(p.Mounts, got)
		default:
			x.add("mounts."+m.Destination, m)
		}
		order = append(order, m)
	}
	want := mounts(isolation.Properties{Mounts: p.Mounts, Tmpfs: p.Tmpfs}, dir)
	x.unless(slices.EqualFunc(order, want, func(a, b specs.Mount) bool { return a.Destination == b.Destination && a.Type == b.Type }), "mounts", order)
}

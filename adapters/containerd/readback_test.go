package containerd

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/typeurl/v2"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/protobuf/types/known/anypb"

	"cyberagent/domain/isolation"
)

func differences(t *testing.T, c containers.Container, s surroundings) []string {
	t.Helper()
	var properties []string
	for _, d := range isolation.Compare(goldenSpec(t, isolation.StdinPipe), readback(c, s)) {
		properties = append(properties, d.Property)
	}
	return properties
}

func TestReadback_OfWhatWasAsked(t *testing.T) {
	_, c, s := goldenRecord(t)
	if d := isolation.Compare(goldenSpec(t, isolation.StdinPipe), readback(c, s)); len(d) > 0 {
		t.Errorf("%+v", d)
	}
}

// specOf decodes the record's specification; with puts a changed one back.
func specOf(t *testing.T, c containers.Container) specs.Spec {
	t.Helper()
	var s specs.Spec
	must(t, json.Unmarshal(c.Spec.GetValue(), &s))
	return s
}

func with(t *testing.T, c containers.Container, s any) containers.Container {
	t.Helper()
	b, err := json.Marshal(s)
	must(t, err)
	c.Spec = &anypb.Any{TypeUrl: c.Spec.GetTypeUrl(), Value: b}
	return c
}

// Whatever field of the specification says something else is a difference, at
// any depth; the walk makes absent parts, too.
func TestReadback_OverlooksNoField(t *testing.T) {
	_, c, s := goldenRecord(t)
	tried := 0
	for _, path := range leaves(reflect.TypeFor[specs.Spec](), nil) {
		spec := specOf(t, c)
		v := reach(reflect.ValueOf(&spec).Elem(), path)
		alter(v)
		if b, err := json.Marshal(spec); err != nil || string(b) == string(c.Spec.GetValue()) {
			continue // not a field of the JSON form
		}
		tried++
		if len(differences(t, with(t, c, spec), s)) == 0 {
			t.Errorf("%s altered: not noticed", strings.Join(path, "."))
		}
	}
	if tried < 60 {
		t.Errorf("only %d fields were tried", tried)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[containers.Container]()) {
		changed := c
		v := reflect.ValueOf(&changed).Elem().FieldByIndex(f.Index)
		switch f.Name {
		case "CreatedAt", "UpdatedAt": // when says nothing about how
			continue
		case "Image": // its name; the image behind it is in the surroundings
			continue
		case "Spec":
			changed.Spec = &anypb.Any{TypeUrl: c.Spec.GetTypeUrl(), Value: []byte("{}")}
		case "Runtime":
			changed.Runtime.Name += "x"
		case "Extensions":
			changed.Extensions = map[string]typeurl.Any{"more": &anypb.Any{}, extension: c.Extensions[extension]}
		default:
			alter(v)
		}
		if len(differences(t, changed, s)) == 0 {
			t.Errorf("record's %s altered: not noticed", f.Name)
		}
	}
}

// leaves are the paths of fields that are not structures themselves, through
// pointers to structures.
func leaves(t reflect.Type, prefix []string) [][]string {
	var all [][]string
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		path := append(slices.Clone(prefix), f.Name)
		u := f.Type
		if u.Kind() == reflect.Pointer {
			u = u.Elem()
		}
		if u.Kind() == reflect.Struct {
			all = append(all, leaves(u, path)...)
			continue
		}
		all = append(all, path)
	}
	return all
}

func reach(v reflect.Value, path []string) reflect.Value {
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.FieldByName(name)
	}
	return v
}

// alter makes a value say something else.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x=x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint, reflect.Uint32, reflect.Uint64, reflect.Uint16, reflect.Uint8:
		v.SetUint(v.Uint() + 1)
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		alter(fresh.Elem())
		v.Set(fresh)
	case reflect.Slice:
		more := reflect.New(v.Type().Elem()).Elem()
		if more.Kind() != reflect.Slice {
			alter(more)
		}
		v.Set(reflect.Append(slices.Clone([]reflect.Value{v})[0], more))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		alter(key)
		fresh := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			fresh.SetMapIndex(k, v.MapIndex(k))
		}
		fresh.SetMapIndex(key, value)
		v.Set(fresh)
	case reflect.Struct:
		if v.NumField() > 0 {
			alter(v.Field(0))
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf("x"))
	default:
		panic(v.Kind())
	}
}

func TestReadback_Table(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*specs.Spec)
		want   string
	}{
		"a rewritten profile":        {func(s *specs.Spec) { s.Linux.Seccomp.Syscalls = s.Linux.Seccomp.Syscalls[1:] }, "seccomp_sha256"},
		"no profile":                 {func(s *specs.Spec) { s.Linux.Seccomp = nil }, "seccomp_sha256"},
		"new privileges":             {func(s *specs.Spec) { s.Process.NoNewPrivileges = false }, "no_new_privileges"},
		"one capability":             {func(s *specs.Spec) { s.Process.Capabilities.Ambient = []string{"CAP_CHOWN"} }, "capabilities"},
		"the runtime's capabilities": {func(s *specs.Spec) { s.Process.Capabilities = nil }, "capabilities"},
		"a writable root":            {func(s *specs.Spec) { s.Root.Readonly = false }, "read_only_root"},
		"root":                       {func(s *specs.Spec) { s.Process.User.UID = 0 }, "user"},
		"a group":                    {func(s *specs.Spec) { s.Process.User.AdditionalGids = []uint32{0} }, "groups"},
		"a variable":                 {func(s *specs.Spec) { s.Process.Env = []string{"A=b"} }, "env"},
		"a terminal":                 {func(s *specs.Spec) { s.Process.Terminal = true }, "tty"},
		"immune to the OOM killer":   {func(s *specs.Spec) { n := -999; s.Process.OOMScoreAdj = &n }, "extra"},
		"the shim's OOM score":       {func(s *specs.Spec) { s.Process.OOMScoreAdj = nil }, "extra"},
		"host's pid namespace":       {func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[1:] }, "pid_mode"},
		"another's network":          {func(s *specs.Spec) { s.Linux.Namespaces[4].Path = "/proc/1/ns/net" }, "extra"},
		"host's network":             {func(s *specs.Spec) { s.Linux.Namespaces = slices.Delete(s.Linux.Namespaces, 4, 5) }, "network_mode"},
		"no mount namespace":         {func(s *specs.Spec) { s.Linux.Namespaces = slices.Delete(s.Linux.Namespaces, 1, 2) }, "extra"},
		"a user namespace": {func(s *specs.Spec) {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: "user"})
		}, "extra"},
		"no memory limit":   {func(s *specs.Spec) { s.Linux.Resources.Memory = nil }, "memory_bytes"},
		"more swap":         {func(s *specs.Spec) { *s.Linux.Resources.Memory.Swap++ }, "memory_swap_bytes"},
		"no pids limit":     {func(s *specs.Spec) { s.Linux.Resources.Pids = nil }, "pids"},
		"no CPU limit":      {func(s *specs.Spec) { s.Linux.Resources.CPU = nil }, "nano_cpus"},
		"a shorter period":  {func(s *specs.Spec) { *s.Linux.Resources.CPU.Period = 1000 }, "extra"},
		"no OOM killer":     {func(s *specs.Spec) { yes := true; s.Linux.Resources.Memory.DisableOOMKiller = &yes }, "oom_kill"},
		"all devices":       {func(s *specs.Spec) { s.Linux.Resources.Devices[0].Allow = true }, "extra"},
		"a device":          {func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} }, "extra"},
		"a hook":            {func(s *specs.Spec) { s.Hooks = &specs.Hooks{StartContainer: []specs.Hook{{Path: "/x"}}} }, "extra"},
		"a sysctl":          {func(s *specs.Spec) { s.Linux.Sysctl = map[string]string{"net.ipv4.ip_forward": "1"} }, "extra"},
		"an annotation":     {func(s *specs.Spec) { s.Annotations = map[string]string{"a": "b"} }, "extra"},
		"another cgroup":    {func(s *specs.Spec) { s.Linux.CgroupsPath = "/" }, "extra"},
		"soft is not hard":  {func(s *specs.Spec) { s.Process.Rlimits[0].Hard++ }, "extra"},
		"a path unmasked":   {func(s *specs.Spec) { s.Linux.MaskedPaths = s.Linux.MaskedPaths[1:] }, "masked_paths"},
		"a writable mask":   {func(s *specs.Spec) { mountOn(s, isolation.GitTarget).Options[2] = "rw" }, "mounts"},
		"no mask":           {func(s *specs.Spec) { drop(s, isolation.GitTarget) }, "mounts"},
		"a shared mount":    {func(s *specs.Spec) { mountOn(s, isolation.Workspace).Options[1] = "rshared" }, "mounts"},
		"a recursive mount": {func(s *specs.Spec) { mountOn(s, isolation.Workspace).Options[0] = "rbind" }, "extra"},
		"one more mount": {func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/x", Type: "bind", Source: "/etc", Options: []string{"bind", rprivate, "ro", "nosuid", "nodev"}})
		}, "mounts"},
		"a bind without a type": {func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/x", Type: "none", Source: "/etc", Options: []string{"rbind"}})
		}, "mounts"},
		"/etc/hosts of the host": {func(s *specs.Spec) { mountOn(s, "/etc/hosts").Source = "/etc/hosts" }, "mounts"},
		"another filesystem":     {func(s *specs.Spec) { mountOn(s, "/dev/mqueue").Type = "tmpfs" }, "tmpfs"},
		"a writable /sys":        {func(s *specs.Spec) { mountOn(s, "/sys").Options[3] = "rw" }, "extra"},
		"a tmpfs more": {func(s *specs.Spec) {
			s.Mounts = append(s.Mounts, specs.Mount{Destination: "/run", Type: "tmpfs", Source: "tmpfs"})
		}, "tmpfs"},
		"a tmpfs without inode limit": {func(s *specs.Spec) {
			m := mountOn(s, isolation.CacheDir)
			m.Options = slices.DeleteFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "nr_inodes") })
		}, "tmpfs"},
		"one hides another": {func(s *specs.Spec) { s.Mounts[0], s.Mounts[1] = s.Mounts[1], s.Mounts[0] }, "extra"},
	} {
		_, record, around := goldenRecord(t)
		spec := specOf(t, record)
		c.change(&spec)
		if got := differences(t, with(t, record, spec), around); !slices.Contains(got, c.want) {
			t.Errorf("%s: differences in %q, want %q", name, got, c.want)
		}
	}
}

func mountOn(s *specs.Spec, target string) *specs.Mount {
	for i := range s.Mounts {
		if s.Mounts[i].Destination == target {
			return &s.Mounts[i]
		}
	}
	return nil
}

func drop(s *specs.Spec, target string) {
	s.Mounts = slices.DeleteFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == target })
}

func TestReadback_Surroundings(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*containers.Container, *surroundings)
		want   string
	}{
		"the image's name means another": {func(_ *containers.Container, s *surroundings) { s.imageID = goldenChain }, "image_id"},
		"the image is gone":              {func(_ *containers.Container, s *surroundings) { s.imageID = "" }, "image_id"},
		"another root filesystem":        {func(_ *containers.Container, s *surroundings) { s.parent = goldenImage }, "extra"},
		"a label":                        {func(c *containers.Container, _ *surroundings) { c.Labels["x"] = "y" }, "labels"},
		"another runtime":                {func(c *containers.Container, _ *surroundings) { c.Runtime.Name = "io.containerd.kata.v2" }, "extra"},
		"options of the runtime": {func(c *containers.Container, _ *surroundings) {
			c.Runtime.Options, _ = typeurl.MarshalAny(&options.Options{NoNewKeyring: true})
		}, "extra"},
		"a directory elsewhere": {func(c *containers.Container, _ *surroundings) {
			c.Extensions[extension], _ = run{Stdin: isolation.StdinPipe, Dir: "/srv/containerd/../elsewhere/x"}.any()
		}, "log_driver"},
		"another stdin": {func(c *containers.Container, s *surroundings) {
			c.Extensions[extension], _ = run{Stdin: isolation.StdinClosed, Dir: rundir(s.cfg.Dir + "/" + string(goldenInst) + "/" + string(goldenAdm))}.any()
		}, "stdin"},
		"no extension": {func(c *containers.Container, _ *surroundings) { c.Extensions = nil }, "stdin"},
		"a field of a later version": {func(c *containers.Container, _ *surroundings) {
			c.Spec = &anypb.Any{TypeUrl: c.Spec.GetTypeUrl(), Value: []byte(`{"later":true}`)}
		}, "extra"},
		"the engine's own labels": {func(c *containers.Container, _ *surroundings) { c.Labels["containerd.io/x"] = "y" }, ""},
	} {
		_, record, around := goldenRecord(t)
		c.change(&record, &around)
		got := differences(t, record, around)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%s: differences in %q, want %q", name, got, c.want)
		}
	}
}

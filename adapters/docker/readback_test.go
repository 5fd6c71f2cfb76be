package docker

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"

	"cyberagent/domain/isolation"
)

func TestProperties_OfARealReport(t *testing.T) {
	spec := goldenSpec(t, isolation.StdinPipe)
	for _, version := range recordings(t) {
		in, raw := recorded(t, version)
		if diffs := isolation.Compare(spec, properties(in, raw, goldenHosts)); len(diffs) > 0 {
			t.Errorf("API %s: %+v", version, diffs)
		}
	}
}

// Whatever field of the report says something else is a difference, or is in the
// table of what may.
func TestProperties_OverlookNoField(t *testing.T) {
	spec := goldenSpec(t, isolation.StdinPipe)
	seen := map[string]bool{}
	for prefix, at := range map[string]func(*container.InspectResponse) reflect.Value{
		"":            func(in *container.InspectResponse) reflect.Value { return reflect.ValueOf(in.ContainerJSONBase).Elem() },
		"Config.":     func(in *container.InspectResponse) reflect.Value { return reflect.ValueOf(in.Config).Elem() },
		"HostConfig.": func(in *container.InspectResponse) reflect.Value { return reflect.ValueOf(in.HostConfig).Elem() },
	} {
		blank, _ := recorded(t, oldestAPI)
		for _, f := range fields(at(&blank).Type()) {
			name := prefix + jsonName(f)
			seen[name] = true
			if ignored[name] != "" && slices.Contains(mapped, name) {
				t.Errorf("%s is in both tables", name)
			}
			if name == "HostConfig" || name == "State" {
				continue
			}
			in, raw := recorded(t, oldestAPI)
			alter(at(&in).FieldByIndex(f.Index))
			noticed := len(isolation.Compare(spec, properties(in, raw, goldenHosts))) > 0
			if noticed != (ignored[name] == "") {
				t.Errorf("%s altered: noticed %v, ignored because %q", name, noticed, ignored[name])
			}
		}
	}
	for _, name := range mapped {
		if !seen[name] {
			t.Errorf("%s is mapped and no field", name)
		}
	}
	for name := range ignored {
		if !seen[name] {
			t.Errorf("%s is ignored and no field", name)
		}
	}
}

func TestProperties_OverlookNoMountOption(t *testing.T) {
	spec := goldenSpec(t, isolation.StdinPipe)
	at := map[string]func(*container.InspectResponse) any{
		"reported ":    func(in *container.InspectResponse) any { return &in.Mounts[0] },
		"asked ":       func(in *container.InspectResponse) any { return &in.HostConfig.Mounts[0] },
		"asked option": func(in *container.InspectResponse) any { return in.HostConfig.Mounts[0].BindOptions },
	}
	for where, get := range at {
		in, _ := recorded(t, oldestAPI)
		for _, f := range fields(reflect.TypeOf(get(&in)).Elem()) {
			in, raw := recorded(t, oldestAPI)
			alter(reflect.ValueOf(get(&in)).Elem().FieldByIndex(f.Index))
			if len(isolation.Compare(spec, properties(in, raw, goldenHosts))) == 0 {
				t.Errorf("%s%s altered: not noticed", where, f.Name)
			}
		}
	}
}

// alter makes a value say something else.
func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x=x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint, reflect.Uint16, reflect.Uint64:
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
	case reflect.Array:
		alter(v.Index(0))
	case reflect.Struct:
		if v.NumField() > 0 {
			alter(v.Field(0))
		}
	default:
		panic(v.Kind())
	}
}

func TestProperties_Table(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*container.InspectResponse)
		want   string // property
	}{
		"a rewritten profile": {func(in *container.InspectResponse) { in.HostConfig.SecurityOpt[1] += " " }, "seccomp_sha256"},
		"no profile":          {func(in *container.InspectResponse) { in.HostConfig.SecurityOpt = in.HostConfig.SecurityOpt[:1] }, "seccomp_sha256"},
		"seccomp off":         {func(in *container.InspectResponse) { in.HostConfig.SecurityOpt[1] = "seccomp=unconfined" }, "seccomp_sha256"},
		"new privileges":      {func(in *container.InspectResponse) { in.HostConfig.SecurityOpt[0] = "no-new-privileges=false" }, "no_new_privileges"},
		"another option": {func(in *container.InspectResponse) {
			in.HostConfig.SecurityOpt = append(in.HostConfig.SecurityOpt, "apparmor=unconfined")
		}, "extra"},
		"apparmor off":              {func(in *container.InspectResponse) { in.AppArmorProfile = "unconfined" }, "extra"},
		"apparmor on":               {func(in *container.InspectResponse) { in.AppArmorProfile = "docker-default" }, ""},
		"one capability":            {func(in *container.InspectResponse) { in.HostConfig.CapAdd = []string{"CAP_CHOWN"} }, "capabilities"},
		"capabilities kept":         {func(in *container.InspectResponse) { in.HostConfig.CapDrop = nil }, "capabilities"},
		"host's pid namespace":      {func(in *container.InspectResponse) { in.HostConfig.PidMode = "host" }, "pid_mode"},
		"host's uts namespace":      {func(in *container.InspectResponse) { in.HostConfig.UTSMode = "host" }, "uts_mode"},
		"host's cgroup namespace":   {func(in *container.InspectResponse) { in.HostConfig.CgroupnsMode = "host" }, "cgroup_mode"},
		"ipc that is shared":        {func(in *container.InspectResponse) { in.HostConfig.IpcMode = "shareable" }, "ipc_mode"},
		"a variable":                {func(in *container.InspectResponse) { in.Config.Env = append(in.Config.Env, "A=") }, "env"},
		"a name without a value":    {func(in *container.InspectResponse) { in.Config.Env = append(in.Config.Env, "A") }, ""},
		"the image's own label":     {func(in *container.InspectResponse) { in.Config.Labels[isolation.LabelProtocol] = "x" }, ""},
		"no pids limit":             {func(in *container.InspectResponse) { in.HostConfig.PidsLimit = nil }, "pids"},
		"soft is not hard":          {func(in *container.InspectResponse) { in.HostConfig.Ulimits[0].Soft-- }, "extra"},
		"no OOM killer":             {func(in *container.InspectResponse) { yes := true; in.HostConfig.OomKillDisable = &yes }, "oom_kill"},
		"OOM not reported (v2)":     {func(in *container.InspectResponse) { in.HostConfig.OomKillDisable = nil }, ""},
		"the engine's init":         {func(in *container.InspectResponse) { yes := true; in.HostConfig.Init = &yes }, "extra"},
		"the engine's default init": {func(in *container.InspectResponse) { in.HostConfig.Init = nil }, "extra"},
		"image's health check":      {func(in *container.InspectResponse) { in.Config.Healthcheck = nil }, "extra"},
		"stdin that stays open":     {func(in *container.InspectResponse) { in.Config.StdinOnce = false }, "stdin"},
		"a volume":                  {func(in *container.InspectResponse) { in.Config.Volumes = map[string]struct{}{"/v": {}} }, "extra"},
		"a drop more": {func(in *container.InspectResponse) {
			in.HostConfig.CapDrop = append(in.HostConfig.CapDrop, "CAP_CHOWN")
		}, "extra"},
		"a volume's mount":     {func(in *container.InspectResponse) { in.Mounts[1].Type = mount.TypeVolume }, "mounts"},
		"a mount less":         {func(in *container.InspectResponse) { in.Mounts = in.Mounts[:1] }, "mounts"},
		"a writable mask":      {func(in *container.InspectResponse) { in.Mounts[0].RW, in.Mounts[1].RW = true, true }, "mounts"},
		"a shared mount":       {func(in *container.InspectResponse) { in.Mounts[0].Propagation = "rshared" }, "mounts"},
		"a recursive mount":    {func(in *container.InspectResponse) { in.HostConfig.Mounts[0].BindOptions.NonRecursive = false }, "extra"},
		"a tmpfs more":         {func(in *container.InspectResponse) { in.HostConfig.Tmpfs["/x"] = "" }, "tmpfs"},
		"an option of a tmpfs": {func(in *container.InspectResponse) { in.HostConfig.Tmpfs[isolation.ShmDir] += ",huge=always" }, "extra"},
		"a network":            {func(in *container.InspectResponse) { in.NetworkSettings.Networks["bridge"] = nil }, "extra"},
		"an alias": {func(in *container.InspectResponse) {
			in.NetworkSettings.Networks["none"] = &network.EndpointSettings{Aliases: []string{"a"}}
		}, "extra"},
		"log driver's options":   {func(in *container.InspectResponse) { in.HostConfig.LogConfig.Config = map[string]string{"a": "b"} }, "extra"},
		"another process inside": {func(in *container.InspectResponse) { in.ExecIDs = []string{"x"} }, "extra"},
		"no configuration":       {func(in *container.InspectResponse) { in.Config = nil }, "extra"},
	} {
		in, raw := recorded(t, oldestAPI)
		c.change(&in)
		var got []string
		for _, d := range isolation.Compare(goldenSpec(t, isolation.StdinPipe), properties(in, raw, goldenHosts)) {
			got = append(got, d.Property)
		}
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%s: differences in %q, want %q", name, got, c.want)
		}
	}
}

func TestProperties_UnknownFields(t *testing.T) {
	in, raw := recorded(t, oldestAPI)
	var all map[string]any
	must(t, json.Unmarshal(raw, &all))
	for at, more := range map[string]map[string]any{
		"HostConfig": {"Wormholes": []string{"alpha"}, "Empty": map[string]any{}}, "Config": {"Later": false},
	} {
		part, ok := all[at].(map[string]any)
		if !ok {
			t.Fatalf("no %s", at)
		}
		maps.Copy(part, more)
	}
	raw, err := json.Marshal(all)
	must(t, err)
	extra := properties(in, raw, goldenHosts).Extra
	if len(extra) != 1 || extra[0] != `HostConfig.Wormholes=["alpha"]` {
		t.Errorf("%q", extra)
	}
}

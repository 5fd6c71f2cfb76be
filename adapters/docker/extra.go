package docker

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
)

// extras collects what the engine reports and the contract has no word for.
type extras []string

func (x *extras) add(what string, value any) {
	text, ok := value.(string)
	if !ok {
		b, err := json.Marshal(value)
		if err != nil {
			b = []byte("unreadable")
		}
		text = string(b)
	}
	*x = append(*x, what+"="+text)
}

// mapped are the fields that properties or settings look at. Any other field
// that holds something and is not in ignored is an Extra.
var mapped = []string{
	"Path", "Args", "Image", "Name", "AppArmorProfile",
	"Config.Hostname", "Config.User", "Config.Env", "Config.Cmd", "Config.Entrypoint", "Config.Labels", "Config.WorkingDir",
	"Config.AttachStdin", "Config.OpenStdin", "Config.StdinOnce", "Config.Tty", "Config.Healthcheck", "Config.StopSignal", "Config.Image", "Config.NetworkDisabled",
	"HostConfig.LogConfig", "HostConfig.NetworkMode", "HostConfig.RestartPolicy", "HostConfig.CapAdd", "HostConfig.CapDrop",
	"HostConfig.CgroupnsMode", "HostConfig.GroupAdd", "HostConfig.IpcMode", "HostConfig.PidMode", "HostConfig.UTSMode",
	"HostConfig.Privileged", "HostConfig.ReadonlyRootfs", "HostConfig.SecurityOpt", "HostConfig.Tmpfs", "HostConfig.ShmSize",
	"HostConfig.Runtime", "HostConfig.Isolation", "HostConfig.Mounts", "HostConfig.MaskedPaths", "HostConfig.ReadonlyPaths", "HostConfig.Init",
	"HostConfig.Memory", "HostConfig.MemorySwap", "HostConfig.MemorySwappiness", "HostConfig.NanoCpus", "HostConfig.PidsLimit",
	"HostConfig.Ulimits", "HostConfig.OomKillDisable",
}

// ignored are the fields that may hold anything, each with the reason.
var ignored = map[string]string{
	"Id":                  "the engine's choice",
	"Created":             "a time",
	"State":               "what Inspect returns, not configuration",
	"ResolvConfPath":      "the engine's own read-only file of /etc",
	"HostnamePath":        "the engine's own read-only file of /etc",
	"HostsPath":           "the engine's own read-only file of /etc",
	"Driver":              "the storage driver's name",
	"GraphDriver":         "where the storage driver keeps the layers",
	"Platform":            "readiness refuses any but linux",
	"MountLabel":          "SELinux, which readiness refuses",
	"ProcessLabel":        "SELinux, which readiness refuses",
	"SizeRw":              "only reported when asked for",
	"SizeRootFs":          "only reported when asked for",
	"HostConfig":          "looked at field by field",
	"Config.AttachStdout": "a hint from one client to the next; attaching does not look at it",
	"Config.AttachStderr": "a hint from one client to the next; attaching does not look at it",
}

// unmapped adds every field of the answer that holds something and is in
// neither table, also when this client's structures do not know it.
func (x *extras) unmapped(raw []byte, in container.InspectResponse) {
	x.sweep("", reflect.ValueOf(*in.ContainerJSONBase))
	x.sweep("Config.", reflect.ValueOf(*in.Config))
	x.sweep("HostConfig.", reflect.ValueOf(*in.HostConfig))
	var top map[string]json.RawMessage
	if raw == nil || json.Unmarshal(raw, &top) != nil {
		return
	}
	x.unknown("Config.", top["Config"], reflect.TypeFor[container.Config]())
	x.unknown("HostConfig.", top["HostConfig"], reflect.TypeFor[container.HostConfig]())
}

func (x *extras) sweep(prefix string, v reflect.Value) {
	for _, f := range fields(v.Type()) {
		name := prefix + jsonName(f)
		if value := v.FieldByIndex(f.Index); !empty(value) && !slices.Contains(mapped, name) && ignored[name] == "" {
			x.add(name, value.Interface())
		}
	}
}

func (x *extras) unknown(prefix string, raw json.RawMessage, t reflect.Type) {
	var got map[string]any
	if json.Unmarshal(raw, &got) != nil {
		return
	}
	for _, f := range fields(t) {
		for k := range got {
			if strings.EqualFold(k, jsonName(f)) {
				delete(got, k)
			}
		}
	}
	for k, v := range got {
		if !empty(reflect.ValueOf(v)) {
			x.add(prefix+k, v)
		}
	}
}

// fields returns a structure's fields with those of embedded structures.
func fields(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		return f.Anonymous && f.Type.Kind() == reflect.Struct
	})
}

func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}

// empty says whether a value says nothing: zero, or a list or map without
// members.
func empty(v reflect.Value) bool {
	if !v.IsValid() || v.IsZero() {
		return true
	}
	return (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

// settings adds mapped fields whose value is not the one the contract has
// silently in mind.
func settings(in container.InspectResponse, x *extras) {
	cfg, host := in.Config, in.HostConfig
	unless := func(ok bool, what string, value any) {
		if !ok {
			x.add(what, value)
		}
	}
	unless(reflect.DeepEqual(append(slices.Clone([]string(cfg.Entrypoint)), cfg.Cmd...), append([]string{in.Path}, in.Args...)),
		"Config.Cmd", append(slices.Clone([]string(cfg.Entrypoint)), cfg.Cmd...))
	unless(len(cfg.Entrypoint) == 1, "Config.Entrypoint", cfg.Entrypoint)
	unless(cfg.Image == in.Image, "Config.Image", cfg.Image)
	unless(cfg.Healthcheck != nil && slices.Equal(cfg.Healthcheck.Test, []string{noHealth}), "Config.Healthcheck", cfg.Healthcheck)
	unless(cfg.NetworkDisabled, "Config.NetworkDisabled", cfg.NetworkDisabled)
	unless(cfg.StopSignal == stopSignal, "Config.StopSignal", cfg.StopSignal)
	unless(in.AppArmorProfile == "" || in.AppArmorProfile == "docker-default", "AppArmorProfile", in.AppArmorProfile)
	unless(slices.Equal(host.CapDrop, []string{allCaps}), "HostConfig.CapDrop", host.CapDrop)
	unless(len(host.LogConfig.Config) == 0, "HostConfig.LogConfig", host.LogConfig)
	unless(host.RestartPolicy == container.RestartPolicy{Name: noRestart}, "HostConfig.RestartPolicy", host.RestartPolicy)
	unless(host.ShmSize == 0 || host.ShmSize == unusedShm, "HostConfig.ShmSize", host.ShmSize)
	unless(host.Runtime == ociRuntime, "HostConfig.Runtime", host.Runtime)
	unless(host.Isolation.IsDefault(), "HostConfig.Isolation", host.Isolation)
	unless(host.Init != nil && !*host.Init, "HostConfig.Init", host.Init)
	unless(host.MemorySwappiness == nil || *host.MemorySwappiness == -1, "HostConfig.MemorySwappiness", host.MemorySwappiness)
	networks(in.NetworkSettings, x)
}

// networks wants no network but none, and nothing published or named on it.
func networks(n *container.NetworkSettings, x *extras) {
	if n == nil {
		return
	}
	for name, e := range n.Networks {
		if name != network.NetworkNone {
			x.add("NetworkSettings.Networks", name)
		}
		if e != nil && (len(e.Links) > 0 || len(e.Aliases) > 0 || len(e.DriverOpts) > 0 || e.IPAMConfig != nil || e.MacAddress != "" || e.IPAddress != "" || e.GlobalIPv6Address != "") {
			x.add("NetworkSettings.Networks."+name, e)
		}
	}
	if len(n.Ports) > 0 {
		x.add("NetworkSettings.Ports", n.Ports)
	}
}

package conformance

import (
	"os"
	"path/filepath"
	"slices"

	"cyberagent/domain/isolation"
)

// list returns the objects of a JSON array.
func list(v any) []Object {
	items, _ := v.([]any)
	var all []Object
	for _, i := range items {
		if o, ok := i.(map[string]any); ok {
			all = append(all, o)
		}
	}
	return all
}

// without removes the objects whose key has the value.
func without(v any, key, value string) []any {
	items, _ := v.([]any)
	return slices.DeleteFunc(slices.Clone(items), func(i any) bool {
		o, _ := i.(map[string]any)
		return o[key] == value
	})
}

// appended adds to a JSON array, which may be absent.
func appended(v any, more ...any) []any {
	items, _ := v.([]any)
	return append(slices.Clone(items), more...)
}

// replaced replaces one string in a JSON array by others.
func replaced(v any, old string, with ...string) []any {
	items, _ := v.([]any)
	out := []any{}
	for _, i := range items {
		if i != old {
			out = append(out, i)
			continue
		}
		for _, w := range with {
			out = append(out, w)
		}
	}
	return out
}

// dockerMount and ociMount change one mount, by its target.
func dockerMount(target string, change func(*job, Object)) func(*job, Object) {
	return func(j *job, o Object) {
		for _, m := range list(o.In("HostConfig")["Mounts"]) {
			if m["Target"] == target {
				change(j, m)
			}
		}
	}
}

func ociMount(target string, change func(*job, Object)) func(*job, Object) {
	return func(j *job, o Object) {
		for _, m := range list(o["mounts"]) {
			if m["destination"] == target {
				change(j, m)
			}
		}
	}
}

// another makes a file or directory like the one that is mounted.
func (j *job) another(name string, dir bool) string {
	path := filepath.Join(j.c.tempDir(), name)
	if dir {
		j.c.must(os.Mkdir(path, 0o777))
		j.c.must(os.WriteFile(filepath.Join(path, ".git"), nil, 0o600))
	} else {
		j.c.must(os.WriteFile(path, []byte(isolation.MaskContent), isolation.MaskMode))
	}
	j.c.must(os.Chown(path, 65532, 65532))
	return path
}

func bind(source, target string) (docker, oci map[string]any) {
	return map[string]any{
			"Type": "bind", "Source": source, "Target": target, "ReadOnly": true,
			"BindOptions": map[string]any{"Propagation": "rprivate", "NonRecursive": true},
		}, map[string]any{
			"type": "bind", "source": source, "destination": target, "options": []any{"bind", "rprivate", "ro"},
		}
}

func mountSabotages() []Sabotage {
	extra := func(source, target string) (func(*job, Object), func(*job, Object)) {
		d, o := bind(source, target)
		return func(_ *job, b Object) { b.In("HostConfig")["Mounts"] = appended(b.In("HostConfig")["Mounts"], d) },
			func(_ *job, b Object) { b["mounts"] = appended(b["mounts"], o) }
	}
	dockerData, ociData := extra("/usr", "/data")
	dockerBelow, ociBelow := extra("/usr", "/workspace/below")
	return []Sabotage{
		{
			Name: "the mask omitted", Breaks: "mounts: the mask", ReadBack: "mounts", Facts: []string{"mask"},
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["Mounts"] = without(o.In("HostConfig")["Mounts"], "Target", isolation.GitTarget)
			},
			OCI: func(_ *job, o Object) { o["mounts"] = without(o["mounts"], "destination", isolation.GitTarget) },
		},
		{
			Name: "the mask writable", Breaks: "mounts: the mask", ReadBack: "mounts", Facts: []string{"mask"},
			Docker: dockerMount(isolation.GitTarget, func(_ *job, m Object) { m["ReadOnly"] = false }),
			OCI:    ociMount(isolation.GitTarget, func(_ *job, m Object) { m["options"] = replaced(m["options"], "ro", "rw") }),
		},
		{
			Name: "another file of the same content as the mask", Breaks: "mounts: the mask", ReadBack: "mounts", Facts: []string{"mask"},
			Docker: dockerMount(isolation.GitTarget, func(j *job, m Object) { m["Source"] = j.another("mask", false) }),
			OCI:    ociMount(isolation.GitTarget, func(j *job, m Object) { m["source"] = j.another("mask", false) }),
		},
		{
			Name: "the mask replaced by a link after create", Breaks: "mounts: the mask", Facts: []string{"mask", "mask.sha256"},
			Host: func(j *job) {
				// Made first: a removed file's inode number may be given to the next one.
				other := j.another("mask", false)
				j.c.must(os.Remove(j.mask))
				j.c.must(os.Symlink(other, j.mask))
			},
		},
		{
			Name: "the mask's content changed after create", Breaks: "mounts: the mask", Facts: []string{"mask.sha256"},
			Host: func(j *job) {
				j.c.must(os.Chmod(j.mask, 0o644))
				j.c.must(os.WriteFile(j.mask, []byte("gitdir: /elsewhere\n"), 0o644))
			},
		},
		{
			Name: "another directory as the workspace", Breaks: "mounts: the Drydock", ReadBack: "mounts", Facts: []string{"workspace"},
			Docker: dockerMount(isolation.Workspace, func(j *job, m Object) { m["Source"] = j.another("drydock", true) }),
			OCI:    ociMount(isolation.Workspace, func(j *job, m Object) { m["source"] = j.another("drydock", true) }),
		},
		{
			Name: "the Drydock replaced after create", Breaks: "mounts: the Drydock", Facts: []string{"workspace"},
			Host: func(j *job) {
				j.c.must(os.Rename(j.root, j.root+".old"))
				j.c.must(os.Rename(j.another("drydock", true), j.root))
			},
		},
		{
			Name: "the workspace read-only", Breaks: "mounts: the Drydock", ReadBack: "mounts", Facts: []string{"workspace"},
			Docker: dockerMount(isolation.Workspace, func(_ *job, m Object) { m["ReadOnly"] = true }),
			OCI:    ociMount(isolation.Workspace, func(_ *job, m Object) { m["options"] = replaced(m["options"], "rw", "ro") }),
		},
		{
			Name: "the workspace not private", Breaks: "mounts: private", ReadBack: "mounts",
			Unmeasured: "no fact is about propagation; the check that no mount propagates looks at it",
			Docker:     dockerMount(isolation.Workspace, func(_ *job, m Object) { m.In("BindOptions")["Propagation"] = "rslave" }),
			OCI: ociMount(isolation.Workspace, func(_ *job, m Object) {
				m["options"] = replaced(replaced(m["options"], "rprivate", "rslave"), "private", "rslave")
			}),
		},
		{
			Name: "an extra bind", Breaks: "mounts: exactly two", ReadBack: "mounts", Facts: []string{"mounts.unknown"},
			Docker: dockerData, OCI: ociData,
		},
		{
			Name: "an extra bind below the workspace", Breaks: "mounts: exactly two", ReadBack: "mounts", Facts: []string{"mounts.unknown"},
			Docker: dockerBelow, OCI: ociBelow,
		},
		{
			Name: "an anonymous volume", Breaks: "mounts: no volumes", ReadBack: "extra", Facts: []string{"mounts.unknown"},
			Docker: func(_ *job, o Object) { o["Volumes"] = Object{"/leak": Object{}} },
			NoOCI:  "the runtime has no volumes; the engine makes none",
		},
		{
			Name: "the root writable", Breaks: "root filesystem", ReadBack: "read_only_root", Facts: []string{"root"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["ReadonlyRootfs"] = false },
			OCI:    func(_ *job, o Object) { o.In("root")["readonly"] = false },
		},
		{
			Name: "no masked paths", Breaks: "masked paths", ReadBack: "masked_paths", Facts: []string{"paths.masked"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["MaskedPaths"] = []any{} },
			OCI:    func(_ *job, o Object) { o.In("linux")["maskedPaths"] = []any{} },
		},
		{
			Name: "no read-only paths", Breaks: "read-only paths", ReadBack: "readonly_paths", Facts: []string{"paths.readonly"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["ReadonlyPaths"] = []any{} },
			OCI:    func(_ *job, o Object) { o.In("linux")["readonlyPaths"] = []any{} },
		},
		{
			Name: "the cgroup writable", Breaks: "cgroup read-only", ReadBack: "extra", Facts: []string{"cgroup.readonly"},
			NoDocker: "an engine of containers has no such option but privileged, which is a sabotage of its own",
			OCI:      ociMount("/sys/fs/cgroup", func(_ *job, m Object) { m["options"] = replaced(m["options"], "ro", "rw") }),
		},
	}
}

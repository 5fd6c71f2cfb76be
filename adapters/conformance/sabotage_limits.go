package conformance

import "strings"

// otherLimit changes one process limit to what the contract asks for none of.
func otherLimit(name string) Sabotage {
	const value = 2000 // an engine may lower its own limits, and not raise every one
	return Sabotage{
		Name: "another limit of " + name, Breaks: "resources: " + name, ReadBack: "rlimits", Facts: []string{"rlimit." + name},
		Docker: func(_ *job, o Object) {
			ulimits := without(o.In("HostConfig")["Ulimits"], "Name", name)
			o.In("HostConfig")["Ulimits"] = append(ulimits, map[string]any{"Name": name, "Soft": value, "Hard": value})
		},
		OCI: func(_ *job, o Object) {
			kind := "RLIMIT_" + strings.ToUpper(name)
			limits := without(o.In("process")["rlimits"], "type", kind)
			o.In("process")["rlimits"] = append(limits, map[string]any{"type": kind, "soft": value, "hard": value})
		},
	}
}

func limitSabotages() []Sabotage {
	ociLimit := func(group, key string, value any) func(*job, Object) {
		return func(_ *job, o Object) {
			g := o.In("linux", "resources", group)
			if value == nil {
				delete(g, key)
				return
			}
			g[key] = value
		}
	}
	return []Sabotage{
		{
			Name: "memory unlimited", Breaks: "resources: memory", ReadBack: "memory_bytes", Facts: []string{"cgroup.memory_bytes"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["Memory"], o.In("HostConfig")["MemorySwap"] = 0, 0 },
			OCI:    func(_ *job, o Object) { delete(o.In("linux", "resources"), "memory") },
		},
		{
			Name: "more memory than agreed", Breaks: "resources: memory", ReadBack: "memory_bytes", Facts: []string{"cgroup.memory_bytes"},
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["Memory"], o.In("HostConfig")["MemorySwap"] = 3<<30, 3<<30
			},
			OCI: func(_ *job, o Object) {
				m := o.In("linux", "resources", "memory")
				m["limit"], m["swap"] = 3<<30, 3<<30
			},
		},
		{
			Name: "swap beyond the memory", Breaks: "resources: swap", ReadBack: "memory_swap_bytes", Facts: []string{"cgroup.memory_swap_bytes"},
			Docker: host("MemorySwap", 4<<30), OCI: ociLimit("memory", "swap", 4<<30),
		},
		{
			Name: "the OOM killer off", Breaks: "resources: OOM kill on", ReadBack: "oom_kill",
			Unmeasured: "the kernel's switch is in cgroup v1 only and bounds nothing",
			Docker:     host("OomKillDisable", true), OCI: ociLimit("memory", "disableOOMKiller", true),
		},
		{
			Name: "processes unlimited", Breaks: "resources: pids", ReadBack: "pids", Facts: []string{"cgroup.pids"},
			Docker: host("PidsLimit", -1), OCI: func(_ *job, o Object) { delete(o.In("linux", "resources"), "pids") },
		},
		{
			Name: "processors unlimited", Breaks: "resources: CPUs", ReadBack: "nano_cpus", Facts: []string{"cgroup.milli_cpus"},
			Docker: host("NanoCpus", 0), OCI: func(_ *job, o Object) { delete(o.In("linux", "resources"), "cpu") },
		},
		otherLimit("core"), otherLimit("fsize"), otherLimit("msgqueue"), otherLimit("nofile"),
		{
			Name: "another resource of the engine's", Breaks: "resources: nothing else", ReadBack: "extra",
			Unmeasured: "shares and weights bound nothing",
			Docker:     host("CpuShares", 2048), OCI: ociLimit("cpu", "shares", 2048),
		},
	}
}

// tmpfs changes one option of a tmpfs; with "" it is removed.
func tmpfs(target, name, old, with string, facts ...string) Sabotage {
	return Sabotage{
		Name: name, Breaks: "tmpfs", ReadBack: "tmpfs", Facts: append(facts, "tmpfs."+target),
		Docker: func(_ *job, o Object) {
			t := o.In("HostConfig", "Tmpfs")
			text, _ := t[target].(string)
			words := strings.Split(text, ",")
			for i, w := range words {
				if w == old || strings.HasPrefix(w, old+"=") {
					words[i] = with
				}
			}
			t[target] = strings.Trim(strings.ReplaceAll(strings.Join(words, ","), ",,", ","), ",")
		},
		OCI: ociMount(target, func(_ *job, m Object) {
			items, _ := m["options"].([]any)
			out := []any{}
			for _, i := range items {
				w, _ := i.(string)
				if w == old || strings.HasPrefix(w, old+"=") {
					w = with
				}
				if w != "" {
					out = append(out, w)
				}
			}
			m["options"] = out
		}),
	}
}

func tmpfsSabotages() []Sabotage {
	const cache, shm = "/standard-code/cache", "/dev/shm"
	all := []Sabotage{
		tmpfs(cache, "the cache without a limit of inodes", "nr_inodes", ""),
		tmpfs(cache, "the cache larger", "size", "size=268435456"),
		tmpfs(cache, "the cache not executable", "exec", "noexec"),
		tmpfs(cache, "the cache with setuid", "nosuid", "suid"),
		tmpfs(cache, "the cache with devices", "nodev", "dev"),
		tmpfs(cache, "the cache of root", "uid", "uid=0"),
		tmpfs(cache, "the cache read-only", "rw", "ro"),
		tmpfs(shm, "shm executable", "noexec", "exec"),
		tmpfs(shm, "shm without a limit of inodes", "nr_inodes", ""),
		tmpfs(shm, "shm larger", "size", "size=268435456"),
	}
	drop := func(target string) Sabotage {
		return Sabotage{
			Name: "no tmpfs on " + target, Breaks: "tmpfs", ReadBack: "tmpfs", Facts: []string{"tmpfs." + target},
			Docker: func(_ *job, o Object) { delete(o.In("HostConfig", "Tmpfs"), target) },
			OCI:    func(_ *job, o Object) { o["mounts"] = without(o["mounts"], "destination", target) },
		}
	}
	return append(all, drop(cache), drop(shm), Sabotage{
		Name: "one tmpfs more", Breaks: "tmpfs", ReadBack: "tmpfs", Facts: []string{"mounts.unknown", "mounts.writable"},
		Docker: func(_ *job, o Object) { o.In("HostConfig", "Tmpfs")["/tmp"] = "rw,mode=1777" },
		OCI: func(_ *job, o Object) {
			o["mounts"] = appended(o["mounts"], map[string]any{"type": "tmpfs", "source": "tmpfs", "destination": "/tmp", "options": []any{"rw", "mode=1777"}})
		},
	})
}

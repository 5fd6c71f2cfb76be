package conformance

// sharing leaves one namespace to the host.
func sharing(kind string) func(*job, Object) {
	return func(_ *job, o Object) {
		o.In("linux")["namespaces"] = without(o.In("linux")["namespaces"], "type", kind)
	}
}

func host(key string, value any) func(*job, Object) {
	return func(_ *job, o Object) { o.In("HostConfig")[key] = value }
}

func namespaceSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "the host's network", Breaks: "network", ReadBack: "network_mode", Facts: []string{"network.interfaces", "network.routes", "network.ipv6", "namespace.net"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["NetworkMode"], o["NetworkDisabled"] = "host", false },
			OCI:    sharing("network"),
		},
		{
			Name: "a network sandbox of the engine's", Breaks: "network", ReadBack: "extra", Unmeasured: "it holds lo alone, too",
			Docker: func(_ *job, o Object) { o["NetworkDisabled"] = false }, NoOCI: "the engine makes none",
		},
		{
			Name: "the host's processes", Breaks: "namespaces", ReadBack: "pid_mode", Facts: []string{"process.pid", "namespace.pid"},
			Docker: host("PidMode", "host"), OCI: sharing("pid"),
		},
		{
			Name: "the host's IPC", Breaks: "namespaces", ReadBack: "ipc_mode", Facts: []string{"namespace.ipc", "tmpfs./dev/shm"},
			Docker: host("IpcMode", "host"), OCI: sharing("ipc"),
		},
		{
			Name: "the engine's own /dev/shm", Breaks: "tmpfs: shm", ReadBack: "ipc_mode", Facts: []string{"tmpfs./dev/shm", "mounts.unknown"},
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["IpcMode"] = "private"
				delete(o.In("HostConfig", "Tmpfs"), "/dev/shm")
			},
			NoOCI: "the runtime makes none by itself; an absent one is a sabotage of its own",
		},
		{
			Name: "the host's name", Breaks: "namespaces", ReadBack: "uts_mode", Facts: []string{"namespace.uts", "hostname"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["UTSMode"], o["Hostname"] = "host", "" },
			OCI: func(j *job, o Object) {
				sharing("uts")(j, o)
				delete(o, "hostname")
			},
		},
		{
			Name: "another name of the host", Breaks: "hostname", ReadBack: "hostname", Facts: []string{"hostname"},
			Docker: func(_ *job, o Object) { o["Hostname"] = "elsewhere" },
			OCI:    func(_ *job, o Object) { o["hostname"] = "elsewhere" },
		},
		{
			Name: "the host's cgroups", Breaks: "namespaces", ReadBack: "cgroup_mode", Facts: []string{"namespace.cgroup", "cgroup.readonly", "cgroup.pids"},
			Docker: host("CgroupnsMode", "host"), OCI: sharing("cgroup"),
		},
		{
			Name: "the host's users", Breaks: "namespaces", ReadBack: "extra",
			Unmeasured: "it is the host's in any case: remapped engines are refused by readiness",
			Docker:     host("UsernsMode", "host"),
			OCI: func(_ *job, o Object) {
				o.In("linux")["uidMappings"] = []any{Object{"containerID": 0, "hostID": 0, "size": 100000}}
			},
		},
	}
}

package conformance

import (
	"cyberagent/domain/isolation"
	"cyberagent/domain/toolchain"
)

// why the runner measures none of what only the engine's records say.
const recordsOnly = "it is the engine's record, of which a container sees nothing"

func identitySabotages() []Sabotage {
	label := func(change func(j *job, labels Object)) (func(*job, Object), func(*job, Object)) {
		return func(j *job, o Object) { change(j, o.In("Labels")) }, func(j *job, o Object) { change(j, o.In("record", "labels")) }
	}
	missing, missingOCI := label(func(_ *job, l Object) { delete(l, isolation.LabelInstallation) })
	other, otherOCI := label(func(_ *job, l Object) { l[isolation.LabelAdmission] = "adm_" + noDigest[:26] })
	more, moreOCI := label(func(_ *job, l Object) { l["theirs"] = "yes" })
	return []Sabotage{
		{Name: "a label missing", Breaks: "labels", ReadBack: "labels", Unmeasured: recordsOnly, Docker: missing, OCI: missingOCI},
		{Name: "another admission's label", Breaks: "labels", ReadBack: "labels", Unmeasured: recordsOnly, Docker: other, OCI: otherOCI},
		{Name: "one label more", Breaks: "labels", ReadBack: "labels", Unmeasured: recordsOnly, Docker: more, OCI: moreOCI},
		{
			Name: "another name", Breaks: "name", ReadBack: "name", Unmeasured: recordsOnly,
			Docker: func(j *job, o Object) { o["name"] = j.spec.Name() + "-copy" },
			NoOCI:  "the engine has no name beside the id, which its answers are asked for by",
		},
		{
			Name: "another image", Breaks: "image", ReadBack: "image_id",
			Unmeasured: "an image is no more than its files; one without the runner reports nothing",
			Docker: func(j *job, o Object) {
				f, err := j.c.keeper.InspectImage(j.c.ctx, j.c.load(nil).Digest)
				j.c.must(err)
				o["Image"] = f.ID
			},
			OCI: func(j *job, o Object) { o.In("record")["image"] = j.c.load(nil).Tag },
		},
		{
			Name: "another program instead of the runner", Breaks: "entrypoint", ReadBack: "entrypoint", Facts: []string{noReport},
			Docker: func(_ *job, o Object) { o["Entrypoint"] = []any{toolchain.Bin + "/go"} },
			OCI: func(_ *job, o Object) {
				args, _ := o.In("process")["args"].([]any)
				o.In("process")["args"] = append([]any{toolchain.Bin + "/go"}, args[1:]...)
			},
		},
		{
			Name: "other arguments for the runner", Breaks: "entrypoint", ReadBack: "args", Facts: []string{noReport},
			Docker: func(_ *job, o Object) { o["Cmd"] = []any{"standard-code-docker-runner.v1", "{}"} },
			OCI: func(_ *job, o Object) {
				o.In("process")["args"] = []any{isolation.RunnerPath, "standard-code-docker-runner.v1", "{}"}
			},
		},
		{
			Name: "another working directory", Breaks: "working directory", ReadBack: "working_dir",
			Unmeasured: "the runner enters the Command's directory by itself and looks at no other",
			Docker:     func(_ *job, o Object) { o["WorkingDir"] = "/" },
			OCI:        func(_ *job, o Object) { o.In("process")["cwd"] = "/" },
		},
	}
}

func otherSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "stdin left open", Breaks: "stdin", ReadBack: "stdin",
			Unmeasured: "the runner gives the command what its binding says, not what it finds",
			Docker: func(_ *job, o Object) {
				o["OpenStdin"], o["StdinOnce"], o["AttachStdin"] = true, true, true
			},
			NoOCI: "stdin is the task's, not the specification's; the checks of stdin look at it",
		},
		{
			Name: "a stdin that has no end", Breaks: "stdin", ReadBack: "extra",
			Unmeasured: "as above",
			Docker:     func(_ *job, o Object) { o["OpenStdin"] = true },
			NoOCI:      "as above",
		},
		{
			Name: "a terminal", Breaks: "tty", ReadBack: "tty", Facts: []string{"stdin.tty", noReport, noStart},
			Docker: func(_ *job, o Object) { o["Tty"] = true },
			OCI:    func(_ *job, o Object) { o.In("process")["terminal"] = true },
		},
		{
			Name: "logs kept", Breaks: "log storage", ReadBack: "log_driver", Unmeasured: recordsOnly,
			Docker: func(_ *job, o Object) { o.In("HostConfig", "LogConfig")["Type"] = "json-file" },
			NoOCI:  "the engine keeps no logs",
		},
		{
			Name: "a device", Breaks: "devices", ReadBack: "extra",
			Unmeasured: "no fact lists /dev; the check of what can be written does",
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["Devices"] = []any{Object{"PathOnHost": "/dev/null", "PathInContainer": "/dev/more", "CgroupPermissions": "rwm"}}
			},
			OCI: func(_ *job, o Object) {
				o.In("linux")["devices"] = appended(o.In("linux")["devices"], Object{"path": "/dev/more", "type": "c", "major": 1, "minor": 3})
			},
		},
		{
			Name: "a kernel parameter", Breaks: "only the contract's options", ReadBack: "extra", Unmeasured: "it reaches the container's own namespaces only",
			Docker: host("Sysctls", Object{"net.ipv4.ip_forward": "1"}),
			OCI:    func(_ *job, o Object) { o.In("linux")["sysctl"] = Object{"net.ipv4.ip_forward": "1"} },
		},
		{
			Name: "a restart policy", Breaks: "restart", ReadBack: "extra", Unmeasured: recordsOnly,
			Docker: host("RestartPolicy", Object{"Name": "always"}), NoOCI: "the engine restarts nothing without a label, and one more label is a sabotage of its own",
		},
		{
			Name: "removed by itself", Breaks: "auto-remove", ReadBack: "extra", Unmeasured: recordsOnly,
			Docker: host("AutoRemove", true), NoOCI: "the engine has no such option",
		},
		{
			Name: "the engine's init", Breaks: "the runner is the init", ReadBack: "extra",
			Unmeasured: "without the engine's helper the start fails; with it process.pid differs",
			Docker:     host("Init", true), NoOCI: "the engine has no such option",
		},
		{
			Name: "a published port", Breaks: "ports", ReadBack: "extra", Unmeasured: "without a network there is nothing to reach",
			Docker: func(_ *job, o Object) {
				o["ExposedPorts"] = Object{"80/tcp": Object{}}
				o.In("HostConfig")["PortBindings"] = Object{"80/tcp": []any{Object{"HostPort": "18080"}}}
			},
			NoOCI: "the engine publishes nothing",
		},
		{
			Name: "a name server and a host's name", Breaks: "DNS, extra hosts", ReadBack: "extra", Unmeasured: "without a network nobody answers; the check of /etc/hosts reads it",
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["Dns"], o.In("HostConfig")["ExtraHosts"] = []any{"192.0.2.1"}, []any{"elsewhere:192.0.2.1"}
			},
			NoOCI: "the engine writes neither file",
		},
		{
			Name: "another OCI runtime", Breaks: "OCI runtime named", ReadBack: "extra", Unmeasured: recordsOnly,
			Docker: host("Runtime", "io.containerd.runc.v2"), NoOCI: "the runtime is the record's, and configured by the operator",
		},
		{
			Name: "a health check", Breaks: "image: Healthcheck", ReadBack: "extra", Unmeasured: recordsOnly,
			Docker: func(_ *job, o Object) { o["Healthcheck"] = Object{"Test": []any{"CMD", "/bin/true"}} },
			NoOCI:  "the engine runs none",
		},
		{
			Name: "another stop signal", Breaks: "stop", ReadBack: "extra", Unmeasured: recordsOnly,
			Docker: func(_ *job, o Object) { o["StopSignal"] = "SIGKILL" }, NoOCI: "the adapter sends the signal itself",
		},
		{
			Name: "a hook of the runtime", Breaks: "only the contract's options", ReadBack: "extra", Unmeasured: "it runs on the host, before the container's first process",
			NoDocker: "the engine has no such option",
			OCI:      func(_ *job, o Object) { o["hooks"] = Object{"createRuntime": []any{Object{"path": "/bin/true"}}} },
		},
		{
			Name: "a warning at create", Breaks: "read-back: no warnings", ReadBack: "warnings", Warn: "your kernel does not support it",
			Unmeasured: recordsOnly, NoOCI: "the engine warns of nothing",
		},
	}
}

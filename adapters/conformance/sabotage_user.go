package conformance

import (
	"encoding/json"
	"strings"
)

// security keeps or drops Docker's security options.
func security(keep func(string) (string, bool)) func(*job, Object) {
	return func(_ *job, o Object) {
		var out []any
		items, _ := o.In("HostConfig")["SecurityOpt"].([]any)
		for _, i := range items {
			text, _ := i.(string)
			if text, ok := keep(text); ok {
				out = append(out, text)
			}
		}
		o.In("HostConfig")["SecurityOpt"] = out
	}
}

func keepAll(s string) (string, bool) { return s, true }

// allowKeyctl adds one call to the allowed ones.
func allowKeyctl(profile Object) {
	profile["syscalls"] = append([]any{Object{"names": []any{"keyctl"}, "action": "SCMP_ACT_ALLOW"}}, appended(profile["syscalls"])...)
}

func userSabotages() []Sabotage {
	seccomp := []string{"seccomp.mode", "seccomp.keyctl", "seccomp.io_uring_setup", "seccomp.socket(AF_VSOCK)", "seccomp.socket(AF_ALG)", "seccomp.prlimit64(pid 2)"}
	caps := []string{"capabilities.bounding", "capabilities.permitted", "capabilities.effective", "capabilities.inheritable", "capabilities.ambient"}
	set := func(sets ...string) func(*job, Object) {
		return func(_ *job, o Object) {
			for _, s := range sets {
				o.In("process", "capabilities")[s] = []any{"CAP_NET_RAW"}
			}
		}
	}
	return []Sabotage{
		{
			Name: "the user root", Breaks: "user", ReadBack: "user", Facts: []string{"user.uids"},
			Docker: func(_ *job, o Object) { o["User"] = "0:0" },
			OCI:    func(_ *job, o Object) { o.In("process", "user")["uid"], o.In("process", "user")["gid"] = 0, 0 },
		},
		{
			Name: "the group root", Breaks: "user", ReadBack: "user", Facts: []string{"user.gids"},
			Docker: func(_ *job, o Object) { o["User"] = "65532:0" },
			OCI:    func(_ *job, o Object) { o.In("process", "user")["gid"] = 0 },
		},
		{
			Name: "a supplementary group", Breaks: "user", ReadBack: "groups", Facts: []string{"user.groups"},
			Docker: func(_ *job, o Object) { o.In("HostConfig")["GroupAdd"] = []any{"999"} },
			OCI:    func(_ *job, o Object) { o.In("process", "user")["additionalGids"] = []any{999} },
		},
		{
			Name: "one capability kept", Breaks: "capabilities", ReadBack: "capabilities", Facts: caps,
			Docker: func(_ *job, o Object) { o.In("HostConfig")["CapAdd"] = []any{"NET_RAW"} },
			OCI:    set("bounding"),
		},
		{
			Name: "the engine's default capabilities", Breaks: "capabilities", ReadBack: "capabilities", Facts: caps,
			Docker: func(_ *job, o Object) { o.In("HostConfig")["CapDrop"] = []any{} },
			OCI:    set("bounding", "permitted", "effective"),
		},
		{
			Name: "an ambient capability", Breaks: "capabilities", ReadBack: "capabilities", Facts: caps,
			NoDocker: "the engine gives no ambient capabilities",
			OCI:      set("bounding", "permitted", "effective", "inheritable", "ambient"),
		},
		{
			Name: "privileged", Breaks: "not privileged", ReadBack: "privileged", Facts: append([]string{"paths.masked", "cgroup.readonly"}, caps...),
			Docker: func(_ *job, o Object) { o.In("HostConfig")["Privileged"] = true },
			NoOCI:  "the runtime has no such word; what it stands for are sabotages of their own",
		},
		{
			Name: "no-new-privileges off", Breaks: "no-new-privileges", ReadBack: "no_new_privileges", Facts: []string{"no_new_privileges"},
			Docker: security(func(s string) (string, bool) { return s, !strings.HasPrefix(s, "no-new-privileges") }),
			OCI:    func(_ *job, o Object) { o.In("process")["noNewPrivileges"] = false },
		},
		{
			Name: "seccomp off", Breaks: "seccomp", ReadBack: "seccomp_sha256", Facts: seccomp,
			Docker: security(func(s string) (string, bool) {
				if strings.HasPrefix(s, "seccomp=") {
					return "seccomp=unconfined", true
				}
				return keepAll(s)
			}),
			OCI: func(_ *job, o Object) { delete(o.In("linux"), "seccomp") },
		},
		{
			Name: "the engine's own seccomp profile", Breaks: "seccomp", ReadBack: "seccomp_sha256", Facts: seccomp,
			Docker: security(func(s string) (string, bool) { return s, !strings.HasPrefix(s, "seccomp=") }),
			OCI: func(_ *job, o Object) {
				o.In("linux")["seccomp"] = Object{
					"defaultAction": "SCMP_ACT_ALLOW", "architectures": o.In("linux", "seccomp")["architectures"],
					"syscalls": []any{Object{"names": []any{"mount"}, "action": "SCMP_ACT_ERRNO"}},
				}
			},
		},
		{
			Name: "one denied call allowed", Breaks: "seccomp", ReadBack: "seccomp_sha256", Facts: []string{"seccomp.keyctl"},
			Docker: security(func(s string) (string, bool) {
				text, ok := strings.CutPrefix(s, "seccomp=")
				if !ok {
					return s, true
				}
				var profile Object
				if json.Unmarshal([]byte(text), &profile) != nil {
					return s, true
				}
				allowKeyctl(profile)
				b, _ := json.Marshal(profile)
				return "seccomp=" + string(b), true
			}),
			OCI: func(_ *job, o Object) { allowKeyctl(o.In("linux", "seccomp")) },
		},
		{
			Name: "another security option", Breaks: "only the contract's options", ReadBack: "extra",
			Unmeasured: "systempaths and labels show in the facts only where they differ from the contract",
			Docker: func(_ *job, o Object) {
				o.In("HostConfig")["SecurityOpt"] = appended(o.In("HostConfig")["SecurityOpt"], "label=disable")
			},
			OCI: func(_ *job, o Object) { o.In("process")["oomScoreAdj"] = -500 },
		},
		{
			Name: "a variable", Breaks: "environment", ReadBack: "env", Facts: []string{"environment"},
			Docker: func(_ *job, o Object) { o["Env"] = appended(o["Env"], "TOKEN=secret") },
			OCI:    func(_ *job, o Object) { o.In("process")["env"] = appended(o.In("process")["env"], "TOKEN=secret") },
		},
	}
}

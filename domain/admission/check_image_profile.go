package admission

import (
	"fmt"
	"slices"
	"strings"

	"cyberagent/domain/deps"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/phrase"
)

// imageProfile refuses an image whose configuration could add anything to the
// contract (pitfall A8: VOLUME is writable, ENV is inherited, HEALTHCHECK and
// ONBUILD execute, ENTRYPOINT prefixes).
//
// Fields: Image.OS, Arch, Entrypoint, Cmd, Env, Volumes, Ports, OnBuild, Healthcheck,
// Labels. Allowed: linux, the engine's, exactly the runner, and nothing else.
var imageProfile = Check{ID: "image_profile", Evaluate: func(e Evidence) []Verdict {
	f := present(e)
	if f == nil {
		return nil
	}
	if bad := unsafe(*f, e.Engine.Architecture); len(bad) > 0 {
		return []Verdict{refuse(fault.ImageUnsafe, "backend_not_ready", RebuildImage,
			"the image is not the product's: "+strings.Join(bad, "; "))}
	}
	return nil
}}

func unsafe(f ImageFacts, arch string) []string {
	var bad []string
	add := func(wrong bool, format string, a ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, a...))
		}
	}
	add(f.OS != "linux", "os %q", f.OS)
	add(f.Arch != arch, "architecture %q, the engine has %q", f.Arch, arch)
	add(!slices.Equal(f.Entrypoint, []string{isolation.RunnerPath}), "entrypoint %q", f.Entrypoint)
	add(len(f.Cmd) > 0, "a default command")
	add(len(f.Env) > 0, "%s", phrase.Count(len(f.Env), "environment variable"))
	add(len(f.Volumes) > 0, "%s", phrase.Count(len(f.Volumes), "volume"))
	add(len(f.Ports) > 0, "%s", phrase.Count(len(f.Ports), "exposed port"))
	add(len(f.OnBuild) > 0, "%s", phrase.Count(len(f.OnBuild), "build trigger"))
	add(f.Healthcheck, "a health check")
	for name := range f.Labels {
		add(!isolation.ImageLabel(name), "label %q", name)
	}
	if text, ok := f.Labels[isolation.LabelProject]; ok {
		_, err := deps.DecodeRecord(text)
		add(err != nil, "a record of what it holds that cannot be read")
	}
	slices.Sort(bad)
	return bad
}

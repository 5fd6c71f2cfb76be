package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// A socket where nobody listens is corrected where it was given, not where most
// people give it.
func TestWhence_AnEngineThatIsNotThereIsToldWithWhoSaidWhere(t *testing.T) {
	t.Parallel()
	y := mustYard(t)
	y.create()
	nothing := filepath.Join(t.TempDir(), "nothing.sock")
	newest := y.log(y.run)[0]["checkpoint_id"].(string)
	gates := []string{"--enable-permission-control", "--enable-workspace-sandbox", "--enable-docker-execution"}
	at := append([]string{y.run, "--generation", "1", "--checkpoint", newest, "--toolchain", "go", "--arg", "test", "--purpose", "p"}, gates...)
	for engine, variable := range map[string]string{"docker": "CYBERAGENT_DOCKER_SOCKET", "containerd": "CYBERAGENT_CONTAINERD_ADDRESS"} {
		want := " is " + nothing + ", from " + variable + " in the environment"
		for name, args := range map[string][]string{
			"doctor":       {"doctor"},
			"engine list":  {"engine", "list"},
			"engine check": {"engine", "check"},
			"readiness":    append([]string{"run", "standard-code", "readiness"}, at...),
			"prepare":      append(append([]string{"run", "standard-code", "prepare"}, at...), "--operation-key", "k"),
			"inspect":      {"fixture", "inspect"},
			"build":        {"fixture", "build"},
			"repair":       append([]string{"drydock", "repair", y.run}, gates...),
		} {
			var o, e bytes.Buffer
			invoke(t.Context(), append([]string{"cyberagent", "--home", y.home, "--engine", engine, "--output", "json"}, args...), process{
				out: &o, err: &e, lookup: func(k string) (string, bool) { return nothing, k == variable },
			})
			if !strings.Contains(o.String()+e.String(), want) {
				t.Errorf("%s on %s does not say%q:\n%s%s", name, engine, want, o.String(), e.String())
			}
		}
	}
}

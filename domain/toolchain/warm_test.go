package toolchain_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cyberagent/domain/command"
	"cyberagent/domain/toolchain"
)

// A build cache is only worth something when it was made with the very same
// environment: what decides about its entries stands in the script too.
func TestTheWarmCacheIsMadeWithTheCommandsOwnEnvironment(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../testdata/standard-code-docker/make-bases.sh")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?s)WARM_GO_ENV=\((.*?)\)`).FindSubmatch(script)
	if found == nil {
		t.Fatal("the script has no WARM_GO_ENV")
	}
	var want []string
	for _, v := range toolchain.Environment(command.Go, toolchain.Carried{}) {
		name, _, _ := strings.Cut(v, "=")
		if (strings.HasPrefix(name, "GO") && !slices.Contains([]string{"GOCACHE", "GOPATH", "GOTMPDIR"}, name)) || name == "CGO_ENABLED" {
			want = append(want, v)
		}
	}
	got := strings.Fields(string(found[1]))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the script warms with\n%q, the runner starts with\n%q", got, want)
	}
	if !strings.Contains(string(script), "cache="+toolchain.WarmGo+" ") {
		t.Errorf("the script does not fill %s", toolchain.WarmGo)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cyberagent/domain/command"
	"cyberagent/domain/toolchain"
)

// warmth is `go test` of one package that uses net/http, in milliseconds and bytes of
// the cache's tmpfs, and the time that linking the image's cache took in a shell.
type warmth struct {
	Cold, Warm           []int64
	ColdBytes, WarmBytes int64
	At                   time.Time
	Load                 float64
}

const httpTest = `package x

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func Test(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	r, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 404 {
		t.Error(r.Status)
	}
}
`

// warmed measures it in turns: the same container by `docker run`, with the image's
// build cache linked, and with an empty one that has more room.
func (l lab) warmed(ctx context.Context) error {
	const rounds = 3
	place := filepath.Join(l.cache, "results", "nethttp.json")
	image := l.images()["docker"]
	if _, ok := recall[warmth](place, image); image == "" || ok && !l.again {
		return nil
	}
	w := warmth{At: time.Now().UTC(), Load: load()}
	for range rounds {
		for _, cold := range []bool{true, false} {
			took, used, err := l.netHTTP(ctx, image, cold)
			if err != nil {
				return err
			}
			if cold {
				w.Cold, w.ColdBytes = append(w.Cold, took), max(w.ColdBytes, used)
			} else {
				w.Warm, w.WarmBytes = append(w.Warm, took), max(w.WarmBytes, used)
			}
		}
	}
	say("net/http: cold %v ms, warm %v ms", w.Cold, w.Warm)
	return remember(place, image, w)
}

func (l lab) netHTTP(ctx context.Context, image string, cold bool) (took, used int64, err error) {
	dir, err := os.MkdirTemp(l.cache, "nethttp-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, text := range map[string]string{"go.mod": "module x\n", "x_test.go": httpTest} {
		if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o755); err != nil { //nolint:gosec // for another uid
			return 0, 0, err
		}
		if err := os.WriteFile(filepath.Join(dir, "workspace", name), []byte(text), 0o644); err != nil { //nolint:gosec // as above
			return 0, 0, err
		}
	}
	prepare, lifted := setup(command.Go), ""
	if cold { // 128 MiB are not enough to compile what net/http needs
		lifted = "cache_full"
	}
	args, err := contract(ctx, dir, lifted)
	if err != nil {
		return 0, 0, err
	}
	if cold {
		prepare = "mkdir -p " + strings.Join(toolchain.Dirs(command.Go), " ") + "\n"
	}
	script := prepare + `a=$(date +%s%N); env -i "$@" >&2 || exit; b=$(date +%s%N)
echo $(((b - a) / 1000000)) $(df --output=used -B1 ` + toolchain.Cache + ` | tail -1)`
	args = slices.Concat(append(args, "--entrypoint=/bin/sh", image, "-c", script, "sh"),
		toolchain.Environment(command.Go, toolchain.Carried{}), []string{toolchain.Bin + "/go", "test", "-count=1", "."})
	out, err := exec.CommandContext(ctx, "docker", args...).Output()
	if err != nil {
		said := ""
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			said = last(string(exit.Stderr))
		}
		return 0, 0, fmt.Errorf("net/http: %w: %s", err, clip(said))
	}
	_, err = fmt.Sscan(string(out), &took, &used)
	return took, used, err
}

// text is what the document says of it.
func (w warmth) text() string {
	if len(w.Warm) == 0 {
		return "Not measured.\n"
	}
	slices.Sort(w.Cold)
	slices.Sort(w.Warm)
	cold, warm := w.Cold[len(w.Cold)/2], w.Warm[len(w.Warm)/2]
	return fmt.Sprintf("`go test` of one package that uses net/http, by `docker run` with the product's own flags, %d rounds in turns, %s at a load of %.1f:\n"+
		"%.1f s with an empty build cache, whose limit of 128 MiB is lifted for that (it then has %.0f MiB), %.2f s with the image's (%.1f MiB of the tmpfs). That is %.0f times as fast.\n",
		len(w.Warm), w.At.Format("2006-01-02 15:04 UTC"), w.Load, float64(cold)/1000, float64(w.ColdBytes)/(1<<20), float64(warm)/1000,
		float64(w.WarmBytes)/(1<<20), float64(cold)/float64(warm))
}

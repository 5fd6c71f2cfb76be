// Command corpus runs real projects through the product and writes what came out
// as a table. It is a measurement, not a test: `make corpus`.
//
//	corpus -cyberagent bin/cyberagent -cache DIR [-only REGEXP] [-engines docker,containerd] [-doc docs/corpus.md]
//
// For each project of the list: is it fetched, does its command pass on this host
// without a network, how does it end with the plain image, and how with an image of
// its own, on each engine, as it is and after one of its source files changed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// project is a line of the list.
type project struct {
	kind, name, version, toolchain string
	args                           []string
}

func (p project) slug() string {
	return p.kind + "-" + strings.NewReplacer("/", "-", ".", "-").Replace(p.name)
}

func readList(path string) ([]project, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []project
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 5 {
			return nil, fmt.Errorf("not a project: %q", line)
		}
		all = append(all, project{f[0], f[1], f[2], f[3], f[4:]})
	}
	return all, nil
}

// lab is what every project is run with.
type lab struct {
	binary, cache, fetch string
	engines              []string
}

func run(ctx context.Context) error {
	var l lab
	var list, only, doc, engines string
	flag.StringVar(&l.binary, "cyberagent", "bin/cyberagent", "the product")
	flag.StringVar(&l.cache, "cache", "", "where projects and homes are kept")
	flag.StringVar(&list, "list", "testdata/corpus/list.txt", "the projects")
	flag.StringVar(&only, "only", "", "a regular expression of kinds and names")
	flag.StringVar(&doc, "doc", "", "the table's file")
	flag.StringVar(&engines, "engines", "docker,containerd", "the engines, by commas")
	flag.Parse()
	filter, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	projects, err := readList(list)
	if err != nil {
		return err
	}
	if l.cache == "" {
		return errors.New("-cache is missing")
	}
	l.engines = strings.Split(engines, ",")
	for _, p := range []*string{&l.binary, &l.cache} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	l.fetch = filepath.Join(filepath.Dir(list), "fetch.sh")
	if l.fetch, err = filepath.Abs(l.fetch); err != nil {
		return err
	}
	var rows []row
	for _, p := range projects {
		if !filter.MatchString(p.kind + " " + p.name) {
			continue
		}
		r := l.try(ctx, p)
		rows = append(rows, r...)
		for _, x := range r {
			fmt.Fprintln(os.Stderr, x.line())
		}
		if doc != "" {
			if err := os.WriteFile(doc, []byte(render(rows)), 0o644); err != nil {
				return err
			}
		}
	}
	if doc == "" {
		fmt.Print(render(rows))
	}
	return nil
}

// offline runs a program without a network on this host, for comparison, and says
// how it ended. It is the operator's own choice to run this harness.
func offline(ctx context.Context, dir string, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", append([]string{"--net"}, argv...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "CI=true", "npm_config_offline=true", "CARGO_NET_OFFLINE=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tail := strings.TrimSpace(string(out))
		if i := strings.LastIndexByte(tail, '\n'); i >= 0 {
			tail = tail[i+1:]
		}
		return "fails: " + clip(tail)
	}
	return "passes"
}

func clip(s string) string {
	s = strings.NewReplacer("|", "/", "\n", " ", "`", "'").Replace(s)
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}

// answer runs the product and decodes what it says, or its error.
func (l lab) answer(ctx context.Context, env []string, v any, args ...string) error {
	cmd := exec.CommandContext(ctx, l.binary, append([]string{"--output", "json"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stdout.Len() > 0 {
		if v == nil {
			return nil
		}
		return json.Unmarshal(stdout.Bytes(), v)
	}
	var e failure
	if json.Unmarshal(stderr.Bytes(), &e) == nil && e.Code != "" {
		return e
	}
	return fmt.Errorf("%w: %s", err, clip(stderr.String()))
}

// failure is the product's error.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error implements error.
func (f failure) Error() string { return f.Code + ": " + f.Message }

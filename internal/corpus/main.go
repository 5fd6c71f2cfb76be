// Command corpus runs real projects through the product and writes what came out
// as a table. It is a measurement, not a test: `make corpus`.
//
//	corpus -cyberagent bin/cyberagent -cache DIR [-only REGEXP] [-engines docker,containerd] [-again] [-doc docs/corpus.md]
//
// For each project of the list: is it fetched, does its command pass on this host
// without a network, how does it end with the plain image, and how with an image of
// its own, on each engine, as it is and after one of its source files changed. Where
// a fixed limit stops it, the same command runs once more by plain `docker run` with
// and without that limit.
//
// What came out is kept below the cache, so that a run can be interrupted and goes
// on where it was; the table always has all that is known of the list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// lab is what every project is run with.
type lab struct {
	binary, cache, fetch string
	engines              []string
	again                bool
}

func run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var l lab
	var list, only, doc, engines string
	flag.StringVar(&l.binary, "cyberagent", "bin/cyberagent", "the product")
	flag.StringVar(&l.cache, "cache", "", "where projects, homes and results are kept")
	flag.StringVar(&list, "list", "testdata/corpus/list.txt", "the projects")
	flag.StringVar(&only, "only", "", "a regular expression of kinds and names")
	flag.StringVar(&doc, "doc", "", "the table's file")
	flag.StringVar(&engines, "engines", "docker,containerd", "the engines, by commas")
	flag.BoolVar(&l.again, "again", false, "run also what has a result of the same inputs")
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
	l.fetch = filepath.Join(filepath.Dir(list), "fetch.sh")
	for _, p := range []*string{&l.binary, &l.cache, &l.fetch} {
		if *p, err = filepath.Abs(*p); err != nil {
			return err
		}
	}
	wanted := slices.DeleteFunc(slices.Clone(projects), func(p project) bool { return !filter.MatchString(p.Kind + " " + p.Name) })
	if err := equipped(ctx, wanted); err != nil {
		return err
	}
	for _, p := range wanted {
		l.try(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := l.write(doc, projects); err != nil {
			return err
		}
	}
	if filter.MatchString("net/http") {
		if err := l.warmed(ctx); err != nil {
			return err
		}
	}
	return l.write(doc, projects)
}

// write renders all that is known of the list.
func (l lab) write(doc string, projects []project) error {
	if doc == "" {
		return nil
	}
	var all []outcome
	for _, p := range projects {
		all = append(all, l.known(p))
	}
	w, _ := recall[warmth](filepath.Join(l.cache, "results", "nethttp.json"), l.images()["docker"])
	return os.WriteFile(doc, []byte(render(all, l.images(), w)), 0o644) //nolint:gosec // a document
}

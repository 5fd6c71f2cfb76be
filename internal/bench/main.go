package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// group is one part of the harness.
type group struct {
	name    string
	measure func(context.Context, *lab) ([]Table, error)
}

// groups are all, in the document's order.
func groups() []group {
	return []group{
		{"start", starting}, {"execute", executing}, {"together", together}, {"echo", echoing}, {"watching", watching},
		{"drydock", drydocks}, {"history", history}, {"ledger", ledgers},
	}
}

func main() {
	rounds := flag.Int("rounds", 21, "how many times each thing is measured")
	only := flag.String("only", "", "groups to measure, separated by commas; all when empty")
	doc := flag.String("doc", "", "file to write; standard output when empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	text, err := bench(ctx, options{rounds: *rounds, only: strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })})
	stop()
	if err == nil && *doc != "" {
		err = os.WriteFile(*doc, []byte(text), 0o644) //nolint:gosec // a document is for everyone
	} else if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	only   []string
	small  bool // sizes for a test of the harness itself
}

// bench measures the chosen groups and renders the document.
func bench(ctx context.Context, o options) (text string, err error) {
	for _, name := range o.only {
		if !slices.ContainsFunc(groups(), func(g group) bool { return g.name == name }) {
			return "", fmt.Errorf("no group is called %q", name)
		}
	}
	l, err := newLab(o)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := l.close(); err == nil {
			err = e
		}
	}()
	began := time.Now()
	var tables []Table
	for _, g := range groups() {
		if len(o.only) > 0 && !slices.Contains(o.only, g.name) {
			continue
		}
		t := time.Now()
		some, err := g.measure(ctx, l)
		if err != nil {
			return "", fmt.Errorf("%s: %w", g.name, err)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %d s\n", g.name, int(time.Since(t).Seconds()))
		tables = append(tables, some...)
	}
	return document(tables, surroundings(), o.rounds, began, time.Since(began)), nil
}

package main

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/phrase"
)

// exactList is a repeatable flag that keeps every value byte for byte: the
// library's own list trims and splits.
type exactList []string

// Set appends one value.
func (l *exactList) Set(v string) error { *l = append(*l, v); return nil }

// String is shown in help.
func (l *exactList) String() string { return strings.Join(*l, " ") }

// Get returns the values.
func (l *exactList) Get() any { return []string(*l) }

// keyFlag is the operation key. Where a verb does not demand one, a person's
// call gets a new random key: it then has no replay.
func keyFlag(dst *string) cli.Flag {
	use := "names this one effect; the same key answers the same result (A-Z a-z 0-9 . _ : -)"
	return &cli.StringFlag{Name: "operation-key", Usage: use, Destination: dst}
}

func keyOr(k string) string {
	if k == "" {
		return "auto:" + rand.Text()
	}
	return k
}

// one returns the only positional argument.
func one(c *cli.Command, what string) (string, error) {
	if c.Args().Len() != 1 {
		return "", fault.New(fault.InvalidArgument, "%s, want one: %s", phrase.Count(c.Args().Len(), "argument"), what).At(what).
			Hint("see `%s --help`", c.FullName())
	}
	return c.Args().First(), nil
}

func oneRun(c *cli.Command) (id.Run, error) {
	v, err := one(c, "run")
	if err != nil {
		return "", err
	}
	return id.ParseRun("run", v)
}

// none refuses positional arguments.
func none(c *cli.Command) error {
	if c.Args().Present() {
		return fault.New(fault.InvalidArgument, "unexpected argument %q", c.Args().First()).Hint("see `%s --help`", c.FullName())
	}
	return nil
}

// utc prints a time for a person.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// need refuses a call without every one of the flags. The library's own check
// prints help on standard output, which belongs to answers.
func need(c *cli.Command, names ...string) error {
	var missing []string
	for _, n := range names {
		if !c.IsSet(n) {
			missing = append(missing, "--"+n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.InvalidArgument, "missing %s", strings.Join(missing, ", ")).
		At(strings.ReplaceAll(strings.TrimPrefix(missing[0], "--"), "-", "_")).Hint("see `%s --help`", c.FullName())
}

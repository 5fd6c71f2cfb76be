package main

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"cyberagent/domain/fault"
	"cyberagent/internal/nearest"
)

// helpWord asks a group for help as --help does: `cyberagent run help create`.
const helpWord = "help"

// explain shows the help of the verb that the words name below c. What follows a
// verb is its arguments.
func explain(c *cli.Command, words []string) error {
	for _, w := range words {
		if len(c.Commands) == 0 {
			break
		}
		sub := c.Command(w)
		if sub == nil {
			return unknownVerb(c, w)
		}
		c = sub
	}
	switch {
	case c.Root() == c:
		return cli.ShowRootCommandHelp(c)
	case len(c.Commands) > 0:
		return cli.ShowSubcommandHelp(c)
	}
	cli.HelpPrinter(c.Root().Writer, cli.CommandHelpTemplate, c)
	return nil
}

// answersHelp makes --help beside arguments answer as it does alone: the library
// looks for a verb of the argument's name and finds none.
func answersHelp(s *session, c *cli.Command) {
	for _, sub := range c.Commands {
		answersHelp(s, sub)
	}
	c.CommandNotFound = func(_ context.Context, c *cli.Command, name string) {
		s.unknown = explain(c, []string{name})
	}
}

// groupAction teaches when a group is called alone, or says what is no verb of it.
func groupAction(_ context.Context, c *cli.Command) error {
	switch words := c.Args().Slice(); {
	case len(words) == 0:
		return explain(c, nil)
	case words[0] == helpWord:
		return explain(c, words[1:])
	default:
		return unknownVerb(c, words[0])
	}
}

func unknownVerb(c *cli.Command, typed string) error {
	e := fault.New(fault.InvalidArgument, "%q is not a verb of `%s`", typed, c.FullName()).At("verb")
	if meant := meant(c, typed); len(meant) > 0 {
		return e.Hint("did you mean `%s`? See also `%s --help`", strings.Join(meant, "` or `"), c.FullName())
	}
	return e.Hint("see `%s --help`", c.FullName())
}

// mostMeant is how many verbs are offered; of more nobody can choose.
const mostMeant = 4

// meant are the verbs of that name anywhere, or those whose names are nearest to it;
// those of the group where it was typed come first.
func meant(group *cli.Command, typed string) (verbs []string) {
	best := -1
	var walk func(c *cli.Command)
	walk = func(c *cli.Command) {
		for _, sub := range c.Commands {
			if sub.Hidden {
				continue
			}
			for _, name := range sub.Names() {
				d := nearest.Distance(typed, name)
				if !nearest.Close(typed, name) || best >= 0 && d > best {
					continue
				}
				if d < best {
					verbs = nil
				}
				best, verbs = d, append(verbs, sub.FullName())
			}
			walk(sub)
		}
	}
	walk(group.Root())
	verbs = slices.Compact(verbs)
	slices.SortStableFunc(verbs, func(a, b string) int { return cmp.Compare(elsewhere(group, a), elsewhere(group, b)) })
	return verbs[:min(len(verbs), mostMeant)]
}

// elsewhere is 0 for a verb of the group, and 1 for all others.
func elsewhere(group *cli.Command, verb string) int {
	if strings.HasPrefix(verb, group.FullName()+" ") {
		return 0
	}
	return 1
}

// undefined is how the library's parser begins to say that it does not know a flag;
// it has no type for that.
const undefined = "flag provided but not defined: -"

// unparsed is the answer to what the parser of a verb does not understand.
func unparsed(c *cli.Command, err error) error {
	typed, ok := strings.CutPrefix(err.Error(), undefined)
	if !ok {
		return badValue(c, err.Error())
	}
	typed = strings.TrimLeft(typed, "-")
	e := fault.New(fault.InvalidArgument, "%q is no flag of `%s`", dashed(typed), c.FullName())
	if near := nearFlag(c, typed); near != "" {
		return e.Hint("did you mean %s? See also `%s --help`", dashed(near), c.FullName())
	}
	return e.Hint("see `%s --help`", c.FullName())
}

// invalidValue is the library's prefix of a value's error; it has no type for that. No
// other start of the program pays for its compilation.
const invalidValue = `(?s)^invalid value (".*") for flag -+([a-z0-9-]+): (.*)$`

// badValue is the answer to a flag's value that does not fit.
func badValue(c *cli.Command, text string) error {
	m := regexp.MustCompile(invalidValue).FindStringSubmatch(text)
	if m == nil {
		return fault.New(fault.InvalidArgument, "%s", text).Hint("see `%s --help`", c.FullName())
	}
	e := fault.New(fault.InvalidArgument, "%s is not what %s takes", m[1], dashed(m[2]))
	switch {
	case m[3] == twice:
		e = fault.New(fault.InvalidArgument, "%s was given twice: it takes one value", dashed(m[2]))
	case strings.Contains(m[3], "strconv.Parse"), strings.Contains(m[3], "time: "):
	default:
		e = fault.New(fault.InvalidArgument, "%s: %s", dashed(m[2]), m[3])
	}
	return e.At(m[2]).Hint("see `%s --help`", c.FullName())
}

// twice is the library's error for a flag with OnlyOnce.
const twice = "can't duplicate this flag"

// onceOnly makes every flag that takes one value refuse a second: the last of two would
// win in silence.
func onceOnly(c *cli.Command) {
	for _, f := range c.Flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.OnlyOnce = true
		case *cli.IntFlag:
			f.OnlyOnce = true
		case *cli.Int64Flag:
			f.OnlyOnce = true
		case *cli.Uint64Flag:
			f.OnlyOnce = true
		case *cli.DurationFlag:
			f.OnlyOnce = true
		}
	}
	for _, verb := range c.Commands {
		onceOnly(verb)
	}
}

func dashed(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

// nearFlag is the flag of a verb, or of all verbs, whose name is nearest to what was
// typed; empty when none is near.
func nearFlag(c *cli.Command, typed string) (best string) {
	for _, level := range c.Lineage() {
		for _, f := range level.VisibleFlags() {
			for _, name := range f.Names() {
				if len(name) > 1 && nearest.Close(typed, name) && (best == "" || nearest.Distance(typed, name) < nearest.Distance(typed, best)) {
					best = name
				}
			}
		}
	}
	return best
}

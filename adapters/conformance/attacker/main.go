//go:build linux

// Command attacker tries what a hostile command would: each attack by its name,
// with the errno's name or a word for what it saw as the answer. The same program
// runs in a container and, as the control, outside of one, where the attack must
// work. It is static and needs nothing of its surroundings.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(98)
	}
	os.Exit(do(os.Args[1], os.Args[2:]))
}

func do(verb string, args []string) int {
	s := newStage(args)
	switch verb {
	case "list": // every attack's name, one a line
		for _, a := range catalogue() {
			fmt.Println(a.name)
		}
		for name := range acts {
			fmt.Println(name)
		}
	case "batch": // those named, or all, one after the other
		return batch(s)
	case "one":
		return one(s)
	case "act": // one that is about how it ends, or leaves nothing to say
		return acts[s.names[0]](s)
	case "grow": // by one writer, until it is stopped
		return grow(s.names[0])
	case "control": // PID 1 of a place outside of any container, root
		return control(s)
	case "apart": // PID 1 of one attack of the control
		return inside(s)
	case "hold":
		return hold(strings.Join(args, ""))
	case "victim":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "witness":
		return witness()
	default:
		return 99
	}
	return 0
}

// stage is where an attack takes place.
type stage struct {
	names []string
	// facts are what the suite knows of the host: ports, pids, paths.
	facts map[string]string
	// target is the process that should be out of reach: PID 1 of the container,
	// outside of one a victim.
	target int
}

// newStage takes facts as key=value and names as they are.
func newStage(args []string) stage {
	s := stage{facts: map[string]string{}, target: 1}
	for _, a := range args {
		if k, v, ok := strings.Cut(a, "="); ok {
			s.facts[k] = v
		} else {
			s.names = append(s.names, a)
		}
	}
	if t := s.number("target"); t > 0 {
		s.target = t
	}
	return s
}

func (s stage) number(fact string) int {
	n, err := strconv.Atoi(s.facts[fact])
	if err != nil {
		return 0
	}
	return n
}

// args is what newStage makes the same stage of, with other names.
func (s stage) args(names ...string) []string {
	all := slices.Clone(names)
	for k, v := range s.facts {
		all = append(all, k+"="+v)
	}
	return append(all, "target="+strconv.Itoa(s.target))
}

// attack is one way to do harm. try answers with an errno's name, "allowed", or a
// word for what came of it.
type attack struct {
	name string
	try  func(stage) string
}

func catalogue() []attack {
	return slices.Concat(onRunner(), onKernel(), onNamespaces(), onMounts(), onMask(), onFiles(), onGroups(), onNetwork(), onHost())
}

func one(s stage) int {
	for _, a := range catalogue() {
		if a.name == s.names[0] {
			fmt.Print(a.try(s))
			return 0
		}
	}
	return 99
}

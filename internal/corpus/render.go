package main

import (
	"context"
	"fmt"

	"slices"
	"strings"
	"time"

	"cyberagent/internal/machine"
)

const head = `# Real projects

<!-- Made by ` + "`make corpus`" + `. Do not edit. -->

Each project's own command, offline: on this host, and in the fixed container with the plain image and with an image of its
own, there also after one of its source files changed. Seconds are the command's in the container. *cache* and *growth* are the
most that it had of the 128 MiB and the 16 MiB. For the plain image a Go project has its dependencies in its own vendor
directory; the others cannot carry theirs, and are refused. The projects are in ` + "`testdata/corpus/list.txt`" + `; what runs them is ` + "`internal/corpus`" + `.

`

// render writes the document.
func render(all []outcome, images map[string]string, w warmth) string {
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(circumstances(all, images))
	b.WriteString("\n## How many pass\n\nOf those that pass on the host:\n\n" + counts(all))
	b.WriteString("\n## What stopped the others\n\n" + exceptions(all))
	b.WriteString("\n## Images\n\n" + reproduced(all))
	b.WriteString("\n## The standard library in the image\n\n" + w.text())
	for _, kind := range []string{"go", "npm", "deb-python", "deb-rust"} {
		fmt.Fprintf(&b, "\n## %s\n\n", map[string]string{"go": "Go", "npm": "Node", "deb-python": "Python", "deb-rust": "Rust"}[kind])
		b.WriteString("| project | host | engine | image | outcome | s | cache, MiB | growth, KiB | image made in, s | image larger by, MiB |\n" +
			"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
		for _, o := range all {
			if o.Kind == kind {
				b.WriteString(o.table())
			}
		}
	}
	return b.String()
}

func (o outcome) table() string {
	name := o.Name + " " + o.Version
	host := o.Host
	if host == "passes" {
		host = fmt.Sprintf("passes, %.1f s", o.HostSeconds)
	}
	if len(o.Rows) == 0 {
		return fmt.Sprintf("| %s | %s | | | not tried | | | | | |\n", name, host)
	}
	var b strings.Builder
	for _, r := range o.Rows {
		image, built, bytes := r.Image, "", ""
		if r.Changed {
			image += ", changed"
		} else if r.Build > 0 {
			built, bytes = fmt.Sprintf("%.0f", r.Build), fmt.Sprintf("%.0f", float64(r.Bytes)/(1<<20))
		}
		seconds, cache, growth := "", "", ""
		if r.Seconds > 0 {
			seconds, cache, growth = fmt.Sprintf("%.1f", r.Seconds), fmt.Sprintf("%.0f", float64(r.Cache)/(1<<20)), fmt.Sprintf("%.0f", float64(r.Growth)/1024)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", name, host, r.Engine, image, r.end(), seconds, cache, growth, built, bytes)
		name, host = "", ""
	}
	return b.String()
}

// end is how a run ended, in few words.
func (r row) end() string {
	switch {
	case r.Reason != "":
		return r.Outcome + ", `" + r.Reason + "`"
	case r.Detail != "":
		return r.Outcome + ": " + r.Detail
	}
	return r.Outcome
}

func counts(all []outcome) string {
	passed := map[string][2]int{}
	for _, o := range all {
		for _, r := range o.Rows {
			if o.Host != "passes" {
				continue
			}
			key := o.Kind + " " + r.Engine + " " + r.Image
			if r.Changed {
				key += ", changed"
			}
			n := passed[key]
			if n[1]++; r.Outcome == "succeeded" || strings.HasPrefix(r.Outcome, "none is needed") && o.plainPasses(r.Engine) {
				n[0]++
			}
			passed[key] = n
		}
	}
	b := "| | Docker, plain | project | changed | containerd, plain | project | changed |\n| --- | --- | --- | --- | --- | --- | --- |\n"
	for _, kind := range []string{"go", "npm", "deb-python", "deb-rust"} {
		b += "| " + kind
		for _, engine := range []string{"docker", "containerd"} {
			for _, what := range []string{"plain", "project", "project, changed"} {
				if n, ok := passed[kind+" "+engine+" "+what]; ok {
					b += fmt.Sprintf(" | %d of %d", n[0], n[1])
				} else {
					b += " | "
				}
			}
		}
		b += " |\n"
	}
	return b
}

func (o outcome) plainPasses(engine string) bool {
	return slices.ContainsFunc(o.Rows, func(r row) bool { return r.Engine == engine && r.Image == "plain" && r.Outcome == "succeeded" })
}

func exceptions(all []outcome) string {
	var b strings.Builder
	for _, o := range all {
		for _, r := range o.Rows {
			if o.Host == "passes" && r.Image == "project" && r.Outcome != "succeeded" && !strings.HasPrefix(r.Outcome, "none is needed") {
				changed := ""
				if r.Changed {
					changed = ", changed"
				}
				fmt.Fprintf(&b, "- %s, %s%s: %s; %s\n", o.Name, r.Engine, changed, r.end(), r.Detail)
			}
		}
		if o.Lift != nil {
			fmt.Fprintf(&b, "- %s by plain `docker run` with the same image and the same limits: %s; with only the limit of %s lifted: %s\n",
				o.Name, o.Lift.Kept, o.Lift.Limit, o.Lift.Lifted)
		}
	}
	if b.Len() == 0 {
		return "Nothing, of what was tried.\n"
	}
	return b.String()
}

// reproduced compares the images that the engines had made independently.
func reproduced(all []outcome) string {
	same, slowest := 0, map[string]float64{}
	var differ []string
	for _, o := range all {
		digests := map[string]string{}
		for _, r := range o.Rows {
			if r.Image == "project" && r.Build > 0 && !r.Changed {
				digests[r.Engine] = r.Digest
				slowest[r.Engine] = max(slowest[r.Engine], r.Build)
			}
		}
		switch {
		case len(digests) < 2:
		case digests["docker"] == digests["containerd"]:
			same++
		default:
			differ = append(differ, o.Name)
		}
	}
	b := fmt.Sprintf("Each engine had its project images made anew. Of those made on both, %d have the same digest", same)
	if len(differ) > 0 {
		b += ", and not those of " + strings.Join(differ, ", ")
	}
	b += ".\n"
	for _, engine := range []string{"docker", "containerd"} {
		if slowest[engine] > 0 {
			b += fmt.Sprintf("The slowest took %.0f s on %s.\n", slowest[engine], engine)
		}
	}
	return b
}

// circumstances are when and on what it was measured.
func circumstances(all []outcome, images map[string]string) string {
	var first, final time.Time
	var loads []float64
	for _, o := range all {
		for _, r := range o.Rows {
			if first.IsZero() || r.At.Before(first) {
				first = r.At
			}
			if r.At.After(final) {
				final = r.At
			}
			loads = append(loads, r.Load)
		}
	}
	if len(loads) == 0 {
		return ""
	}
	slices.Sort(loads)
	b := fmt.Sprintf("%s. Measured from %s to %s, at a load of %.1f to %.1f, in the middle %.1f: other work was going on where that is over 2.\n",
		machine.Describe(), first.Format("2006-01-02 15:04"), final.Format("2006-01-02 15:04 UTC"), loads[0], loads[len(loads)-1], loads[len(loads)/2])
	b += "The host's tools: " + strings.Join(versions(), ", ") + ".\n"
	for _, e := range []string{"docker", "containerd"} {
		if images[e] != "" {
			b += fmt.Sprintf("The plain image on %s is `%s`.\n", e, images[e])
		}
	}
	return b
}

func versions() []string {
	var all []string
	for _, argv := range [][]string{{"go", "version"}, {"node", "--version"}, {"python3", "--version"}, {"python3", "-m", "pytest", "--version"}, {"cargo", "--version"}} {
		if out, err := asOffline(context.Background(), argv).CombinedOutput(); err == nil {
			text := strings.TrimSpace(string(out))
			if argv[0] == "node" {
				text = "node " + text
			}
			all = append(all, text)
		}
	}
	return all
}

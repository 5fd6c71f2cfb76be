package main

import (
	"fmt"
	"strings"
)

// render writes the table.
func render(rows []row) string {
	var b strings.Builder
	b.WriteString("# Real projects\n\nWritten by `make corpus` from testdata/corpus/list.txt: each project's own command, offline, on this host and in the fixed\n" +
		"container with the plain image and with an image of its own, there also after one of its source files changed.\n\n" +
		"| project | host, offline | engine | image | changed | outcome | seconds | image built in |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	passed := map[string][2]int{}
	for _, r := range rows {
		changed, seconds, built := "", "", ""
		if r.changed {
			changed = "yes"
		}
		if r.seconds > 0 {
			seconds = fmt.Sprintf("%.1f", r.seconds)
		}
		if r.buildSeconds > 0 {
			built = fmt.Sprintf("%.0f s", r.buildSeconds)
		}
		fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name, r.version, r.host, r.engine, r.image, changed, r.outcome, seconds, built)
		if r.host == "passes" && r.image != "" {
			key := r.kind + ", " + r.engine + ", " + r.image + " image"
			if r.changed {
				key += ", changed"
			}
			n := passed[key]
			if n[1]++; r.outcome == "succeeded" {
				n[0]++
			}
			passed[key] = n
		}
	}
	b.WriteString("\nOf those that pass on the host:\n\n")
	for _, kind := range []string{"go", "npm", "deb-python", "deb-rust"} {
		for _, engine := range []string{"docker", "containerd"} {
			for _, what := range []string{"plain image", "project image", "project image, changed"} {
				if n, ok := passed[kind+", "+engine+", "+what]; ok {
					fmt.Fprintf(&b, "- %s, %s, %s: %d of %d\n", kind, engine, what, n[0], n[1])
				}
			}
		}
	}
	return b.String()
}

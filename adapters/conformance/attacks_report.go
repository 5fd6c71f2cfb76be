package conformance

import (
	"fmt"
	"slices"
	"strings"
)

// AttacksDocument writes docs/attacks.md: what holds whatever machine it is made
// on (Line), and what was seen on this one.
func AttacksDocument(date, kernel string, outside map[string]string, rows []Attacked) string {
	var b strings.Builder
	engines := make([]string, 0, len(rows))
	for _, r := range rows {
		engines = append(engines, fmt.Sprintf("%s %s", r.Engine, r.Version))
	}
	fmt.Fprintf(&b, `<!-- Made by "make attacks". Do not edit. -->
# Attacks

%d attacks by a command that has the runner's own user, each tried in the fixed container of every engine and, as its
control, outside of one. One static program has them all (adapters/conformance/attacker); a test tries them again in each
run of the tests (TestEveryAttackIsBlockedOrHarmless).

- Made on %s, kernel %s, %s.
- **In the container** is what came of it: the errno's name, or what was seen. Anything else fails the test.
- **Outside** is the control: the same attack as root with all capabilities or as user 65532, without seccomp, in a place of
  its own (namespaces, mounts and a control group, so that the host is not changed; a process of the same user stands for
  PID 1), or as either of them on the host itself. It must work there, or its verdict would prove nothing. An attack that
  would harm the machine stops at the kernel's question whether the caller may: what it hands over is invalid, or is what
  holds already. "absent" means that the kernel above has no such thing, so that only the verdict in the container is known.
- All attacks that answer run in one container; after them, and after every attack that took something away and lives on, the
  command grows past its quota in the same container and is stopped for it. A witness, another container of the same user on
  the same engine, runs beside: its files and its process are unchanged at the end, and its quota holds. The host's settings,
  its files, and a process of the same user on it (limits, priority, processors, memory score) are compared before and after.
`, len(Attacks()), date, kernel, strings.Join(engines, ", "))
	for i, k := range Attacks() {
		if i == 0 || Attacks()[i-1].Mechanism != k.Mechanism {
			fmt.Fprintf(&b, "\n## %s\n", upper(k.Mechanism))
			header(&b, append([]string{"attack", "what it tries", "in the container may be", "because"}, append(enginesOf(rows), "outside, as", "outside")...)...)
		}
		fmt.Fprintf(&b, "%s", k.line())
		for _, r := range rows {
			fmt.Fprintf(&b, " %s |", r.Words[k.Name])
		}
		fmt.Fprintf(&b, " %s |\n", k.Control.seen(outside[k.Name]))
	}
	b.WriteString("\n## Proven elsewhere\n\nWhat SECURITY.md names and needs more than a container.\n")
	header(&b, "mechanism", "package", "tests")
	for _, p := range Elsewhere() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Mechanism, p.Package, strings.Join(p.Tests, ", "))
	}
	return b.String()
}

// line is the part of an attack's row that is the same on every machine.
func (k Attack) line() string {
	return fmt.Sprintf("| `%s` | %s | %s | %s |", k.Name, k.What, wordly(k.Words), k.By)
}

// seen is the control's part of a row.
func (c Control) seen(word string) string {
	switch {
	case c.As == "":
		return "– | " + c.Reason
	case slices.Contains(c.Absent, word) && !slices.Contains(c.Works, word):
		return string(c.As) + " | absent (" + word + ")"
	}
	return string(c.As) + " | " + word
}

// CurrentAttacks says what a document lacks of the catalogue, and what it has that
// the catalogue has not.
func CurrentAttacks(document string) []string {
	var wrong []string
	for _, k := range Attacks() {
		if !strings.Contains(document, "\n"+k.line()) {
			wrong = append(wrong, "it lacks "+k.line())
		}
	}
	for line := range strings.Lines(document) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			if !slices.ContainsFunc(Attacks(), func(k Attack) bool { return k.Name == name }) {
				wrong = append(wrong, "it has "+name)
			}
		}
	}
	for _, p := range Elsewhere() {
		if !strings.Contains(document, "| "+p.Mechanism+" | "+p.Package+" | "+strings.Join(p.Tests, ", ")+" |") {
			wrong = append(wrong, "it lacks "+p.Mechanism)
		}
	}
	return wrong
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func enginesOf(rows []Attacked) []string {
	var all []string
	for _, r := range rows {
		all = append(all, r.Engine)
	}
	return all
}

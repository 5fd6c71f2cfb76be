// Command limitsdoc writes docs/limits.md from limits.Table.
//
//	go run ./internal/limitsdoc docs/limits.md
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"cyberagent/domain/limits"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: limitsdoc FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(Document(limits.Table())), 0o644); err != nil { //nolint:gosec // a document is for everyone
		fmt.Fprintln(os.Stderr, "limitsdoc:", err)
		os.Exit(1)
	}
}

const head = `# Limits

<!-- Made by ` + "`go run ./internal/limitsdoc docs/limits.md`" + ` from domain/limits; a test holds it current. Do not edit. -->

Every fixed number of the product. Nothing raises one; where two values are given, the first holds when nothing is
said and the second is the most that can be asked for.

| limit | value | exactly | enforced by | why |
| --- | --- | --- | --- | --- |
`

// Document renders the table.
func Document(rows []limits.Row) string {
	var b strings.Builder
	b.WriteString(head)
	for _, r := range rows {
		value, exact := human(r.Default, r.Unit), strconv.FormatInt(r.Default, 10)
		if r.Max != r.Default {
			value += ", at most " + human(r.Max, r.Unit)
			exact += ", " + strconv.FormatInt(r.Max, 10)
		}
		if r.Unit != limits.Count {
			exact += " " + string(r.Unit)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", r.Name, cell(value), exact, cell(r.By), cell(r.Why))
	}
	return b.String()
}

// cell keeps text from ending its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// human writes a value as a person says it: whole binary units, whole days,
// hours, minutes or seconds, thousands with a comma.
func human(v int64, u limits.Unit) string {
	if u == limits.Bytes {
		for _, k := range []struct {
			size int64
			name string
		}{{limits.GiB, "GiB"}, {limits.MiB, "MiB"}, {limits.KiB, "KiB"}} {
			if v >= k.size && v%k.size == 0 {
				return strconv.FormatInt(v/k.size, 10) + " " + k.name
			}
		}
		return thousands(v) + " bytes"
	}
	if u == limits.Millis {
		d := time.Duration(v) * time.Millisecond
		for _, k := range []struct {
			size time.Duration
			name string
		}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
			if d >= k.size && d%k.size == 0 {
				return strconv.FormatInt(int64(d/k.size), 10) + " " + k.name
			}
		}
		return thousands(v) + " ms"
	}
	if u == limits.Count {
		return thousands(v)
	}
	return thousands(v) + " " + string(u)
}

func thousands(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

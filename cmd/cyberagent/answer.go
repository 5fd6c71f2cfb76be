package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"cyberagent/domain/fault"
	"cyberagent/domain/run"
	"cyberagent/internal/cleantext"
)

// begin decides how a verb answers: the flag, or the verb's own default.
func (s *session) begin(defaultJSON bool) {
	s.asJSON = s.output == "json" || (s.output == "" && defaultJSON)
}

// wantsJSON looks at raw arguments, for errors before any verb began.
func wantsJSON(args []string) bool {
	for i, a := range args {
		if a == "--output=json" || (a == "--output" && i+1 < len(args) && args[i+1] == "json") {
			return true
		}
	}
	return false
}

// answer prints v as JSON, or what text writes. Nothing else goes to stdout.
func (s *session) answer(v any, text func(w io.Writer)) error {
	var buf bytes.Buffer
	if s.asJSON {
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(v); err != nil {
			return fault.Wrap(fault.Internal, err, "unencodable answer")
		}
		buf = *bytes.NewBuffer(visible(buf.Bytes()))
	} else {
		text(&buf)
		if s.outTerminal {
			// Whatever somebody else wrote, such as a path, moves no terminal.
			b := cleantext.Visible(buf.Bytes())
			buf.Reset()
			buf.Write(b)
		}
	}
	if _, err := s.out.Write(buf.Bytes()); err != nil {
		return unwritten(err)
	}
	return nil
}

// unwritten is true for verbs that only read, too.
func unwritten(err error) error {
	return fault.Wrap(fault.Internal, err, "the answer cannot be written to standard output").
		Hint("see where standard output goes, then repeat the call; what a call has changed stays changed, and with the same operation key it answers that again")
}

// errorView is error.v1.
type errorView struct {
	Protocol    string            `json:"protocol_version"`
	Code        fault.Code        `json:"code"`
	Field       string            `json:"field"`
	Message     string            `json:"message"`
	Remediation string            `json:"remediation"`
	Details     map[string]string `json:"details"`
}

// fail prints an error once, on stderr, and returns its exit status.
func (s *session) fail(err error) int {
	e := s.sourced(fault.From(err))
	if s.asJSON {
		v := errorView{Protocol: "error.v1", Code: e.Code, Field: e.Field, Message: e.Error(), Remediation: e.Remedy, Details: e.Details}
		if v.Details == nil {
			v.Details = map[string]string{}
		}
		b, _ := json.Marshal(v)
		_, _ = fmt.Fprintln(s.err, string(visible(b)))
		return exitOf(e)
	}
	_, _ = fmt.Fprintf(s.err, "cyberagent: %s\n", printable(e.Error()))
	_, _ = fmt.Fprintf(s.err, "  code: %s\n", e.Code)
	for _, k := range slices.Sorted(maps.Keys(e.Details)) {
		_, _ = fmt.Fprintf(s.err, "  %s: %s\n", k, printable(e.Details[k]))
	}
	if e.Remedy != "" {
		_, _ = fmt.Fprintf(s.err, "  what to do: %s\n", printable(e.Remedy))
	}
	return exitOf(e)
}

// sourced adds to an engine that cannot be reached who said where it is: a variable
// of the environment is seen nowhere else.
func (s *session) sourced(e *fault.Error) *fault.Error {
	switch e.Code {
	case fault.DaemonUnreachable, fault.DaemonPermission, fault.EngineTimeout:
	default:
		return e
	}
	if s.cfg == nil {
		return e
	}
	for name, from := range s.cfg.Endpoints() {
		e = e.With(string(name), from)
	}
	return e
}

// visible writes what a terminal would obey or not show (C1 controls, bidirectional
// and other format characters, separators) as JSON's own escapes: the same value,
// harmless to look at. Outside of strings JSON has none of them.
func visible(document []byte) []byte {
	out := make([]byte, 0, len(document))
	for len(document) > 0 {
		r, n := utf8.DecodeRune(document)
		if r == '\n' || r < utf8.RuneSelf && r != 0x7f || unicode.IsPrint(r) {
			out = append(out, document[:n]...)
		} else {
			for _, u := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		}
		document = document[n:]
	}
	return out
}

// printable keeps an error's text on its line and harmless on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if run.Unsafe(r) {
			return '?'
		}
		return r
	}, s)
}

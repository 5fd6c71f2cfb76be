package e2e

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// blocks returns the fenced blocks of a language, and what follows each as text.
func blocks(t *testing.T, language string) (code, prints string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "command-runtime.md"))
	must(t, err)
	_, rest, found := strings.Cut(string(b), "```"+language+"\n")
	code, rest, closed := strings.Cut(rest, "```\n")
	_, rest, printed := strings.Cut(rest, "```text\n")
	prints, _, ended := strings.Cut(rest, "```\n")
	if !found || !closed || !printed || !ended || code == "" {
		t.Fatalf("docs/command-runtime.md has no %s with what it prints", language)
	}
	return code, prints
}

// The document's program, with a person beside it who types what it says.
func TestRuntime_TheDocumentsProgramWorks(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	code, prints := blocks(t, "python")
	program := filepath.Join(h.dir, "supervise.py")
	must(t, os.WriteFile(program, []byte(code), 0o600))
	screen := filepath.Join(h.dir, "screen")
	must(t, tool("mkfifo", screen))
	p := h.exec(t, "/bin/sh", "-c", `exec python3 "$0" "$1" >"$2"`, program, f.run, screen)
	r, err := os.Open(screen)
	must(t, err)
	defer r.Close()
	var got strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if typed, ok := strings.CutPrefix(lines.Text(), "operator types: "); ok {
			f.MustType(t, &approvalNeed{Type: []string{typed}})
			continue
		}
		got.WriteString(lines.Text() + "\n")
	}
	if a := p.Wait(t); a.code != 0 || got.String() != prints {
		t.Errorf("exit status %d, it prints\n%swant\n%s%s", a.code, got.String(), prints, a.stderr)
	}
	f.MustHaveNoContainer(t)
}

func TestRuntime_TheDocumentsTranscriptWorks(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	f := h.MustFlow(t, h.MustScripts(t))
	code, prints := blocks(t, "sh")
	a := h.with("RUN="+f.run).exec(t, "/bin/bash", "-euc", code).Wait(t)
	if a.code != 0 || string(a.stdout) != prints {
		t.Errorf("exit status %d, it prints\n%swant\n%s%s", a.code, a.stdout, prints, a.stderr)
	}
	f.MustHaveNoContainer(t)
}

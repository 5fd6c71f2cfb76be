package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnswer_WhatCannotBeWrittenIsAnError(t *testing.T) {
	home := t.TempDir()
	for _, line := range []string{"--help", "run --help", "run create --help", "help", "version", "config show", "--output json config path", "completion bash"} {
		var errs bytes.Buffer
		code := invoke(context.Background(), strings.Fields("cyberagent "+line), process{
			out: full{}, err: &errs, lookup: func(k string) (string, bool) { return home, k == "CYBERAGENT_HOME" },
		})
		if code != exitInternal || !strings.Contains(errs.String(), "standard output") || strings.Contains(errs.String(), "what was done is done") {
			t.Errorf("%q: exit status %d, %s", line, code, errs.String())
		}
	}
}

func TestAnswer_APathMovesNoTerminal(t *testing.T) {
	home := "/nowhere/\x1b[2Jagent\u202e\x9b"
	for _, line := range []string{"config show", "config path"} {
		for _, terminal := range []bool{false, true} {
			var out, errs bytes.Buffer
			code := invoke(context.Background(), strings.Fields("cyberagent "+line), process{
				out: &out, err: &errs, outTerminal: terminal, lookup: func(k string) (string, bool) { return home, k == "CYBERAGENT_HOME" },
			})
			if code != 0 || strings.ContainsAny(out.String(), "\x1b\u202e") || bytes.Contains(out.Bytes(), []byte("\x9b")) || !strings.Contains(out.String(), "/nowhere/") {
				t.Errorf("%s, terminal %t: exit status %d, %q%s", line, terminal, code, out.String(), errs.String())
			}
		}
	}
}

// Paths are in remedies, too.
func TestFail_ARemedyMovesNoTerminal(t *testing.T) {
	var out, errs bytes.Buffer
	invoke(context.Background(), []string{"cyberagent", "config", "show"}, process{
		out: &out, err: &errs, lookup: func(k string) (string, bool) {
			v, ok := map[string]string{"CYBERAGENT_HOME": t.TempDir(), "CYBERAGENT_LEDGER_PATH": "/no\x1b[2Jwhere/ledger.db"}[k]
			return v, ok
		},
	})
	if !strings.Contains(errs.String(), "what to do: make '/no") || strings.Contains(errs.String(), "\x1b") {
		t.Errorf("%q", errs.String())
	}
}

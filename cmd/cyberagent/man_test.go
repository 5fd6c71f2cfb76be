package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	docs "github.com/urfave/cli-docs/v3"
)

const manPage = "../../docs/man/cyberagent.1"

func TestManPage_IsTheHelpOfEveryVerb(t *testing.T) {
	text, err := docs.ToManWithSection(testRoot(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte(text)
	if *update {
		if err := os.WriteFile(manPage, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(manPage)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is stale (%v)\nremedy: make generate", manPage, err)
	}
	for path := range examples {
		if name := path[strings.LastIndexByte(path, ' ')+1:]; !strings.Contains(text, name) {
			t.Errorf("the page lacks %s", path)
		}
	}
}

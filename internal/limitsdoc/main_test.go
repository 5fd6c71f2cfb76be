package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/limits"
)

func TestTheDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	got, err := os.ReadFile(filepath.Join("..", "..", "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Document(limits.Table()) {
		t.Error("docs/limits.md is not what domain/limits says: run `go run ./internal/limitsdoc docs/limits.md`")
	}
}

func TestHuman(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    int64
		u    limits.Unit
		want string
	}{
		{0, limits.Bytes, "0 bytes"},
		{1000, limits.Bytes, "1,000 bytes"},
		{1024, limits.Bytes, "1 KiB"},
		{1025, limits.Bytes, "1,025 bytes"},
		{16777216, limits.Bytes, "16 MiB"},
		{2147483648, limits.Bytes, "2 GiB"},
		{3221225472, limits.Bytes, "3 GiB"},
		{250, limits.Millis, "250 ms"},
		{2000, limits.Millis, "2 s"},
		{300000, limits.Millis, "5 min"},
		{3600000, limits.Millis, "1 h"},
		{86400000, limits.Millis, "1 d"},
		{2592000000, limits.Millis, "30 d"},
		{128, limits.Count, "128"},
		{1000000, limits.Inodes, "1,000,000 inodes"},
		{4096, limits.Entries, "4,096 entries"},
		{-1234, limits.Count, "-1,234"},
	} {
		if got := human(c.v, c.u); got != c.want {
			t.Errorf("%d %s: got %q, want %q", c.v, c.u, got, c.want)
		}
	}
}

func TestARowIsOneLineOfATable(t *testing.T) {
	t.Parallel()
	got := Document([]limits.Row{
		{Name: "a", Unit: limits.Bytes, Default: 1024, Max: 1024, By: "x | y", Why: "z"},
		{Name: "b", Unit: limits.Millis, Default: 1000, Max: 60000, By: "x", Why: "z"},
	})
	want := "| `a` | 1 KiB | 1024 bytes | x \\| y | z |\n| `b` | 1 s, at most 1 min | 1000, 60000 milliseconds | x | z |\n"
	if !strings.HasSuffix(got, "| --- | --- | --- | --- | --- |\n"+want) {
		t.Errorf("got %s", got)
	}
}

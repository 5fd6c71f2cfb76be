package main

import (
	"encoding/json"
	"testing"
)

func TestJSON_ShowsOnATerminalWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode 漢字 🚢": `"plain ünïcode 漢字 🚢"`,
		"\x1b[31m":           `"\u001b[31m"`,
		"a\u009b31mX":        `"a\u009b31mX"`,
		"a\u202eb":           `"a\u202eb"`,
		"\u200b\ufeff\u2028": `"\u200b\ufeff\u2028"`,
		"\U000e0041":         `"\udb40\udc41"`,
		"\x7f":               `"\u007f"`,
	} {
		b, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		got := visible(b)
		if string(got) != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != in {
			t.Errorf("%q came back as %q, %v", in, back, err)
		}
	}
}

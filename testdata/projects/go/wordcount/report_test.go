package wordcount

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The report is a file of the project: who reads it later sees what the last
// test run counted.
func TestReport(t *testing.T) {
	var report strings.Builder
	for _, count := range Top(rhyme, 10) {
		fmt.Fprintf(&report, "%4d %s\n", count.Times, count.Word)
	}
	if err := os.WriteFile("../report.txt", []byte(report.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

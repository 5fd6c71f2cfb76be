package result_test

import (
	"strings"
	"testing"

	"cyberagent/domain/result"
)

func TestEveryReasonHasOneLineOfAdviceOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]result.Reason{}
	for _, r := range result.Reasons() {
		text := r.Remedy()
		if text == "" || strings.ContainsAny(text, "\n") || len(text) > 200 {
			t.Errorf("%s: %q", r, text)
		}
		if other, ok := seen[text]; ok {
			t.Errorf("%s and %s say the same", r, other)
		}
		seen[text] = r
	}
	if text := result.Reason("unknown").Remedy(); text != "" {
		t.Errorf("an unknown reason says %q", text)
	}
}

package fault_test

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"cyberagent/domain/fault"
)

func TestError_LongPathsAreCutInTheMiddle(t *testing.T) {
	t.Parallel()
	deep := "/first" + strings.Repeat("/deep", 2000) + "/last.txt"
	spaced := "/first" + strings.Repeat("/a b", 2000) + "/last.txt"
	wide := "/first" + strings.Repeat("/状態", 2000) + "/last.txt"
	for name, path := range map[string]string{"deep": deep, "with spaces": spaced, "of wide characters": wide} {
		e := fault.New(fault.RecoveryRequired, "the file %s cannot be read", path).With("path", path)
		for what, s := range map[string]string{
			"message": e.Error(), "detail": e.Details["path"],
			"cause": fault.Wrap(fault.Internal, errors.New("open "+path+": no"), "failed").Error(),
			"chain": fault.Wrap(fault.Internal, e, "failed at %s", path).At("workspace").Error(),
		} {
			if len(s) > 1300 || !utf8.ValidString(s) || !strings.Contains(s, "first") || !strings.Contains(s, "…") {
				t.Errorf("%s, %s: %d bytes: %q", name, what, len(s), s)
			}
		}
	}
	e := fault.New(fault.RecoveryRequired, "the file %s cannot be read", deep)
	if s := e.Error(); len(s) > 250 || !strings.HasPrefix(s, "the file /first/deep") || !strings.HasSuffix(s, "/last.txt cannot be read") {
		t.Errorf("%d bytes: %q", len(s), s)
	}
	short := strings.Repeat("x", 200)
	if s := fault.New(fault.Internal, "%s", short+" "+short).Error(); s != short+" "+short {
		t.Errorf("cut without need: %q", s)
	}
}

package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"cyberagent/domain/fault"
)

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Errorf("code %q, want %q: %v", got, code, err)
	}
}

func TestTranslate(t *testing.T) {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want fault.Code
	}{
		"nothing":            {context.Background(), nil, ""},
		"a fault stays":      {context.Background(), fault.New(fault.NotFound, "x"), fault.NotFound},
		"a deadline":         {context.Background(), context.DeadlineExceeded, fault.EngineTimeout},
		"an ended context":   {over, io.ErrUnexpectedEOF, fault.EngineTimeout},
		"a cut connection":   {context.Background(), io.ErrUnexpectedEOF, fault.DaemonUnreachable},
		"a reset connection": {context.Background(), syscall.ECONNRESET, fault.DaemonUnreachable},
		"a forbidden socket": {context.Background(), &fs.PathError{Err: syscall.EACCES}, fault.DaemonPermission},
		"something else":     {context.Background(), errors.New("x"), fault.EngineFailure},
	} {
		if got := fault.CodeOf(translate(c.ctx, "x", c.err)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

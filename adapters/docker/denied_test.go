//go:build !windows

package docker

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
)

// A socket that this user may not use. The test of an unprivileged user is run
// in a process of its own when this one is root.
func TestEngine_PermissionDenied(t *testing.T) {
	if path := os.Getenv("CYBERAGENT_TEST_DENIED_SOCKET"); path != "" {
		e, err := New(Config{Socket: path})
		must(t, err)
		facts, err := e.Probe(t.Context())
		must(t, err)
		if facts.Reachability != admission.PermissionDenied {
			t.Errorf("%+v", facts)
		}
		wantCode(t, e.Stop(t.Context(), fakeID), fault.DaemonPermission)
		_, err = e.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.DaemonPermission)
		return
	}
	dir, err := os.MkdirTemp("", "denied-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	must(t, os.Chmod(path, 0o600))
	self, err := os.Executable()
	must(t, err)
	if os.Getuid() == 0 {
		binary := filepath.Join(dir, "test")
		b, err := os.ReadFile(self)
		must(t, err)
		must(t, os.WriteFile(binary, b, 0o755))
		self = binary
	} else {
		must(t, os.Chmod(path, 0))
	}
	cmd := exec.Command(self, "-test.run=^TestEngine_PermissionDenied$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CYBERAGENT_TEST_DENIED_SOCKET="+path)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532, Groups: []uint32{0}}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

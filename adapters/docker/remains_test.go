//go:build linux

package docker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/ports"
)

// An engine that died has forgotten a container whose process lives.
func TestRemove_EndsWhatAnEngineForgot(t *testing.T) {
	lost, _ := ready(t)
	other, _ := ready(t)
	if pids, err := remains(lost.ID); err != nil || len(pids) == 0 {
		t.Fatalf("a running container has the processes %v %v", pids, err)
	}
	newFake(t).forgotten(t, lost, "")
	if pids, err := remains(lost.ID); err != nil || len(pids) > 0 {
		t.Errorf("they live on: %v %v", pids, err)
	}
	if pids, err := remains(other.ID); err != nil || len(pids) == 0 {
		t.Errorf("another's are gone: %v %v", pids, err)
	}
	must(t, lost.Remove(t.Context(), lost.ID, lost.Owner))
}

// A frozen process receives no signal.
func TestRemove_EndsWhatIsFrozen(t *testing.T) {
	lost, _ := ready(t)
	must(t, lost.Freeze(t.Context(), lost.ID))
	newFake(t).forgotten(t, lost, "")
	if pids, err := remains(lost.ID); err != nil || len(pids) > 0 {
		t.Errorf("they live on: %v %v", pids, err)
	}
}

// forgotten asks an engine that knows nothing to remove a container.
func (f *fake) forgotten(t *testing.T, j *job, code fault.Code) {
	t.Helper()
	f.on("GET /containers/"+string(j.ID)+"/json", refuse(404, "no such container"))
	wantCode(t, f.Remove(t.Context(), j.ID, j.Owner), code)
}

// An ordinary user may not end the container's process. It is named, and absence is
// not claimed. The test runs as that user in a process of its own.
func TestRemove_NamesWhatItMayNotEnd(t *testing.T) {
	const given = "CYBERAGENT_TEST_REMAINS"
	if c := os.Getenv(given); c != "" {
		err := endRemains(t.Context(), ports.ContainerID(c))
		wantCode(t, err, fault.CleanupPending)
		t.Log(err)
		return
	}
	j, _ := ready(t)
	dir, err := os.MkdirTemp("", "remains-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	must(t, err)
	b, err := os.ReadFile(self)
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, os.WriteFile(binary, b, 0o755))
	cmd := exec.Command(binary, "-test.run=^TestRemove_NamesWhatItMayNotEnd$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), given+"="+string(j.ID))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65531, Gid: 65531}}
	out, err := cmd.CombinedOutput()
	in, e := j.Inspect(t.Context(), j.ID)
	must(t, e)
	if err != nil || !strings.Contains(string(out), strconv.Itoa(in.PID)) || in.State != ports.StateRunning {
		t.Errorf("%v, its process is %d: %s", err, in.PID, out)
	}
}

// Only a first process of a pid namespace, of the container's user, is ended.
func TestEndRemain_TouchesNothingElse(t *testing.T) {
	if isRunner(os.Getpid()) || isRunner(1) {
		t.Error("a process of this host passes for a container's first")
	}
	must(t, endRemain(os.Getpid(), fakeID))
	if pids, err := remains(""); err != nil || len(pids) > 0 {
		t.Errorf("no container has the processes %v %v", pids, err)
	}
}

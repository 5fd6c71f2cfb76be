package e2e

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An ordinary user of this machine who may use the engine.
const operator = 1001

// MustOperatorHome is an installation of an ordinary user. The engine's socket is
// root's; the user gets one of their own that leads there.
func MustOperatorHome(t *testing.T) *home {
	t.Helper()
	if os.Getuid() != 0 {
		return MustHome(t)
	}
	h := MustHome(t)
	must(t, os.Chown(h.dir, operator, operator))
	socket := filepath.Join(h.dir, "engine.sock")
	mustForward(t, socket)
	must(t, os.Chown(socket, operator, operator))
	h = h.with("CYBERAGENT_DOCKER_SOCKET=" + socket)
	h.sys = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: operator, Gid: operator}}
	return h
}

// give makes everything below a directory the user's.
func (h *home) give(t testing.TB, dir string) string {
	t.Helper()
	if h.sys == nil {
		return dir
	}
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, operator, operator))
	}))
	return dir
}

// mustForward answers on a socket by passing everything to the engine and back,
// each direction to its own end.
func mustForward(t *testing.T, socket string) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	pass := func(to, from *net.UnixConn) {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e, err := net.Dial("unix", lab.socket)
			if err != nil {
				_ = c.Close()
				continue
			}
			client, engine := c.(*net.UnixConn), e.(*net.UnixConn)
			go func() {
				go pass(engine, client)
				pass(client, engine)
				_, _ = client.Close(), engine.Close()
			}()
		}
	}()
}

func TestOperator_AnOrdinaryUserHasTheWholeFlow(t *testing.T) {
	t.Parallel()
	h := MustOperatorHome(t)
	f := h.MustFlow(t, h.give(t, h.MustProject(t, "python")))
	if d := f.MustStatus(t); d.Access != "acl" {
		t.Errorf("the access is %q", d.Access)
	}
	r := f.MustRun(t, command{toolchain: "python", args: []string{"-m", "pytest"}}, 0)
	checkResult(t, f, r, "succeeded", 0)
	if want := (counts{Added: 1}); r.Checkpoint.Changed != want {
		t.Errorf("changed %+v", r.Checkpoint.Changed)
	}
	// The user edits what the command made, and the command what the user made.
	for _, script := range []string{"echo mine >> report.txt", "mkdir notes; echo mine > notes/one"} {
		if a := h.exec(t, "/bin/sh", "-c", "cd "+f.path+" && "+script).Wait(t); a.code != 0 {
			t.Fatalf("the user may not %s: %s", script, a.stderr)
		}
	}
	c := MustAnswer[checkpointView](t, f.call(t, "drydock", "checkpoint", f.run), 0)
	if want := (counts{Added: 1, Modified: 1}); c.Changed != want {
		t.Errorf("the user changed %+v", c.Changed)
	}
	f.take(f.MustStatus(t))
	r = f.MustRun(t, python("-c", "open('notes/one', 'a').write('too'); open('report.txt', 'a').write('too')"), 0)
	if want := (counts{Modified: 2}); r.Checkpoint.Changed != want {
		t.Errorf("the command changed %+v", r.Checkpoint.Changed)
	}
}

func TestOperator_AnOrdinaryUserRecordsAHostileTreeAndSurvivesAbuse(t *testing.T) {
	t.Parallel()
	h := MustOperatorHome(t)
	f := h.MustFlow(t, h.give(t, h.MustScripts(t, "hostile.py", "abuse.py")))
	r := f.MustRun(t, python("hostile.py", filepath.Join(h.dir, "canary")), 0)
	if len(r.Checkpoint.Excluded) != 4 {
		t.Errorf("left out: %v", r.Checkpoint.Excluded)
	}
	d := MustAnswer[diffView](t, f.call(t, "drydock", "diff", f.run), 0)
	if !strings.Contains(d.Patch, "+behind a closed door") || !strings.Contains(d.Patch, "+closed itself") {
		t.Error("what the command closed is not in the Checkpoint")
	}
	checkAbuse(t, f, abuse{args: []string{"sixty_four"}, timeout: 120, ends: []string{"failed/workspace_growth_bytes"}, exit: 5})
	a := f.MustApprove(t, python("abuse.py", "wait").within(600))
	must(t, os.RemoveAll(filepath.Join(f.path, "started")))
	f.MustCrash(t, a)
	v := MustAnswer[recoveryView](t, f.call(t, "run", "standard-code", "recover", "--all"), 0)
	if len(v.Items) != 1 || v.Items[0].Reason != "owner_lost" {
		t.Errorf("recovered: %+v", v)
	}
	f.take(f.MustStatus(t))
	f.MustRunOrdinarily(t)
}

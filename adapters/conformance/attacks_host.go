package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/limits"
)

// bait is what the host has that a command should not reach: each thing has a
// name that the attacker is told.
type bait struct {
	facts map[string]string
	// neighbour is a process of the containers' user on the host.
	neighbour *exec.Cmd
	program   string // the attacker, outside of any image
	close     []func()
}

// variable is one of the suite's own environment.
const variable = "CYBERAGENT_TEST_ATTACKS_SECRET"

func newBait(dir string) (_ *bait, err error) {
	b := &bait{facts: map[string]string{"variable": variable}}
	defer func() {
		if err != nil {
			b.end()
		}
	}()
	program, err := enginetest.Program(attackerProgram)
	if err != nil {
		return nil, err
	}
	b.program = filepath.Join(dir, "attacker")
	if err := os.WriteFile(b.program, program, 0o755); err != nil { //nolint:gosec // another user runs it
		return nil, err
	}
	b.facts["secret"], b.facts["beside"], b.facts["home"] = filepath.Join(dir, "secret"), filepath.Join(dir, "beside"), dir
	for _, f := range []string{"secret", "beside"} {
		if err := os.WriteFile(b.facts[f], []byte("secret"), 0o666); err != nil { //nolint:gosec // permissions must not be what protects it
			return nil, err
		}
		if err := os.Chmod(b.facts[f], 0o666); err != nil { //nolint:gosec // as above
			return nil, err
		}
	}
	if err := os.Setenv(variable, "secret"); err != nil {
		return nil, err
	}
	return b, errors.Join(b.listen(), b.memory(), b.disk(), b.start())
}

// listen opens doors of the host's network.
func (b *bait) listen() error {
	name := fmt.Sprintf("cyberagent-attacks-%d", os.Getpid())
	for fact, at := range map[string][2]string{"port": {"tcp4", "127.0.0.1:0"}, "port6": {"tcp6", "[::1]:0"}, "abstract": {"unix", "@" + name}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			return err
		}
		b.close = append(b.close, func() { _ = l.Close() })
		if b.facts[fact] = name; fact != "abstract" {
			_, b.facts[fact], _ = net.SplitHostPort(l.Addr().String())
		}
	}
	b.facts["world"], b.facts["world6"] = "192.0.2.1:80", "[2001:db8::1]:80"
	return nil
}

// memory shares some with whoever knows the name.
func (b *bait) memory() error {
	b.facts["shm"] = "cyberagent-attacks-" + strconv.Itoa(os.Getpid())
	file := filepath.Join("/dev/shm", b.facts["shm"])
	b.close = append(b.close, func() { _ = os.Remove(file) })
	if err := os.WriteFile(file, []byte("secret"), 0o644); err != nil { //nolint:gosec // permissions must not be what protects it
		return err
	}
	key := 0x5ca00000 + os.Getpid()
	b.facts["key"] = strconv.Itoa(key)
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	b.close = append(b.close, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return err
}

// disk finds a device that root can read.
func (b *bait) disk() error {
	found, _ := filepath.Glob("/sys/class/block/*/dev")
	for _, f := range found {
		number, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		node := filepath.Join("/dev", filepath.Base(filepath.Dir(f)))
		fd, err := unix.Open(node, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		unix.Close(fd)
		b.facts["disk"] = node
		b.facts["disk_major"], b.facts["disk_minor"], _ = strings.Cut(strings.TrimSpace(string(number)), ":")
		return nil
	}
	return errors.New("this machine has no block device that root can open: the control of devices needs one")
}

// start starts the neighbour.
func (b *bait) start() error {
	b.neighbour = exec.Command(b.program, "victim")
	b.neighbour.SysProcAttr = &syscall.SysProcAttr{Credential: ordinary(), Setsid: true, Pdeathsig: syscall.SIGKILL}
	if err := b.neighbour.Start(); err != nil {
		return err
	}
	b.close = append(b.close, func() { _ = b.neighbour.Process.Kill(); _ = b.neighbour.Wait() })
	b.facts["neighbour"] = strconv.Itoa(b.neighbour.Process.Pid)
	return nil
}

// ordinary is the containers' user, outside; in root's group, so that it can reach
// its program.
func ordinary() *syscall.Credential {
	return &syscall.Credential{Uid: limits.UID, Gid: limits.GID, Groups: []uint32{0}}
}

func (b *bait) end() {
	for i := len(b.close) - 1; i >= 0; i-- {
		b.close[i]()
	}
}

// args are the attacker's: the facts, some more, and the names.
func (b *bait) args(verb string, more map[string]string, names ...string) []string {
	all := []string{verb}
	for _, facts := range []map[string]string{b.facts, more} {
		for k, v := range facts {
			all = append(all, k+"="+v)
		}
	}
	return append(all, names...)
}

// outside runs the attacker without any container.
func (b *bait) outside(ctx context.Context, attr *syscall.SysProcAttr, args ...string) (map[string]string, error) {
	c := exec.CommandContext(ctx, b.program, args...)
	c.SysProcAttr = attr
	c.Dir = "/"
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	words, bad := words(string(out))
	if err != nil || bad != nil {
		return nil, fmt.Errorf("the control: %w: %s", errors.Join(err, bad), errs.String())
	}
	return words, nil
}

// AttackerList is every attack that the program knows.
func AttackerList() ([]string, error) {
	dir, err := os.MkdirTemp("", "cyberagent-attacks-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, err := enginetest.Program(attackerProgram)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "attacker")
	if err := os.WriteFile(file, program, 0o700); err != nil { //nolint:gosec // it is executed
		return nil, err
	}
	out, err := exec.Command(file, "list").Output()
	return strings.Fields(string(out)), err
}

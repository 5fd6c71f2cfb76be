package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// lab is what all tests share: one binary, one engine, one image, and a
// directory that holds every home and every source.
var lab struct {
	dir, binary, socket, digest string
	// slots bounds how many commands run at once.
	slots chan struct{}
}

const running = 3

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	if err := openLab(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\nremedy: make test (it brings up the engine, builds the image and sets what is needed)\n", err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(lab.dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: clean-up:", err)
			code = max(code, 1)
		}
	}()
	code = m.Run()
	if err := private.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the private engine:", err)
		code = max(code, 1)
	}
	for _, l := range leftovers() {
		fmt.Fprintln(os.Stderr, "e2e: left behind:", l)
		code = max(code, 1)
	}
	return code
}

func openLab() (err error) {
	lab.socket = os.Getenv("CYBERAGENT_DOCKER_SOCKET")
	lab.digest = os.Getenv("CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST")
	lab.slots = make(chan struct{}, running)
	if lab.socket == "" || lab.digest == "" {
		return errors.New("CYBERAGENT_DOCKER_SOCKET or CYBERAGENT_TEST_STANDARD_CODE_DOCKER_IMAGE_DIGEST is not set")
	}
	if err := engineHas(lab.digest); err != nil {
		return err
	}
	if lab.dir, err = os.MkdirTemp("", "cyberagent-e2e-"); err != nil {
		return err
	}
	if lab.dir, err = filepath.EvalSymlinks(lab.dir); err != nil {
		return err
	}
	// An ordinary user's tests pass through it.
	if err := os.Chmod(lab.dir, 0o755); err != nil {
		return err
	}
	return binary()
}

// binary takes the one that the environment names, or builds it.
func binary() error {
	dir := filepath.Join(lab.dir, "bin")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	lab.binary = filepath.Join(dir, "cyberagent")
	if given := os.Getenv("CYBERAGENT_TEST_BINARY"); given != "" {
		given, err := filepath.Abs(given)
		if err != nil {
			return err
		}
		// A copy: an ordinary user's tests may not reach the place of the original.
		if err := tool("cp", "--", given, lab.binary); err != nil {
			return fmt.Errorf("CYBERAGENT_TEST_BINARY: %w", err)
		}
		return nil
	}
	out, err := exec.Command("go", "build", "-o", lab.binary, "cyberagent/cmd/cyberagent").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building cyberagent: %w\n%s", err, out)
	}
	return nil
}

// leftovers names what the tests left on this machine: containers of their
// ledgers, mounts and processes below their homes.
func leftovers() []string {
	var left []string
	found, err := containersBelow(lab.socket, lab.dir)
	if err != nil {
		left = append(left, "unknown: "+err.Error())
	}
	for _, c := range found {
		left = append(left, "container "+c.String())
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		for l := range strings.Lines(string(mounts)) {
			if strings.Contains(l, lab.dir) {
				left = append(left, "mount "+strings.TrimSpace(l))
			}
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range lines {
		if filepath.Dir(p) == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		if b, err := os.ReadFile(p); err == nil && strings.Contains(string(b), lab.dir) {
			left = append(left, "process "+filepath.Dir(p)+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return left
}

//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// engine is a few calls of the Docker Engine API, so that these tests depend on
// no adapter.
type engine struct {
	socket string
	client *http.Client
	image  string
}

// api is the oldest version that the product accepts.
const api = "/v1.41"

// mustEngine connects to the engine of CYBERAGENT_DOCKER_SOCKET and imports the
// test image once. Without the variable the test fails: these are the tests of
// what the runner is for.
func mustEngine(t *testing.T) *engine {
	t.Helper()
	e, err := theEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

var theEngine = sync.OnceValues(func() (*engine, error) {
	socket := os.Getenv("CYBERAGENT_DOCKER_SOCKET")
	if socket == "" {
		return nil, fmt.Errorf("CYBERAGENT_DOCKER_SOCKET is not set: start an engine with testdata/engines/docker.sh up")
	}
	e := &engine{socket: socket}
	e.client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	archive, err := image()
	if err != nil {
		return nil, err
	}
	tag := fmt.Sprintf("standard-code-runner-test:%d", os.Getpid())
	res, err := e.client.Post("http://engine"+api+"/images/create?fromSrc=-&repo="+url.QueryEscape(tag), "application/x-tar", bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if b, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK || bytes.Contains(b, []byte(`"error"`)) {
		return nil, fmt.Errorf("import: %s %s", res.Status, b)
	}
	e.image = tag
	return e, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if e, err := theEngine(); os.Getenv("CYBERAGENT_DOCKER_SOCKET") != "" && err == nil {
		e.call(http.MethodDelete, "/images/"+e.image+"?force=1", nil, nil)
	}
	os.Exit(code)
}

// image builds the runner and the test tool and lays them out as an image does.
func image() ([]byte, error) {
	dir, err := os.MkdirTemp("", "runner-image")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, pkg := range map[string]string{"runner": ".", "tool": "./testdata/tool"} {
		c := exec.Command("go", "build", "-o", filepath.Join(dir, name), pkg)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	// runc gives a tmpfs the permission bits of the directory that it covers.
	for _, d := range []struct {
		name string
		mode int64
	}{{"standard-code", 0o755}, {"standard-code/bin", 0o755}, {"standard-code/cache", 0o700}, {"workspace", 0o755}, {"proc", 0o755}, {"sys", 0o755}, {"dev", 0o755}} {
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d.name + "/", Mode: d.mode})
	}
	for name, to := range map[string]string{"runner": "standard-code/runner", "tool": "standard-code/bin/go"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: to, Mode: 0o755, Size: int64(len(b))})
		w.Write(b)
	}
	w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: "standard-code/bin/python3", Linkname: "standard-code/bin/go", Mode: 0o755})
	return buf.Bytes(), w.Close()
}

// call does one request with a deadline of its own.
func (e *engine) call(method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+api+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, bytes.TrimSpace(b))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// object is a piece of the engine's JSON.
type object map[string]any

// fixed is the container of the contract (isolation.Spec.Properties) in the
// engine's words.
func (e *engine) fixed(root, mask string, args []string, stdin bool) object {
	tmpfs := map[string]string{}
	for _, t := range isolation.Tmpfses() {
		exec := "noexec"
		if t.Exec {
			exec = "exec"
		}
		tmpfs[t.Target] = fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,nr_inodes=%d,mode=%04o,uid=%d,gid=%d", exec, t.Bytes, t.Inodes, t.Mode, t.UID, t.GID)
	}
	var ulimits []object
	for _, r := range isolation.Rlimits() {
		ulimits = append(ulimits, object{"Name": r.Name, "Soft": r.Value, "Hard": r.Value})
	}
	bind := func(source, target string, ro bool) object {
		return object{"Type": "bind", "Source": source, "Target": target, "ReadOnly": ro, "BindOptions": object{"Propagation": "private"}}
	}
	return object{
		"Image": e.image, "Hostname": isolation.Hostname, "User": isolation.User, "WorkingDir": isolation.Workspace,
		"Entrypoint": []string{isolation.RunnerPath}, "Cmd": args, "Env": []string{},
		"OpenStdin": stdin, "StdinOnce": stdin, "AttachStdin": stdin, "AttachStdout": true, "AttachStderr": true, "Tty": false,
		"HostConfig": object{
			"ReadonlyRootfs": true, "CapDrop": []string{"ALL"}, "NetworkMode": "none", "IpcMode": "none", "CgroupnsMode": "host",
			"SecurityOpt": []string{"no-new-privileges:true", "seccomp=" + string(isolation.SeccompProfile())},
			"LogConfig":   object{"Type": "none"}, "Tmpfs": tmpfs, "Ulimits": ulimits,
			"Memory": limits.MemoryBytes, "MemorySwap": limits.MemoryBytes, "PidsLimit": limits.Pids, "NanoCpus": limits.CPUs * 1_000_000_000,
			"MaskedPaths": isolation.MaskedPaths(), "ReadonlyPaths": isolation.ReadonlyPaths(),
			"Mounts": []object{bind(root, isolation.Workspace, false), bind(mask, isolation.GitTarget, true)},
		},
	}
}

// attach opens the container's streams. Its connection is closed by the test.
func (e *engine) attach(id, query string) (net.Conn, io.Reader, error) {
	conn, err := net.Dial("unix", e.socket)
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(conn, "POST %s/containers/%s/attach?stream=1&%s HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n", api, id, query)
	var head bytes.Buffer
	one := make([]byte, 1)
	for !bytes.HasSuffix(head.Bytes(), []byte("\r\n\r\n")) {
		if _, err := conn.Read(one); err != nil {
			return nil, nil, err
		}
		head.Write(one)
	}
	if line, _, _ := strings.Cut(head.String(), "\r\n"); !strings.Contains(line, " 101 ") && !strings.Contains(line, " 200 ") {
		conn.Close()
		return nil, nil, fmt.Errorf("attach: %s", line)
	}
	return conn, conn, nil
}

// split takes the engine's multiplexed stream apart until its end.
func split(from io.Reader, stdout, stderr io.Writer) error {
	var h [8]byte
	for {
		if _, err := io.ReadFull(from, h[:]); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		to := stdout
		if h[0] == 2 {
			to = stderr
		}
		if _, err := io.CopyN(to, from, int64(binary.BigEndian.Uint32(h[4:]))); err != nil {
			return err
		}
	}
}

//go:build linux

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
)

// job is one run of the fixed container.
type job struct {
	args    []string
	workdir string
	timeout time.Duration // of the binding; 10 s when 0
	quota   runnerproto.Quota
	mode    runnerproto.Mode
	stdin   io.Reader // given: policy pipe
	// toolchain is go unless given; host changes what the host recorded.
	toolchain string
	host      func(*isolation.Host)
	// prepare fills the workspace with the user's files, owned with the host's;
	// alter changes the container that is asked for.
	prepare func(t *testing.T, root string)
	owned   func(t *testing.T, root string)
	alter   func(container object)
	// during runs beside the container.
	during func(t *testing.T, root, mask string)
	pause  time.Duration // how long the host does not read at first
	within time.Duration // bound of the whole run; 15 s when 0
}

// result is what the host sees of a run.
type result struct {
	report runnerproto.Report
	stdout []byte // the command's, out of the frames
	stderr []byte
	root   string
	took   time.Duration
	code   int
}

const (
	admission = "adm_01TEST"
	manifest  = "0000000000000000000000000000000000000000000000000000000000000000"
)

func fileID(t *testing.T, path string) isolation.FileID {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return isolation.FileID{Dev: uint64(st.Dev), Inode: st.Ino}
}

func hostFacts(t *testing.T, root, mask string) isolation.Host {
	t.Helper()
	h := isolation.Host{Workspace: fileID(t, root), Mask: fileID(t, mask), Namespaces: map[string]uint64{}}
	for _, n := range isolation.Namespaces() {
		link, err := os.Readlink("/proc/self/ns/" + n)
		if err != nil {
			t.Fatal(err)
		}
		h.Namespaces[n], err = strconv.ParseUint(strings.Trim(link, n+":[]"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// run runs one container to its end and decodes what it said. The test fails
// when the container outlives the bound, or when stdout is not made of frames.
func run(t *testing.T, j job) result {
	t.Helper()
	r, reportLine := raw(t, j)
	var err error
	r.report, err = runnerproto.DecodeReport(reportLine, admission, manifest)
	if err != nil {
		t.Fatalf("report: %v\n%q\nexit %d", err, reportLine, r.code)
	}
	if r.code != 0 {
		t.Errorf("the runner ended with %d although it reported", r.code)
	}
	return r
}

// raw is run without a report expected.
func raw(t *testing.T, j job) (result, []byte) {
	t.Helper()
	e := mustEngine(t)
	dir := t.TempDir()
	root, mask := filepath.Join(dir, "drydock"), filepath.Join(dir, "mask")
	must(t, os.Mkdir(root, 0o755))
	must(t, os.WriteFile(filepath.Join(root, ".git"), []byte("gitdir: /elsewhere\n"), 0o644))
	must(t, os.WriteFile(mask, []byte(isolation.MaskContent), isolation.MaskMode))
	if j.prepare != nil {
		j.prepare(t, root)
	}
	must(t, filepath.Walk(root, func(p string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(p, limits.UID, limits.GID)) // the engine's test user is root
	}))
	if j.owned != nil {
		j.owned(t, root)
	}
	container := e.fixed(root, mask, []string{runnerproto.Protocol, string(j.binding(t, root, mask))}, j.stdin != nil)
	if j.alter != nil {
		j.alter(container)
	}
	var made struct{ ID string }
	must(t, e.call(http.MethodPost, "/containers/create", container, &made))
	t.Cleanup(func() { e.call(http.MethodDelete, "/containers/"+made.ID+"?force=1&v=1", nil, nil) })

	conn, stream, err := e.attach(made.ID, "stdout=1&stderr=1")
	must(t, err)
	defer conn.Close()
	r := result{root: root}
	var frames, report bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		time.Sleep(j.pause)
		ended <- split(stream, &frames, &report)
	}()
	begin := time.Now()
	must(t, e.call(http.MethodPost, "/containers/"+made.ID+"/start", nil, nil))
	if j.stdin != nil {
		in, _, err := e.attach(made.ID, "stdin=1")
		must(t, err)
		defer in.Close()
		go func() {
			io.Copy(in, j.stdin)
			in.(interface{ CloseWrite() error }).CloseWrite()
		}()
	}
	if j.during != nil {
		j.during(t, root, mask)
	}
	within := j.within
	if within == 0 {
		within = 2 * time.Minute
	}
	select {
	case err := <-ended:
		must(t, err)
	case <-time.After(within):
		t.Fatalf("the container still runs after %s", within)
	}
	r.took = time.Since(begin)
	var wait struct{ StatusCode int }
	must(t, e.call(http.MethodPost, "/containers/"+made.ID+"/wait", nil, &wait))
	r.code = wait.StatusCode
	r.unframe(t, &frames)
	return r, report.Bytes()
}

func (j job) binding(t *testing.T, root, mask string) []byte {
	t.Helper()
	b := runnerproto.Binding{
		Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRun, Admission: admission, ManifestSHA256: manifest, CommandSHA256: manifest,
		Toolchain: "go", Arguments: j.args, Workdir: ".", Stdin: isolation.StdinClosed,
		TimeoutMillis: 10_000, GraceMillis: 500,
		Quota: runnerproto.FixedQuota(),
		Host:  hostFacts(t, root, mask),
	}
	if j.toolchain != "" {
		b.Toolchain = j.toolchain
	}
	if j.host != nil {
		j.host(&b.Host)
	}
	if j.mode != "" {
		b.Mode = j.mode
	}
	if j.workdir != "" {
		b.Workdir = j.workdir
	}
	if j.timeout != 0 {
		b.TimeoutMillis = j.timeout.Milliseconds()
	}
	if j.quota != (runnerproto.Quota{}) {
		b.Quota = j.quota
	}
	if j.stdin != nil {
		b.Stdin = isolation.StdinPipe
	}
	enc, err := b.Encode()
	must(t, err)
	return enc
}

func (r *result) unframe(t *testing.T, frames io.Reader) {
	t.Helper()
	d := runnerproto.NewDecoder(frames)
	for {
		s, p, err := d.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("frames: %v", err)
		}
		if s == runnerproto.Stdout {
			r.stdout = append(r.stdout, p...)
		} else {
			r.stderr = append(r.stderr, p...)
		}
	}
}

// whole checks that the streams' receipts are those of what arrived.
func (r result) whole(t *testing.T) {
	t.Helper()
	for i, got := range [][]byte{r.stdout, r.stderr} {
		s := r.report.Streams[i]
		sum := sha256.Sum256(got)
		if s.SHA256 != hex.EncodeToString(sum[:]) || s.Bytes != int64(len(got)) || s.Forwarded != s.Bytes || s.Lines != int64(bytes.Count(got, []byte("\n"))) {
			t.Errorf("%s: receipt %+v, but %d bytes arrived", s.Stream, s, len(got))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// awaitStarted waits until the tool says that it runs.
func awaitStarted(t *testing.T, root string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Lstat(filepath.Join(root, "started")); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the tool does not start")
		}
	}
}

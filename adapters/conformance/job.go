package conformance

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cyberagent/adapters/conformance/enginetest"
	"cyberagent/domain/command"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
	"cyberagent/domain/runnerproto"
	"cyberagent/ports"
)

// order is what a check wants of a job; the zero value is an ordinary one.
type order struct {
	engine  Engine
	stdin   isolation.Stdin
	inst    id.Installation
	adm     id.Admission
	imageID string
	timeout time.Duration
	// toolchain chooses the program: the probe unless it says otherwise.
	toolchain command.Toolchain
}

// attacker is the place of the program that attacks.
const attacker = command.Python

// job is one admission's container.
type job struct {
	Engine
	c          *C
	spec       isolation.Spec
	owner      ports.Ownership
	root, mask string
	id         ports.ContainerID
	props      isolation.Properties
}

// job makes the spec of a command on an empty Drydock.
func (c *C) job(args ...string) *job { return c.order(order{}, args...) }

func (c *C) order(o order, args ...string) *job {
	if o.engine == nil {
		o.engine = c.engine
	}
	if o.stdin == "" {
		o.stdin = isolation.StdinClosed
	}
	if o.inst == "" {
		o.inst = c.inst
	}
	if o.adm == "" {
		o.adm = id.Admission(enginetest.NewID(id.KindAdmission))
	}
	if o.imageID == "" {
		o.imageID = c.imageID
	}
	if o.toolchain == "" {
		o.toolchain = command.Go
	}
	if o.timeout == 0 {
		o.timeout = 2 * time.Minute
	}
	j := &job{Engine: o.engine, c: c, owner: ports.Ownership{Admission: o.adm, Installation: o.inst}}
	dir := c.tempDir()
	j.root, j.mask = filepath.Join(dir, "drydock"), filepath.Join(dir, "mask")
	c.must(os.Mkdir(j.root, 0o700))
	c.must(os.WriteFile(filepath.Join(j.root, ".git"), []byte("gitdir: /elsewhere\n"), 0o600))
	c.must(os.WriteFile(j.mask, []byte(isolation.MaskContent), isolation.MaskMode))
	if c.factory.NoKernel == "" {
		c.must(os.Chown(j.root, limits.UID, limits.GID))
	}
	mask := isolation.MaskFacts{
		Path: j.mask, Kind: isolation.Regular, Links: 1, Mode: isolation.MaskMode, Content: []byte(isolation.MaskContent), ID: c.fileID(j.mask),
	}
	body, err := j.binding(o, args, mask.ID).Encode()
	c.must(err)
	j.spec, err = isolation.NewSpec(o.adm, o.inst, o.imageID, j.root, mask, runnerproto.Protocol, body, o.stdin)
	c.must(err)
	c.cleanup(j.clear)
	return j
}

// noDigest stands for the manifest and the command, which engines do not know.
var noDigest = strings.Repeat("0", 64)

func (j *job) binding(o order, args []string, mask isolation.FileID) runnerproto.Binding {
	return runnerproto.Binding{
		Protocol: runnerproto.Protocol, Mode: runnerproto.ModeRun, Admission: string(o.adm), ManifestSHA256: noDigest, CommandSHA256: noDigest,
		Toolchain: string(o.toolchain), Arguments: append([]string{}, args...), Workdir: ".", Stdin: o.stdin,
		TimeoutMillis: o.timeout.Milliseconds(), GraceMillis: limits.StopGrace.Milliseconds(),
		Quota: runnerproto.FixedQuota(),
		Host: isolation.Host{
			Workspace: j.c.fileID(j.root), Mask: mask, Namespaces: hostNamespaces(), PrivateCgroup: j.c.facts.PrivateCgroup,
		},
	}
}

func (c *C) fileID(path string) isolation.FileID {
	var st syscall.Stat_t
	c.must(syscall.Lstat(path, &st))
	return isolation.FileID{Dev: uint64(st.Dev), Inode: st.Ino} //nolint:unconvert // its type differs by system
}

func hostNamespaces() map[string]uint64 {
	m := map[string]uint64{}
	for _, n := range isolation.Namespaces() {
		link, _ := os.Readlink("/proc/self/ns/" + n)
		m[n], _ = strconv.ParseUint(strings.Trim(link, n+":[]"), 10, 64)
	}
	return m
}

// clear removes what carries the admission, whoever it says made it.
func (j *job) clear() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(j.c.ctx), time.Minute)
	defer cancel()
	found, err := j.c.keeper.Find(ctx, j.owner.Admission)
	j.c.must(err)
	for _, k := range found {
		err := j.c.keeper.Remove(ctx, k.ID, ownerOf(k))
		if fault.CodeOf(err) == fault.RecoveryRequired && j.c.factory.Destroy != nil {
			err = j.c.factory.Destroy(ctx, k.ID, j.owner) // a sabotaged one
		}
		j.c.must(err)
	}
}

func (j *job) create() *job {
	var err error
	j.id, j.props, err = j.Create(j.c.ctx, j.spec)
	j.c.must(err)
	return j
}

// running is a started job whose output is being read.
type running struct {
	*job
	out            ports.Output
	stdout, stderr chan stream
	first          chan struct{} // closed with the first byte of the output
	exits          chan exited
}

type stream struct {
	body []byte
	err  error
}

type exited struct {
	exit ports.Exit
	err  error
}

// begin creates, attaches, begins to wait, and starts.
func (j *job) begin() *running {
	j.create()
	r := j.attach()
	r.await()
	j.c.must(j.Start(j.c.ctx, j.id))
	return r
}

// attach reads both streams to their end.
func (j *job) attach() *running {
	out, err := j.Attach(j.c.ctx, j.id)
	j.c.must(err)
	r := &running{job: j, out: out, stdout: make(chan stream, 1), stderr: make(chan stream, 1), first: make(chan struct{}), exits: make(chan exited, 1)}
	j.c.cleanup(func() { _ = out.Close() })
	go func() {
		var b bytes.Buffer
		one := make([]byte, 1)
		if n, err := io.ReadFull(out.Stdout, one); n == 1 {
			b.Write(one)
			close(r.first)
			_, err = io.Copy(&b, out.Stdout)
			r.stdout <- stream{b.Bytes(), err}
		} else {
			if err == io.EOF { //nolint:errorlint // io.ReadFull returns it bare
				err = nil
			}
			r.stdout <- stream{nil, err}
		}
	}()
	go func() {
		b, err := io.ReadAll(out.Stderr)
		r.stderr <- stream{b, err}
	}()
	return r
}

func (r *running) await() {
	go func() {
		exit, err := r.Wait(r.c.ctx, r.id)
		r.exits <- exited{exit, err}
	}()
}

// outcome is everything that was learned of a job that ended.
type outcome struct {
	exit           ports.Exit
	stdout, stderr string // the command's, out of the frames
	report         runnerproto.Report
	reportErr      error
}

// end waits for the process and for the end of both streams.
func (r *running) end() outcome {
	var o outcome
	o.exit = r.exited()
	frames, line := <-r.stdout, <-r.stderr
	r.c.must(frames.err)
	r.c.must(line.err)
	r.c.must(r.out.Close())
	o.stdout, o.stderr = r.c.unframe(frames.body)
	o.report, o.reportErr = runnerproto.DecodeReport(line.body, string(r.owner.Admission), noDigest)
	return o
}

func (r *running) exited() ports.Exit {
	select {
	case x := <-r.exits:
		r.c.must(x.err)
		return x.exit
	case <-time.After(patience):
		r.c.Fatalf("Wait did not answer")
		return ports.Exit{}
	}
}

func (c *C) unframe(b []byte) (stdout, stderr string) {
	var out, errs strings.Builder
	for d := runnerproto.NewDecoder(bytes.NewReader(b)); ; {
		s, p, err := d.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // Next returns it bare
			return out.String(), errs.String()
		case err != nil:
			c.Fatalf("the frames: %v", err)
		case s == runnerproto.Stdout:
			out.Write(p)
		default:
			errs.Write(p)
		}
	}
}

// run is a job's whole life but its removal, with a report.
func (j *job) run() outcome {
	o := j.begin().end()
	j.c.must(o.reportErr)
	return o
}

// ready waits until the command says so.
func (r *running) ready() *running {
	select {
	case <-r.first:
	case <-time.After(patience):
		r.c.Fatalf("no output came")
	}
	return r
}

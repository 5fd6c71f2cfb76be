package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/ports"
)

// The tests of this file need a real engine (see realEngine). Names of pitfalls
// refer to the engine's habits: each was seen on 20.10.

func TestCreate_ReadsBack(t *testing.T) {
	for _, stdin := range []isolation.Stdin{isolation.StdinClosed, isolation.StdinPipe} {
		j := newJob(t, "exit 0", stdin)
		j.create()
		if diffs := isolation.Compare(j.spec, j.props); len(diffs) > 0 {
			t.Errorf("%s: %+v", stdin, diffs)
		}
		again, err := j.ReadBack(t.Context(), j.id)
		must(t, err)
		if diffs := isolation.Compare(j.spec, again); len(diffs) > 0 {
			t.Errorf("%s: %+v", stdin, diffs)
		}
		if *update && stdin == isolation.StdinPipe {
			_, raw, err := j.inspect(t.Context(), string(j.id))
			must(t, err)
			record(t, raw, j.spec)
		}
	}
}

func TestCreate_IsInEffect(t *testing.T) {
	j := newJob(t, "look", isolation.StdinClosed)
	out, _, exit := j.run()
	if exit != (ports.Exit{}) {
		t.Errorf("%+v: %s", exit, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, want := range []string{
		"hostname standard-code", "wd /workspace", "mask gitdir: .standard-code-git-disabled",
		"status NoNewPrivs:\t1", "status Seccomp:\t2", "status CapEff:\t0000000000000000", "status CapBnd:\t0000000000000000",
		"status CapPrm:\t0000000000000000", "status CapInh:\t0000000000000000", "status CapAmb:\t0000000000000000",
		"status Uid:\t65532\t65532\t65532\t65532", "status Gid:\t65532\t65532\t65532\t65532", "status Pid:\t1",
		"statfs /standard-code/cache 134217728 16384 <nil>", "statfs /dev/shm 67108864 4096 <nil>",
		"write /probe false", "write /workspace/probe true", "write /standard-code/cache/probe true", "write /dev/shm/probe true",
		"write /dev/probe false", "write /sys/fs/cgroup/probe false",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, out)
		}
	}
	for _, l := range lines {
		// HOME is the runtime's own and cannot be taken away.
		if strings.HasPrefix(l, "env ") && l != "env HOME=/" {
			t.Errorf("%q", l)
		}
		if strings.HasPrefix(l, "ns ") {
			kind, _, _ := strings.Cut(strings.TrimPrefix(l, "ns "), ":")
			if host, err := os.Readlink("/proc/self/ns/" + kind); err == nil && "ns "+host == l {
				t.Errorf("%s is the host's", kind)
			}
		}
		if strings.Contains(l, " "+isolation.CacheDir+" ") && (!strings.Contains(l, "nosuid,nodev") || strings.Contains(l, "noexec")) {
			t.Errorf("%q", l)
		}
		if strings.Contains(l, " "+isolation.ShmDir+" ") && !strings.Contains(l, "nosuid,nodev,noexec") {
			t.Errorf("%q", l)
		}
	}
}

func TestCreate_Twice(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	j.create()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			again, p, err := j.Create(t.Context(), j.spec)
			if err != nil || again != j.id || len(isolation.Compare(j.spec, p)) > 0 {
				t.Errorf("%s, want %s: %v", again, j.id, err)
			}
		})
	}
	wg.Wait()
	found, err := j.Find(t.Context(), j.owner.Admission)
	must(t, err)
	if len(found) != 1 || found[0].State != ports.StateCreated || !found[0].StartedAt.IsZero() {
		t.Errorf("%+v", found)
	}
}

func TestCreate_AtOnce(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	ids := make([]ports.ContainerID, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], _, err = j.Create(t.Context(), j.spec); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("%q", ids)
	}
}

// foreignContainer makes one with our name, as somebody else would.
func foreignContainer(t *testing.T, j *job) string {
	t.Helper()
	c, err := j.api(t.Context())
	must(t, err)
	made, err := c.ContainerCreate(t.Context(), &container.Config{Image: lab.image, Labels: map[string]string{"theirs": "yes"}}, nil, nil, nil, j.spec.Name())
	must(t, err)
	t.Cleanup(func() { _ = c.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{Force: true}) })
	return made.ID
}

func TestForeignContainerIsPreserved(t *testing.T) {
	j := newJob(t, "exit 0", isolation.StdinClosed)
	theirs := foreignContainer(t, j)
	_, _, err := j.Create(t.Context(), j.spec)
	wantCode(t, err, fault.RecoveryRequired)
	found, err := j.Find(t.Context(), j.owner.Admission)
	must(t, err)
	if len(found) != 1 || string(found[0].ID) != theirs {
		t.Errorf("%+v", found)
	}
	wantCode(t, j.Remove(t.Context(), ports.ContainerID(theirs), j.owner), fault.RecoveryRequired)
	owned, err := j.FindOwned(t.Context(), lab.inst)
	must(t, err)
	if slices.ContainsFunc(owned, func(c ports.Container) bool { return string(c.ID) == theirs }) {
		t.Error("it passes for ours")
	}
	if _, err := j.Inspect(t.Context(), ports.ContainerID(theirs)); err != nil {
		t.Error(err)
	}
}

// A5: whenever the context ends, what the engine made is found.
func TestCreate_Cancelled(t *testing.T) {
	for i := range 8 {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*4)*time.Millisecond)
		soon(t, time.Duration(i*4)*time.Millisecond+time.Second, "Create", func() {
			c, _, err := j.Create(ctx, j.spec)
			if err != nil && fault.CodeOf(err) != fault.EngineTimeout {
				t.Errorf("%v", err)
			}
			if c != "" {
				if _, err := j.Inspect(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
		cancel()
		c, p, err := j.Create(t.Context(), j.spec)
		must(t, err)
		if diffs := isolation.Compare(j.spec, p); len(diffs) > 0 {
			t.Errorf("%+v", diffs)
		}
		owned, err := j.FindOwned(t.Context(), lab.inst)
		must(t, err)
		n := 0
		for _, o := range owned {
			if o.Name == j.spec.Name() {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d containers", n)
		}
		must(t, j.Remove(t.Context(), c, j.owner))
	}
}

func TestCreate_Refusals(t *testing.T) {
	e := realEngine(t)
	t.Run("an absent image", func(t *testing.T) {
		owner := ports.Ownership{Admission: "adm_X", Installation: lab.inst}
		_, _, err := e.Create(t.Context(), newSpec(t, owner, "sha256:"+strings.Repeat("0", 64), "exit 0", isolation.StdinClosed))
		wantCode(t, err, fault.ImageUnavailable)
	})
	t.Run("A13: an absent source is not made", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		root := j.spec.Properties().Mounts[0].Source
		must(t, os.RemoveAll(root))
		_, _, err := j.Create(t.Context(), j.spec)
		wantCode(t, err, fault.EngineFailure)
		if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the engine made the source: %v", err)
		}
		found, err := j.Find(t.Context(), j.owner.Admission)
		must(t, err)
		if len(found) > 0 {
			t.Errorf("%+v", found)
		}
	})
}

// loadImage loads a variant of the test image.
func loadImage(t *testing.T, edit func(map[string]any)) string {
	t.Helper()
	e := realEngine(t)
	archive, tag, err := testImage(lab.dir, edit)
	must(t, err)
	must(t, e.Load(t.Context(), bytes.NewReader(archive)))
	t.Cleanup(func() { must(t, e.Untag(context.Background(), tag)) })
	id, err := imageID(t.Context(), e, tag)
	must(t, err)
	return id
}

// A8: what an image brings along is taken away, or shows.
func TestCreate_HostileImage(t *testing.T) {
	image := loadImage(t, func(c map[string]any) {
		c["Env"] = []string{"LD_PRELOAD=/evil.so", "A=b=c"}
		c["Cmd"] = []string{"prefix"}
		c["User"] = "root"
		c["WorkingDir"] = "/etc"
		c["StopSignal"] = "SIGUSR1"
		c["Healthcheck"] = map[string]any{"Test": []string{"CMD", "/standard-code/runner", "x", "exit 0"}, "Interval": 1000000}
		c["Volumes"] = map[string]any{"/leak": map[string]any{}}
		c["ExposedPorts"] = map[string]any{"80/tcp": map[string]any{}}
		c["OnBuild"] = []string{"RUN true"}
		c["Labels"] = map[string]string{"theirs": "yes"}
	})
	j := newJob(t, "look", isolation.StdinClosed)
	facts, err := j.InspectImage(t.Context(), image)
	must(t, err)
	if !facts.Healthcheck || len(facts.Env) < 2 || len(facts.Volumes) != 1 || len(facts.Ports) != 1 || len(facts.OnBuild) != 1 || len(facts.Cmd) != 1 || facts.Labels["theirs"] != "yes" {
		t.Errorf("%+v", facts)
	}
	j.spec = newSpec(t, j.owner, image, "look", isolation.StdinClosed)
	out, _, _ := j.run()
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "env ") && line != "env HOME=/\n" {
			t.Errorf("inherited: %s", line)
		}
	}
	var got []string
	for _, d := range isolation.Compare(j.spec, j.props) {
		got = append(got, d.Property)
	}
	if !slices.Equal(got, []string{"labels", "mounts", "extra"}) && !slices.Equal(got, []string{"labels", "extra"}) {
		t.Errorf("differences in %q: %q", got, j.props.Extra)
	}
	for _, what := range []string{"Config.Volumes=", "Config.ExposedPorts=", "mount./leak="} {
		if !slices.ContainsFunc(j.props.Extra, func(x string) bool { return strings.HasPrefix(x, what) }) {
			t.Errorf("no %q in %q", what, j.props.Extra)
		}
	}
}

func TestStart_OnceOnly(t *testing.T) {
	j := newJob(t, "out 1 0", isolation.StdinClosed)
	out, _, _ := j.run()
	wantCode(t, j.Start(t.Context(), j.id), fault.RecoveryRequired)
	c, err := j.Inspect(t.Context(), j.id)
	must(t, err)
	if out != "a" || c.State != ports.StateExited || c.StartedAt.IsZero() || c.FinishedAt.Before(c.StartedAt) {
		t.Errorf("%q %+v", out, c)
	}
}

// A4: a container that cannot start did not exit with 127, and its wait ends with
// its context.
func TestStart_Failure(t *testing.T) {
	image := loadImage(t, nil)
	j := newJob(t, "exit 0", isolation.StdinClosed)
	j.spec = newSpec(t, j.owner, image, "exit 0", isolation.StdinClosed)
	// The runner's directory is in the image; a Drydock that is not a directory
	// makes the runtime fail.
	root := j.spec.Properties().Mounts[0].Source
	j.create()
	must(t, os.RemoveAll(root))
	must(t, os.WriteFile(root, nil, 0o644))
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() { _, err := j.Wait(ctx, j.id); waited <- err }()
	err := j.Start(t.Context(), j.id)
	wantCode(t, err, fault.StartFailed)
	select {
	case err := <-waited:
		t.Errorf("Wait answered: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	cancel()
	soon(t, time.Second, "Wait", func() { wantCode(t, <-waited, fault.EngineTimeout) })
	c, err := j.Inspect(t.Context(), j.id)
	must(t, err)
	if c.State != ports.StateCreated || !c.StartedAt.IsZero() || c.Error == "" {
		t.Errorf("%+v", c)
	}
	must(t, j.Remove(t.Context(), j.id, j.owner))
}

// A3
func TestWait(t *testing.T) {
	t.Run("not before the start", func(t *testing.T) {
		j := newJob(t, "exit 3", isolation.StdinClosed)
		j.create()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := j.Wait(ctx, j.id)
		wantCode(t, err, fault.EngineTimeout)
		exit := j.waits()
		must(t, j.Start(t.Context(), j.id))
		if got := exit(); got != (ports.Exit{Code: 3}) {
			t.Errorf("%+v", got)
		}
		got, err := j.Wait(t.Context(), j.id)
		must(t, err)
		if got != (ports.Exit{Code: 3}) {
			t.Errorf("after the end: %+v", got)
		}
	})
	t.Run("whenever it begins", func(t *testing.T) {
		before := runtime.NumGoroutine()
		for i := range 6 {
			j := newJob(t, "exit 4", isolation.StdinClosed)
			j.create()
			must(t, j.Start(t.Context(), j.id))
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			soon(t, 5*time.Second, "Wait", func() {
				if got := j.waits()(); got != (ports.Exit{Code: 4}) {
					t.Errorf("%+v", got)
				}
			})
			must(t, j.Remove(t.Context(), j.id, j.owner))
		}
		time.Sleep(50 * time.Millisecond)
		if after := runtime.NumGoroutine(); after > before+2 {
			t.Errorf("%d goroutines, then %d", before, after)
		}
	})
	t.Run("a removed container has no exit", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.create()
		waited := make(chan error, 1)
		go func() { _, err := j.Wait(t.Context(), j.id); waited <- err }()
		time.Sleep(100 * time.Millisecond)
		must(t, j.Remove(t.Context(), j.id, j.owner))
		soon(t, 5*time.Second, "Wait", func() { wantCode(t, <-waited, fault.NotFound) })
	})
}

// A15: the end of the output is the end of the attachment.
func TestAttach_DeliversEverything(t *testing.T) {
	const big, small = 20_000_000, 200_000
	want := func(n int) [32]byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('a' + i%26)
		}
		return sha256.Sum256(b)
	}
	for range 2 {
		j := newJob(t, "out 20000000 200000", isolation.StdinClosed)
		out, errs, exit := j.run()
		if sha256.Sum256([]byte(out)) != want(big) || sha256.Sum256([]byte(errs)) != want(small) || exit.Code != 0 {
			t.Errorf("%d and %d bytes, %+v", len(out), len(errs), exit)
		}
		must(t, j.Remove(t.Context(), j.id, j.owner))
	}
}

// A1: a reader that stopped wedges kill, inspect and removal, until we let go.
func TestAttach_ReaderStops(t *testing.T) {
	spam := func(t *testing.T) (*job, ports.Output) {
		j := newJob(t, "spam", isolation.StdinClosed)
		j.create()
		out, err := j.Attach(t.Context(), j.id)
		must(t, err)
		must(t, j.Start(t.Context(), j.id))
		_, err = io.CopyN(io.Discard, out.Stdout, 1<<20)
		must(t, err)
		return j, out
	}
	t.Run("Kill", func(t *testing.T) {
		j, out := spam(t)
		exit := j.waits()
		soon(t, 4*time.Second, "Kill", func() { must(t, j.Kill(t.Context(), j.id)) })
		soon(t, 3*time.Second, "Wait", func() {
			if got := exit(); got != (ports.Exit{Code: 137}) {
				t.Errorf("%+v", got)
			}
		})
		if _, err := io.Copy(io.Discard, out.Stdout); err == nil {
			t.Error("the reader is not told that output was let go")
		}
		must(t, j.Remove(t.Context(), j.id, j.owner))
	})
	t.Run("Remove", func(t *testing.T) {
		j, _ := spam(t)
		soon(t, 4*time.Second, "Remove", func() { must(t, j.Remove(t.Context(), j.id, j.owner)) })
	})
	t.Run("Close", func(t *testing.T) {
		j, out := spam(t)
		soon(t, 200*time.Millisecond, "Close", func() { must(t, out.Close()) })
		soon(t, 3*time.Second, "Kill", func() { must(t, j.Kill(t.Context(), j.id)) })
	})
	t.Run("a slow reader loses nothing to Kill", func(t *testing.T) {
		j, out := spam(t)
		killed := make(chan error, 1)
		go func() { killed <- j.Kill(t.Context(), j.id) }()
		buf := make([]byte, 256<<10)
		for {
			time.Sleep(20 * time.Millisecond)
			if _, err := out.Stdout.Read(buf); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				break
			}
		}
		must(t, <-killed)
	})
}

// A2: 50 of 50.
func TestStdin_EmptyPipeEnds(t *testing.T) {
	var wg sync.WaitGroup
	next := make(chan *job)
	for range 3 {
		wg.Go(func() {
			for j := range next {
				emptyPipe(j)
			}
		})
	}
	for range 50 {
		next <- newJob(t, "stdin", isolation.StdinPipe)
	}
	close(next)
	wg.Wait()
}

func emptyPipe(j *job) {
	ctx, cancel := context.WithTimeout(j.t.Context(), 20*time.Second)
	defer cancel()
	err := func() (err error) {
		if j.id, _, err = j.Create(ctx, j.spec); err != nil {
			return err
		}
		out, err := j.Attach(ctx, j.id)
		if err != nil {
			return err
		}
		defer out.Close()
		go io.Copy(io.Discard, out.Stdout)
		if err := j.Start(ctx, j.id); err != nil {
			return err
		}
		in, err := j.AttachStdin(ctx, j.id)
		if err != nil {
			return err
		}
		if err := in.Close(); err != nil {
			return err
		}
		report, err := io.ReadAll(out.Stderr)
		if err != nil {
			return err
		}
		if string(report) != "0 <nil>" {
			return errors.New(string(report))
		}
		if exit, err := j.Wait(ctx, j.id); err != nil || exit.Code != 0 {
			return errors.Join(err, errors.New("exit"))
		}
		return j.Remove(ctx, j.id, j.owner)
	}()
	if err != nil {
		j.t.Error(err)
	}
}

func TestStdin_Delivers(t *testing.T) {
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	j := newJob(t, "stdin", isolation.StdinPipe)
	j.create()
	read := j.outputs()
	must(t, j.Start(t.Context(), j.id))
	in, err := j.AttachStdin(t.Context(), j.id)
	must(t, err)
	for chunk := range slices.Chunk(content, 64<<10) {
		_, err := in.Write(chunk)
		must(t, err)
	}
	must(t, in.Close())
	out, report := read()
	if out != string(content) || report != "1048576 <nil>" {
		t.Errorf("%d bytes back, %s", len(out), report)
	}
	_, err = j.AttachStdin(t.Context(), j.id)
	if err == nil {
		t.Error("a second attachment")
	}
}

func TestStdin_CommandThatNeverReads(t *testing.T) {
	j := newJob(t, "noread 60000", isolation.StdinPipe)
	j.create()
	read := j.outputs()
	must(t, j.Start(t.Context(), j.id))
	in, err := j.AttachStdin(t.Context(), j.id)
	must(t, err)
	wrote := make(chan error, 1)
	go func() { _, err := in.Write(make([]byte, 8<<20)); wrote <- err }()
	time.Sleep(100 * time.Millisecond)
	must(t, j.Kill(t.Context(), j.id))
	soon(t, 5*time.Second, "Write", func() {
		if err := <-wrote; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v", err)
		}
	})
	must(t, in.Close())
	if out, _ := read(); out != "ready\n" {
		t.Errorf("%q", out)
	}
}

// ready starts a sleeping command and returns once it runs.
func ready(t *testing.T) (*job, func() ports.Exit) {
	t.Helper()
	j := newJob(t, "sleep 60000", isolation.StdinClosed)
	j.create()
	out, err := j.Attach(t.Context(), j.id)
	must(t, err)
	exit := j.waits()
	must(t, j.Start(t.Context(), j.id))
	_, err = io.ReadFull(out.Stdout, make([]byte, len("ready\n")))
	must(t, err)
	go io.Copy(io.Discard, out.Stdout)
	go io.Copy(io.Discard, out.Stderr)
	t.Cleanup(func() { _ = out.Close() })
	return j, exit
}

func TestStopKillFreezeThaw(t *testing.T) {
	t.Run("Stop", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Stop(t.Context(), j.id))
		if got := exit(); got != (ports.Exit{Code: 15}) {
			t.Errorf("%+v", got)
		}
		for _, again := range []func(context.Context, ports.ContainerID) error{j.Stop, j.Kill, j.Freeze, j.Thaw} {
			must(t, again(t.Context(), j.id))
		}
	})
	t.Run("Kill", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Kill(t.Context(), j.id))
		if got := exit(); got != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("killed by another", func(t *testing.T) {
		j, exit := ready(t)
		other, err := New(Config{Socket: os.Getenv("CYBERAGENT_DOCKER_SOCKET")})
		must(t, err)
		must(t, other.Kill(t.Context(), j.id))
		if got := exit(); got != (ports.Exit{Code: 137, Interrupted: true}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("Freeze and Thaw", func(t *testing.T) {
		j, exit := ready(t)
		must(t, j.Freeze(t.Context(), j.id))
		must(t, j.Freeze(t.Context(), j.id))
		c, err := j.Inspect(t.Context(), j.id)
		must(t, err)
		if c.State != ports.StatePaused {
			t.Errorf("%+v", c)
		}
		must(t, j.Thaw(t.Context(), j.id))
		must(t, j.Thaw(t.Context(), j.id))
		must(t, j.Freeze(t.Context(), j.id))
		must(t, j.Kill(t.Context(), j.id)) // also a frozen one
		if got := exit(); got != (ports.Exit{Code: 137}) {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a container that never ran", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.create()
		for _, fn := range []func(context.Context, ports.ContainerID) error{j.Stop, j.Kill, j.Freeze, j.Thaw} {
			must(t, fn(t.Context(), j.id))
		}
	})
	t.Run("no container", func(t *testing.T) {
		e := realEngine(t)
		for _, fn := range []func(context.Context, ports.ContainerID) error{e.Stop, e.Kill, e.Freeze, e.Thaw, e.Start} {
			wantCode(t, fn(t.Context(), fakeID), fault.NotFound)
			wantCode(t, fn(t.Context(), ""), fault.NotFound)
		}
		_, err := e.Wait(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.Attach(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.AttachStdin(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
		_, err = e.ReadBack(t.Context(), fakeID)
		wantCode(t, err, fault.NotFound)
	})
}

func TestWait_OutOfMemory(t *testing.T) {
	j := newJob(t, "eat", isolation.StdinClosed)
	_, _, exit := j.run()
	if exit != (ports.Exit{Code: 137, OOMKilled: true}) {
		t.Errorf("%+v", exit)
	}
}

// A12
func TestRemove(t *testing.T) {
	t.Run("at once, while it runs", func(t *testing.T) {
		j, _ := ready(t)
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := j.Remove(t.Context(), j.id, j.owner); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		_, err := j.Inspect(t.Context(), j.id)
		wantCode(t, err, fault.NotFound)
		must(t, j.Remove(t.Context(), j.id, j.owner))
	})
	t.Run("another's", func(t *testing.T) {
		j := newJob(t, "exit 0", isolation.StdinClosed)
		j.create()
		other := ports.Ownership{Admission: j.owner.Admission, Installation: "inst_X"}
		wantCode(t, j.Remove(t.Context(), j.id, other), fault.RecoveryRequired)
		wantCode(t, j.Remove(t.Context(), j.id[:12], j.owner), "") // the beginning of an id is no container
		if _, err := j.Inspect(t.Context(), j.id); err != nil {
			t.Error(err)
		}
	})
}

func TestProbe(t *testing.T) {
	e := realEngine(t)
	f, err := e.Probe(t.Context())
	must(t, err)
	if f.Reachability != admission.Reachable || !f.APISupported || f.Version == "" || f.APIVersion == "" || f.OSType != "linux" || f.Architecture != runtime.GOARCH ||
		f.Desktop || f.Rootless || f.UsernsRemap || !f.Seccomp || !f.SwapLimit || !f.PidsLimit || !f.MemoryLimit || f.CPUs < 1 || f.MemoryBytes < 1<<30 || f.Runtime != "runc" || f.CgroupVersion == "" {
		t.Errorf("%+v", f)
	}
}

func TestImages(t *testing.T) {
	e := realEngine(t)
	facts, err := e.InspectImage(t.Context(), lab.image)
	must(t, err)
	if !facts.Present || facts.ID != lab.image || facts.OS != "linux" || facts.Arch != runtime.GOARCH || !slices.Equal(facts.Entrypoint, []string{isolation.RunnerPath}) ||
		len(facts.Cmd)+len(facts.Env)+len(facts.Volumes)+len(facts.Ports)+len(facts.OnBuild) > 0 || facts.Healthcheck || facts.SizeBytes == 0 || facts.Labels[isolation.LabelProtocol] != "test" {
		t.Errorf("%+v", facts)
	}
	absent, err := e.InspectImage(t.Context(), "sha256:"+strings.Repeat("0", 64))
	must(t, err)
	if absent.Present {
		t.Errorf("%+v", absent)
	}
	name, _, _ := strings.Cut(lab.tag, ":")
	id, err := e.ResolveBase(t.Context(), name+"@"+lab.image)
	must(t, err)
	if id != lab.image {
		t.Errorf("%q", id)
	}
	_, err = e.ResolveBase(t.Context(), "other@"+lab.image)
	wantCode(t, err, fault.BaseAbsent)

	r, err := e.Export(t.Context(), lab.image)
	must(t, err)
	archive, err := io.ReadAll(r)
	must(t, err)
	must(t, r.Close())
	if !bytes.Contains(archive, []byte("manifest.json")) {
		t.Errorf("%d bytes without a manifest", len(archive))
	}
	must(t, e.Load(t.Context(), bytes.NewReader(archive)))
	_, err = e.Export(t.Context(), "sha256:"+strings.Repeat("0", 64))
	if fault.CodeOf(err) != fault.NotFound && fault.CodeOf(err) != fault.EngineFailure {
		t.Errorf("%v", err)
	}

	for name, bad := range map[string][]byte{"no archive": []byte("nonsense"), "nothing": nil, "no manifest": tarball(func(w *tar.Writer) { file(w, "x", nil, 0o644) })} {
		if err := e.Load(t.Context(), bytes.NewReader(bad)); err == nil {
			t.Errorf("%s is loaded", name)
		}
	}
	for _, bad := range []string{lab.image, "", "name", "name@" + lab.image, strings.TrimPrefix(lab.image, "sha256:")} {
		wantCode(t, e.Untag(t.Context(), bad), fault.InvalidArgument)
	}
	must(t, e.Untag(t.Context(), "cyberagent-docker-test:absent"))
}

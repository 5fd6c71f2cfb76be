package gitdrydock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"cyberagent/domain/fault"
)

// gitDeadline bounds one git command. It is far above what any of them takes,
// and there for what a strange repository can do: a FIFO where git expects a
// file blocks it for ever.
const gitDeadline = 5 * time.Minute

// longDeadline is for commands whose work is as large as a tree.
const longDeadline = time.Hour

// quickDeadline is for questions about the source that read a few files of its
// git directory, whatever its size.
const quickDeadline = 20 * time.Second

// gitCall is one git command.
type gitCall struct {
	gitDir   string      // always explicit: nothing is discovered
	workTree string      // the empty directory when empty
	config   [][2]string // over the fixed configuration
	store    string      // the object directory when it is not the git directory's own
	args     []string    // command, options, and operands behind "--" or "--end-of-options"
	stdin    io.Reader
	// stdout reads the whole output; without it at most gitOutput bytes are
	// returned and more is an error.
	stdout  func(io.Reader) error
	timeout time.Duration // gitDeadline when zero
}

const (
	gitOutput = 8 << 20
	gitStderr = 8 << 10
)

// gitError is git's own failure: its exit status and the beginning of what it
// said.
type gitError struct {
	command string
	exit    int
	stderr  string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: exit status %d: %s", e.command, e.exit, e.stderr)
}

// fixedConfig overrules the repository's own configuration: nothing in it may
// start a program, fetch an object, or change an answer. Values are given in
// the environment, where no quoting can go wrong.
var fixedConfig = [][2]string{
	{"core.hooksPath", "/dev/null"},
	{"core.fsmonitor", "false"},
	{"core.untrackedCache", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.excludesFile", "/dev/null"},
	{"core.pager", "cat"},
	{"core.editor", "false"},
	{"core.askPass", "false"},
	{"core.sshCommand", "false"},
	{"core.alternateRefsCommand", "false"},
	{"core.preloadIndex", "false"},
	{"core.quotePath", "true"},
	{"core.protectHFS", "false"},
	{"core.protectNTFS", "false"},
	{"core.fsync", "objects,reference"},
	{"core.splitIndex", "false"},
	{"index.sparse", "false"},
	{"credential.helper", ""},
	{"protocol.allow", "never"},
	{"submodule.recurse", "false"},
	{"diff.submodule", "short"},
	{"diff.ignoreSubmodules", "all"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"gpg.program", "false"},
	{"commit.gpgSign", "false"},
	{"user.useConfigOnly", "false"},
	{"safe.directory", "*"},
}

// gitEnv is the whole environment of git: an allowlist of our own, nothing of
// the operator's.
func (l layout) gitEnv(c gitCall) []string {
	void := l.void()
	env := []string{
		"PATH=" + filepath.Dir(l.git) + ":/usr/bin:/bin",
		"HOME=" + void, "XDG_CONFIG_HOME=" + void,
		"LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1",
		// No protocol has the empty name, so every transport is refused, whatever
		// protocol.<name>.allow a repository sets.
		"GIT_ALLOW_PROTOCOL=",
		"GIT_DEFAULT_REF_FORMAT=files",
		"GIT_ASKPASS=false", "SSH_ASKPASS=false", "GIT_SSH_COMMAND=false",
		"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
		"GIT_AUTHOR_NAME=cyberagent", "GIT_AUTHOR_EMAIL=cyberagent@localhost",
		"GIT_COMMITTER_NAME=cyberagent", "GIT_COMMITTER_EMAIL=cyberagent@localhost",
	}
	if c.store != "" {
		env = append(env, "GIT_OBJECT_DIRECTORY="+c.store)
	}
	config := slices.Concat(fixedConfig, c.config) // of the same key, the last one holds
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config)))
	for i, kv := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	return env
}

// run runs one git command without a shell, in an empty directory, in a process
// group of its own that is killed as a whole when ctx or the deadline ends.
// git's own failure is a *gitError.
func (l layout) run(ctx context.Context, c gitCall) ([]byte, error) {
	timeout := c.timeout
	if timeout == 0 {
		timeout = gitDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	work := c.workTree
	if work == "" {
		work = l.void()
	}
	args := append([]string{"--no-pager", "--no-optional-locks", "--no-replace-objects",
		"--git-dir=" + c.gitDir, "--work-tree=" + work}, c.args...)
	cmd := exec.CommandContext(ctx, l.git, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.ExtraFiles = l.void(), l.gitEnv(c), c.stdin, l.hold
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	stderr := &bounded{most: gitStderr}
	cmd.Stderr = stderr

	var out bytes.Buffer
	read := c.stdout
	if read == nil {
		read = func(r io.Reader) error {
			n, err := io.Copy(&out, io.LimitReader(r, gitOutput+1))
			if err == nil && n > gitOutput {
				err = fmt.Errorf("git %s wrote more than %d bytes", c.args[0], gitOutput)
			}
			return err
		}
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot run git")
	}
	if c.stdout != nil {
		widen(pipe)
	}
	if err := cmd.Start(); err != nil {
		return nil, fault.Wrap(fault.Internal, err, "cannot run git")
	}
	readErr := read(pipe)
	if readErr != nil {
		cancel()
	}
	waitErr := cmd.Wait()
	switch {
	case readErr != nil && ctx.Err() == nil, readErr != nil && waitErr == nil:
		return nil, readErr
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, late(c)
	case readErr != nil:
		return nil, readErr
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	switch {
	case errors.As(waitErr, &exit):
		err := &gitError{command: c.args[0], exit: exit.ExitCode(), stderr: stderr.line()}
		if full(l.home) {
			return nil, fault.Wrap(fault.DiskFull, err, "the disk is full").Hint("free some disk space, then repeat")
		}
		return nil, err
	case waitErr != nil:
		return nil, fault.Wrap(fault.Internal, waitErr, "git %s failed", c.args[0])
	}
	return out.Bytes(), nil
}

// pipeSize is what the kernel lets anybody have by default (fs.pipe-max-size).
const pipeSize = 1 << 20

// widen lets git go on while what it said is worked on. With the usual 64 KiB both
// sides wait for each other after every few files, and each wait costs more than the
// reading: a rewind of 1,000 files took a third more processor time. Best effort: who
// has many pipes is refused larger ones.
func widen(pipe io.ReadCloser) {
	f, ok := pipe.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}

// late says what a git that did not answer means: for a question about the source
// that reads a few files, that one of them is none.
func late(c gitCall) error {
	if c.timeout == quickDeadline {
		return unsupported(nil, "git %s did not answer in time", c.args[0]).
			Hint("look at %s: something there holds up whoever reads it, such as a FIFO in a file's place or a disk that stands still", show(c.gitDir))
	}
	return fault.New(fault.Internal, "git %s did not answer in time", c.args[0]).
		Hint("see whether the disk works, then repeat the call")
}

// full says that a file system has no room to speak of. git does not tell one
// failure from another.
func full(path string) bool {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return false
	}
	return int64(s.Bavail)*s.Bsize < 1<<20 || s.Files > 0 && s.Ffree == 0
}

// bounded keeps the first bytes that are written to it and takes the rest.
type bounded struct {
	most int
	buf  bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.buf.Len(); room > 0 {
		b.buf.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// line is what was kept as one printable line.
func (b *bounded) line() string {
	s := strings.Join(strings.FieldsFunc(b.buf.String(), unicode.IsControl), "; ")
	return strings.ToValidUTF8(s, "?")
}

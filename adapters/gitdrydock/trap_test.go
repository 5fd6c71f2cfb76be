//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cyberagent/domain/drydock"
	"cyberagent/domain/id"
)

// A trap is a program that leaves a marker. This test puts it behind every
// mechanism by which git starts a program, in the source, in the user's own
// configuration, in the environment and in the tree, and then runs every verb.

// hooks are all that git documents, whoever runs them.
var hooks = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit
	prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update
	proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite
	sendemail-validate fsmonitor-watchman post-index-change p4-pre-submit`)

// evilConfig names the trap in every setting that git runs.
func evilConfig(trap, hookDir string) string {
	return strings.NewReplacer("TRAP", trap, "HOOKS", hookDir).Replace(`
[core]
	hooksPath = HOOKS
	fsmonitor = TRAP fsmonitor
	pager = TRAP pager
	editor = TRAP editor
	askPass = TRAP
	sshCommand = TRAP ssh
	gitProxy = TRAP
	alternateRefsCommand = TRAP alternate
	untrackedCache = true
	attributesFile = HOOKS/attributes
	autocrlf = true
[sequence]
	editor = TRAP sequence
[filter "evil"]
	clean = TRAP clean
	smudge = TRAP smudge
	required = true
[filter "evilprocess"]
	process = TRAP process
	required = true
[diff]
	external = TRAP external
[diff "evil"]
	textconv = TRAP textconv
	command = TRAP diffcommand
[merge "evil"]
	driver = TRAP merge
[pager]
	diff = TRAP pagerdiff
	log = TRAP pagerlog
	worktree = TRAP pagerworktree
	config = TRAP pagerconfig
[credential]
	helper = !TRAP credential
[gpg]
	program = TRAP
[gpg "ssh"]
	program = TRAP
	defaultKeyCommand = TRAP
[commit]
	gpgSign = true
[tag]
	gpgSign = true
[interactive]
	diffFilter = TRAP diffFilter
[uploadpack]
	packObjectsHook = TRAP
[protocol]
	allow = always
[protocol "ext"]
	allow = always
[protocol "file"]
	allow = always
[remote "origin"]
	url = ext::TRAP remote
	fetch = +refs/heads/*:refs/remotes/origin/*
	uploadpack = TRAP uploadpack
	receivepack = TRAP receivepack
	vcs = evil
	promisor = true
	partialclonefilter = blob:none
[extensions]
	partialClone = origin
[submodule]
	recurse = true
[submodule "a"]
	update = !TRAP submodule
	url = ext::TRAP url
[diff "submodule"]
	command = TRAP
[trailer "x"]
	command = TRAP trailer
	cmd = TRAP trailer
[alias]
	ls-files = !TRAP alias
	worktree = !TRAP alias
	update-ref = !TRAP alias
	rev-parse = !TRAP alias
	cat-file = !TRAP alias
[fetch]
	recurseSubmodules = true
[gc]
	auto = 1
	autoDetach = false
[maintenance]
	auto = true
[tar "x"]
	command = TRAP tar
[man "x"]
	cmd = TRAP
[browser "x"]
	cmd = TRAP
[mergetool "x"]
	cmd = TRAP
[difftool "x"]
	cmd = TRAP
[init]
	templateDir = HOOKS/template
[checkout]
	defaultRemote = origin
[worktree]
	guessRemote = true
`)
}

const evilAttributes = "* filter=evil diff=evil merge=evil text eol=crlf ident\n*.p filter=evilprocess\n"

// layTraps prepares the source and the user's files, and returns the marker log
// and the environment of a user who has all of it configured.
func layTraps(t *testing.T, base, source string) (log string, env []string) {
	t.Helper()
	log = filepath.Join(base, "markers")
	trap := filepath.Join(base, "trap")
	hookDir := filepath.Join(base, "hooks")
	script := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> %s\ncat >/dev/null 2>&1 </dev/null\nexit 0\n", log)
	mustWrite(t, base, map[string]string{"markers": "", "trap": script, "hooks/attributes": evilAttributes, "hooks/template/hooks/post-checkout": script})
	for _, h := range hooks {
		mustWrite(t, hookDir, map[string]string{h: script})
		mustWrite(t, filepath.Join(source, ".git", "hooks"), map[string]string{h: script})
		mustDo(t, os.Chmod(filepath.Join(hookDir, h), 0o755))
		mustDo(t, os.Chmod(filepath.Join(source, ".git", "hooks", h), 0o755))
	}
	mustDo(t, os.Chmod(trap, 0o755))
	mustDo(t, os.Chmod(filepath.Join(hookDir, "template/hooks/post-checkout"), 0o755))
	mustDo(t, os.Chmod(log, 0o666))
	evil := evilConfig(trap, hookDir)
	home := filepath.Join(base, "userhome")
	mustWrite(t, home, map[string]string{".gitconfig": evil, ".config/git/config": evil, ".config/git/attributes": evilAttributes})
	config, err := os.ReadFile(filepath.Join(source, ".git", "config"))
	mustDo(t, err)
	included := filepath.Join(base, "included")
	mustWrite(t, base, map[string]string{"included": evil})
	mustWrite(t, source, map[string]string{
		".git/config":          string(config) + evil + "[include]\n\tpath = " + included + "\n[includeIf \"gitdir:/\"]\n\tpath = " + included + "\n",
		".git/info/attributes": evilAttributes,
	})
	env = []string{
		"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL=" + home + "/.gitconfig",
		"GIT_CONFIG_SYSTEM=" + home + "/.gitconfig", "GIT_EXTERNAL_DIFF=" + trap, "GIT_PAGER=" + trap, "PAGER=" + trap,
		"GIT_EDITOR=" + trap, "GIT_SSH=" + trap, "GIT_SSH_COMMAND=" + trap, "GIT_ASKPASS=" + trap, "SSH_ASKPASS=" + trap,
		"GIT_PROXY_COMMAND=" + trap, "GIT_DIR=/nonexistent", "GIT_WORK_TREE=/nonexistent", "GIT_INDEX_FILE=/nonexistent/index",
		"GIT_OBJECT_DIRECTORY=/nonexistent", "GIT_ALTERNATE_OBJECT_DIRECTORIES=/nonexistent", "GIT_TEMPLATE_DIR=" + hookDir + "/template",
		"GIT_TRACE=" + log, "GIT_TRACE2=" + log, "GIT_TRACE2_EVENT=" + log, "GIT_TRACE_SETUP=" + log, "GIT_NAMESPACE=evil",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=" + trap,
		"GIT_CONFIG_PARAMETERS='core.fsmonitor'='" + trap + "'", "GIT_ATTR_SOURCE=HEAD", "GIT_ALLOW_PROTOCOL=ext:file",
	}
	return log, env
}

// everyVerb makes a Drydock, fills it with traps as a hostile command would,
// and calls everything this package offers.
func everyVerb(ctx context.Context, d *Drydocks, source string) error {
	src, err := d.Inspect(ctx, source)
	if err != nil {
		return fmt.Errorf("Inspect: %w", err)
	}
	p, _, err := d.Create(ctx, drydockID(1), checkpointID(1), src)
	if err != nil {
		return fmt.Errorf("Create: %w", err)
	}
	if _, _, err := d.Create(ctx, drydockID(1), checkpointID(1), src); err != nil {
		return fmt.Errorf("Create again: %w", err)
	}
	trap := filepath.Join(filepath.Dir(source), "trap")
	evil := evilConfig(trap, filepath.Join(filepath.Dir(source), "hooks"))
	for name, content := range map[string]string{
		".gitattributes": evilAttributes, "file.txt": "one\ntwo\n", "x.p": "p",
		".gitmodules":      "[submodule \"n\"]\n\tpath = nested\n\turl = ext::" + trap + "\n\tupdate = !" + trap + "\n",
		"nested/.git/HEAD": "ref: refs/heads/main\n", "nested/.git/config": evil, "nested/.git/refs/x": "", "nested/.git/objects/x": "",
		"nested/.git/hooks/post-checkout": "#!/bin/sh\n" + trap + "\n", "nested/file": "x",
		"HEAD": "ref: refs/heads/main\n", "config": evil, "refs/x": "", "objects/x": "", "hooks/post-checkout": "#!/bin/sh\n" + trap + "\n",
		"gitfile/.git": "gitdir: ../nested/.git\n", "gitfile/x": "x",
		"nested/.git/objects/info/alternates": filepath.Join(filepath.Dir(source), "alternate") + "\n",
		"objects/info/alternates":             filepath.Join(filepath.Dir(source), "alternate") + "\n",
		"commondir":                           "nested/.git\n", "gitdir": "nested/.git\n",
		"deep/.GIT/config": evil, "info/attributes": evilAttributes,
		".git-blame-ignore-revs": "x", ".gitconfig": evil, ".config/git/config": evil, ".lfsconfig": "[lfs]\n\turl = ext::" + trap + "\n",
	} {
		path := filepath.Join(p.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			return err
		}
	}
	if _, _, err := d.Drift(ctx, p, checkpointID(1), 100); err != nil {
		return fmt.Errorf("Drift: %w", err)
	}
	c, err := d.Capture(ctx, p, checkpointID(1), checkpointID(2))
	if err != nil {
		return fmt.Errorf("Capture: %w", err)
	}
	if len(c.Excluded) != 3 || c.Changed.Total() == 0 {
		return fmt.Errorf("the Capture is not of the traps: %+v", c)
	}
	if _, err := d.Capture(ctx, p, checkpointID(1), checkpointID(2)); err != nil {
		return fmt.Errorf("Capture again: %w", err)
	}
	if _, err := d.Changes(ctx, p, "", checkpointID(2)); err != nil {
		return fmt.Errorf("Changes: %w", err)
	}
	var out bytes.Buffer
	if err := d.Diff(ctx, p, checkpointID(1), checkpointID(2), &out); err != nil || !strings.Contains(out.String(), "+two") {
		return fmt.Errorf("Diff: %w %s", err, out.String())
	}
	if err := d.Verify(ctx, p); err != nil {
		return fmt.Errorf("Verify: %w", err)
	}
	if err := d.CheckWorkdir(ctx, p, "nested"); err != nil {
		return fmt.Errorf("CheckWorkdir: %w", err)
	}
	if _, err := d.Usage(ctx, p.Root); err != nil {
		return fmt.Errorf("Usage: %w", err)
	}
	if _, err = d.Mask(ctx); err != nil {
		return fmt.Errorf("Mask: %w", err)
	}
	return laterVerbs(ctx, d, src, p)
}

// laterVerbs goes on with the life of the Drydock: back and forth between
// Checkpoints full of traps, a fork, a delivery, and its end.
func laterVerbs(ctx context.Context, d *Drydocks, src drydock.Source, p drydock.Place) error {
	at := checkpointID(2)
	for n, target := range []id.Checkpoint{checkpointID(1), checkpointID(2)} {
		plan, err := d.Plan(ctx, p, at, target, 100)
		if err != nil {
			return fmt.Errorf("Plan: %w", err)
		}
		o := drydock.RewindOrder{Current: at, Target: target, Saved: checkpointID(10 + 2*n), Next: checkpointID(11 + 2*n), Digest: plan.Digest}
		if _, err := d.Rewind(ctx, p, o, unheard); err != nil {
			return fmt.Errorf("Rewind: %w", err)
		}
		if _, err := d.Rewind(ctx, p, o, unheard); err != nil {
			return fmt.Errorf("Rewind again: %w", err)
		}
		at = o.Next
	}
	delivery, err := d.Deliver(ctx, p, at)
	if err != nil {
		return fmt.Errorf("Deliver: %w", err)
	}
	if b, err := os.ReadFile(delivery.File); err != nil || !strings.Contains(string(b), "+two") {
		return fmt.Errorf("the delivery has no content: %w", err)
	}
	child, _, err := d.Create(ctx, drydockID(2), checkpointID(20), src)
	if err != nil {
		return fmt.Errorf("Create of a fork: %w", err)
	}
	if _, err := d.Adopt(ctx, child, checkpointID(20), checkpointID(21), p, at); err != nil {
		return fmt.Errorf("Adopt: %w", err)
	}
	if _, err := d.History(ctx, p); err != nil {
		return fmt.Errorf("History: %w", err)
	}
	if _, _, err := d.Compact(ctx, p); err != nil {
		return fmt.Errorf("Compact: %w", err)
	}
	if !d.Idle(ctx, drydockID(2)) {
		return errors.New("Idle: the fork is busy")
	}
	record := drydock.Drydock{ID: drydockID(2), Source: src, Place: child}
	if _, err := d.Survey(ctx, record); err != nil {
		return fmt.Errorf("Survey: %w", err)
	}
	r, err := d.Clean(ctx, record)
	if err != nil || r.Pending || len(r.Kept) > 0 {
		return fmt.Errorf("Clean: %w %+v", err, r)
	}
	_, err = d.Strays(ctx, []id.Drydock{drydockID(1)})
	return err
}

func TestTraps_NoVerbRunsWhatTheTreeOrAConfigurationChose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		uid    int
		prefix func(testing.TB) []string
	}{
		{"AsRoot", 0, func(testing.TB) []string { return nil }},
		{"AsAnOrdinaryUser", operator, asOperator},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() != 0 {
				t.Fatal("this test becomes other users: run it as root")
			}
			base := openTemp(t, tt.uid)
			source := filepath.Join(base, "source")
			mustDo(t, os.Rename(mustRepo(t, map[string]string{"a/file.txt": "1\n", "b.p": "2\n", ".gitattributes": evilAttributes}), source))
			log, env := layTraps(t, base, source)
			mustWrite(t, source, map[string]string{"a/file.txt": "dirty\n", "untracked/x": "1"})
			if out, err := exec.Command("chown", "-R", fmt.Sprint(tt.uid), base).CombinedOutput(); err != nil {
				t.Fatalf("chown: %v %s", err, out)
			}
			cmd := stageCommand(t, tt.prefix(t), order{Stage: "verbs", Home: filepath.Join(base, "home"), Source: source})
			cmd.Env = append(cmd.Env, env...)
			out, err := cmd.Output()
			if err != nil || !bytes.Contains(out, []byte(`"Error":""`)) {
				t.Fatalf("the verbs: %v %s", err, out)
			}
			if marks, err := os.ReadFile(log); err != nil || len(marks) > 0 {
				t.Errorf("something ran (%v):\n%s", err, marks)
			}
			// The traps are live: one careless git in the worktree sets them off.
			careless := exec.Command("git", "add", "-A")
			careless.Dir = filepath.Join(base, "home", "drydocks", string(drydockID(1)), "tree")
			careless.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
			_ = careless.Run()
			marks, err := os.ReadFile(log)
			mustDo(t, err)
			for _, want := range []string{"fsmonitor", "clean"} {
				if !strings.Contains(string(marks), want) {
					t.Errorf("a careless git add did not run %s; the traps are dull:\n%s", want, marks)
				}
			}
		})
	}
}

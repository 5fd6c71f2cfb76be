//go:build linux

package gitdrydock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cyberagent/domain/drydock"
	"cyberagent/domain/fault"
	"cyberagent/domain/limits"
)

func TestCheckTreePath(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"a", "a/b", ".gitignore", "a/.gitx/b", "git", "\xff\n-", "...", strings.Repeat("a/", 127) + "a"} {
		if err := checkTreePath(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"", "/a", "a/", "a//b", ".", "..", "a/..", "a/./b", ".git", "a/.GIT/b", ".gIt", "a\x00b",
		strings.Repeat("a/", 128) + "a", strings.Repeat("n", 256), strings.Repeat("n/", limits.TreeNameBytes),
	} {
		if err := checkTreePath(bad); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
}

func TestShow_QuotesWhatIsNotPlainText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a b/漢字": "a b/漢字", "-x": "-x", "a\nb": `"a\nb"`, "\xff": `"\xff"`, `a"b`: `"a\"b"`, "\u202e": `"\u202e"`, "\x1b[31m": `"\x1b[31m"`, "": "",
	} {
		if got := show(in); got != want {
			t.Errorf("show(%q) is %s, want %s", in, got, want)
		}
	}
}

func TestImportQuote(t *testing.T) {
	t.Parallel()
	if got := string(importQuote(nil, "a \"b\\\n\xff\x7f")); got != `"a \"b\\\012\377\177"` {
		t.Errorf("importQuote: %s", got)
	}
}

func TestEncodeACL_IsTheKernelsForm(t *testing.T) {
	t.Parallel()
	// As getfattr shows it after setfacl -m u:1001:rwx,u:65532:rwx on a 0755
	// directory whose mask is rwx.
	want := "02000000" + "01000700ffffffff" + "02000700e9030000" + "02000700fcff0000" + "04000500ffffffff" + "10000700ffffffff" + "20000500ffffffff"
	if got := fmt.Sprintf("%x", encodeACL([]uint32{1001, 65532}, 7)); got != want {
		t.Errorf("encodeACL: %s\nwant      %s", got, want)
	}
}

func TestParseMounts_FindsWhatLiesBelow(t *testing.T) {
	t.Parallel()
	info := `22 1 8:1 / / rw - ext4 /dev/sda rw
23 22 0:5 / /home/dock/tree/a\040b rw shared:1 - tmpfs t rw
24 22 0:6 / /home/dock/tree rw - tmpfs t rw
25 22 0:7 / /home/dock/tree2/x rw - tmpfs t rw
26 22 0:8 /sub /home/dock/tree/x/y\134z rw - ext4 t rw
short line
`
	got := parseMounts(info, "/home/dock/tree")
	if len(got) != 2 || !got["a b"] || !got[`x/y\z`] {
		t.Errorf("parseMounts: %v", got)
	}
}

func TestRacy_TrustsOnlyWhatIsOlderThanAClockTick(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 500_000_000)
	for _, tt := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"JustNow", 0, true}, {"OneTick", 10 * time.Millisecond, true}, {"OlderThanTheWindow", 60 * time.Millisecond, false},
		{"InTheFuture", -time.Hour, true}, {"AWholeSecondIsCoarse", 500 * time.Millisecond, true}, {"AnOldWholeSecond", 2500 * time.Millisecond, false},
	} {
		if got := racy(stat{ctime: now.Add(-tt.age).UnixNano()}, now); got != tt.want {
			t.Errorf("%s: racy is %v", tt.name, got)
		}
	}
	// mtime is anyone's to set and decides nothing here.
	if racy(stat{mtime: now.UnixNano(), ctime: now.Add(-time.Minute).UnixNano() + 1}, now) {
		t.Error("a forged mtime makes a file racy")
	}
}

func sampleManifest() *manifest {
	m := newManifest(formatSHA1)
	m.commit, m.index.sha256 = oid(strings.Repeat("c", 20)), strings.Repeat("d", 64)
	m.dirs = []string{"empty", "other/empty\n"}
	m.excluded = []excluded{{path: "x y", reason: reasonFIFO}}
	m.modules["sub"] = oid(strings.Repeat("s", 20))
	m.kept["sub"] = true
	m.folders["sub"] = &folder{path: "sub", st: stat{ino: 9}, listed: true, others: []dirent{{"d", 4}, {".git", 0}}}
	m.folders[""] = &folder{path: "", entries: []entry{
		{name: "a\xff", mode: modeFile, oid: oid(strings.Repeat("o", 20)), guard: strings.Repeat("g", 16), trusted: true,
			st: stat{size: 1, mtime: -2, ctime: 3, ino: 4, dev: 5, mode: 6}},
		{name: "b", mode: modeSymlink, oid: oid(strings.Repeat("p", 20))},
	}}
	return m
}

func TestCache_RoundTrips(t *testing.T) {
	t.Parallel()
	one := sampleManifest()
	delete(one.folders, "sub") // maps have no order
	b := sealCache(encodeCache(one), one.commit)
	m, err := decodeCache(bytes.NewReader(b), int64(len(b)))
	mustDo(t, err)
	if again := sealCache(encodeCache(m), m.commit); !bytes.Equal(again, b) {
		t.Errorf("decoded and encoded again it is other bytes")
	}
	for i := range b {
		if _, err := decodeCache(bytes.NewReader(b[:i]), int64(i)); err == nil {
			t.Fatalf("the first %d bytes are accepted", i)
		}
	}
}

func FuzzDecodeCache(f *testing.F) {
	f.Add(sealCache(encodeCache(sampleManifest()), oid(strings.Repeat("c", 20))))
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := decodeCache(bytes.NewReader(b), int64(len(b))); err == nil {
			encodeCache(m)
		}
		_, _ = decodeBody(string(b))
	})
}

func FuzzParseIndex(f *testing.F) {
	one := append([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"), make([]byte, 62)...)
	one = append(append(one, "a\x00\x00\x00\x00\x00\x00\x00\x00\x00"...), make([]byte, 20)...)
	f.Add(one)
	four := bytes.Clone(one)
	four[7] = 4
	f.Add(four)
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := parseIndex(b, formatSHA1)
		if err == nil && len(entries) != int(binary.BigEndian.Uint32(b[8:])) {
			t.Errorf("%d entries of %d", len(entries), binary.BigEndian.Uint32(b[8:]))
		}
	})
}

func TestRun_BoundsWhatGitSaysAndHowLongItTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fake := filepath.Join(dir, "git")
	script := "#!/bin/sh\nfor a; do :; done\ncase $a in\nloud) while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done;;\n" +
		"slow) sleep 1000 & sleep 1000;;\nbad) printf 'one\\ntwo\\033[31m' >&2; exit 3;;\nenv) env;;\nesac\n"
	mustDo(t, os.WriteFile(fake, []byte(script), 0o755))
	d := New(Config{Home: filepath.Join(dir, "home"), Git: fake})
	l, err := d.open()
	mustDo(t, err)
	ctx := context.Background()
	start := time.Now()
	if _, err := l.run(ctx, gitCall{args: []string{"loud"}}); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("endless output: %v", err)
	}
	if _, err := l.run(ctx, gitCall{args: []string{"slow"}, timeout: 50 * time.Millisecond}); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("no answer: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := l.run(cancelled, gitCall{args: []string{"slow"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if took := time.Since(start); took > 5*time.Minute {
		t.Errorf("all of it took %v", took)
	}
	var exit *gitError
	if _, err := l.run(ctx, gitCall{args: []string{"bad"}}); !errors.As(err, &exit) || exit.exit != 3 || exit.stderr != "one; two; [31m" {
		t.Errorf("failure: %v", err)
	}
	sentinel := errors.New("enough")
	if _, err := l.run(ctx, gitCall{args: []string{"loud"}, stdout: func(io.Reader) error { return sentinel }}); !errors.Is(err, sentinel) {
		t.Errorf("a reader that stops: %v", err)
	}
}

func TestRun_TheEnvironmentIsAnAllowlist(t *testing.T) {
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_EXTERNAL_DIFF", "/nonexistent")
	t.Setenv("SECRET_TOKEN", "x")
	t.Setenv("LD_PRELOAD", "")
	y := New(Config{Home: filepath.Join(t.TempDir(), "home")})
	l, err := y.open()
	mustDo(t, err)
	for _, kv := range l.gitEnv(gitCall{}) {
		for _, bad := range []string{"GIT_DIR=", "GIT_EXTERNAL_DIFF=", "SECRET_TOKEN=", "LD_PRELOAD=", "GIT_TRACE"} {
			if strings.HasPrefix(kv, bad) {
				t.Errorf("git would get %s", kv)
			}
		}
	}
}

func TestDrydocks_TheIndexIsRecordedAsItIs(t *testing.T) {
	t.Parallel()
	y := mustDock(t, mustRepo(t, someFiles))
	if y.first.IndexSHA256 == "" {
		t.Fatal("the first Checkpoint has no index")
	}
	mustWrite(t, y.place.Root, map[string]string{"staged": "1"})
	mustGit(t, y.place.Root, "-c", "safe.directory=*", "add", "staged")
	index, err := os.ReadFile(mustGit(t, y.place.Root, "-c", "safe.directory=*", "rev-parse", "--path-format=absolute", "--git-path", "index"))
	mustDo(t, err)
	c := y.capture()
	if c.IndexSHA256 == y.first.IndexSHA256 {
		t.Error("another index has the same digest")
	}
	l, err := y.d.open()
	mustDo(t, err)
	got, err := l.readObjects(context.Background(), y.place.Shadow, []string{c.Commit + ":meta/index"})
	mustDo(t, err)
	if !bytes.Equal(got[0].content, index) {
		t.Error("the recorded index has other bytes")
	}
	if c.Changed != (drydock.Counts{Added: 1}) {
		t.Errorf("Changed is %+v", c.Changed)
	}
}

func TestConfig_BadHomesAreRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	mustDo(t, os.WriteFile(file, nil, 0o600))
	for _, home := range []string{"", "relative", file, filepath.Join(t.TempDir(), "a\nb")} {
		if _, err := New(Config{Home: home}).Mask(context.Background()); fault.CodeOf(err) != fault.ConfigInvalid {
			t.Errorf("home %q: %v", home, err)
		}
	}
	open := t.TempDir()
	mustDo(t, os.MkdirAll(filepath.Join(open, "drydocks"), 0o755))
	if _, err := New(Config{Home: open}).Mask(context.Background()); fault.CodeOf(err) != fault.ConfigInvalid {
		t.Errorf("a home that is open to others: %v", err)
	}
	if _, err := New(Config{Home: t.TempDir(), Git: "/nonexistent/git"}).Inspect(context.Background(), "/"); fault.CodeOf(err) != fault.Unsupported {
		t.Errorf("without git: %v", err)
	}
}

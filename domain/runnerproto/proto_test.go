package runnerproto

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

func valid() Binding {
	return Binding{
		Protocol: Protocol, Mode: ModeRun, Admission: "adm_1", ManifestSHA256: "m", CommandSHA256: "c",
		Toolchain: "go", Arguments: []string{"test", "./..."}, Workdir: ".", Stdin: isolation.StdinClosed,
		TimeoutMillis: 300_000, GraceMillis: 2_000,
		Quota: Quota{GrowthBytes: 1, GrowthEntries: 1, HeadroomBytes: 1, HeadroomInodes: 1},
		Host: isolation.Host{
			Workspace: isolation.FileID{Dev: 65024, Inode: 1<<63 + 1}, Namespaces: map[string]uint64{"pid": 4026531836},
		},
	}
}

func mustEncode(t *testing.T, b Binding) []byte {
	t.Helper()
	enc, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

func TestABindingSurvivesItsEncoding(t *testing.T) {
	enc := mustEncode(t, valid())
	got, err := DecodeBinding(enc)
	if err != nil {
		t.Fatal(err)
	}
	if again := mustEncode(t, got); !bytes.Equal(enc, again) {
		t.Errorf("%s\n%s", enc, again)
	}
	if got.Host.Workspace.Inode != 1<<63+1 {
		t.Errorf("a 64-bit inode became %d", got.Host.Workspace.Inode)
	}
}

func TestABindingThatNoHostSendsIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Binding){
		"another mode":        func(b *Binding) { b.Mode = "x" },
		"another policy":      func(b *Binding) { b.Stdin = "tty" },
		"no timeout":          func(b *Binding) { b.TimeoutMillis = 0 },
		"a timeout too long":  func(b *Binding) { b.TimeoutMillis = limits.MaxTimeout.Milliseconds() + 1 },
		"no grace":            func(b *Binding) { b.GraceMillis = 0 },
		"no growth quota":     func(b *Binding) { b.Quota.GrowthBytes = 0 },
		"a negative headroom": func(b *Binding) { b.Quota.HeadroomInodes = -1 },
		"a NUL":               func(b *Binding) { b.Arguments = []string{"a\x00b"} },
	} {
		b := valid()
		change(&b)
		if _, err := DecodeBinding(mustEncode(t, b)); !errors.Is(err, fault.RunnerFailure) {
			t.Errorf("%s: %v", name, err)
		}
	}
	old := valid()
	old.Protocol = ProtocolV1
	if _, err := DecodeBinding(mustEncode(t, old)); !errors.Is(err, fault.RunnerOutdated) {
		t.Errorf("v1: %v", err)
	}
	enc := string(mustEncode(t, valid()))
	for name, text := range map[string]string{
		"blanks": enc + " ", "other order": strings.Replace(enc, `{"admission_id":"adm_1",`, `{`, 1),
		"unknown field": strings.Replace(enc, `{`, `{"a":1,`, 1), "duplicate": strings.Replace(enc, `{`, `{"admission_id":"adm_1",`, 1),
		"an escape that need not be": strings.Replace(enc, `"adm_1"`, `"\u0061dm_1"`, 1), "nothing": "", "null": "null",
	} {
		if _, err := DecodeBinding([]byte(text)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func report(t *testing.T, change func(*Report)) []byte {
	t.Helper()
	b := valid()
	r := NewReport(b)
	r.Outcome = OutcomeExited
	if change != nil {
		change(&r)
	}
	line, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestAReportIsReadOnlyForItsOwnAdmission(t *testing.T) {
	line := report(t, func(r *Report) { r.ExitCode = 3 })
	r, err := DecodeReport(line, "adm_1", "m")
	if err != nil || r.ExitCode != 3 || r.Facts == nil || r.Unreadable == nil {
		t.Errorf("%+v %v", r, err)
	}
	for _, who := range [][2]string{{"adm_2", "m"}, {"adm_1", "n"}} {
		if _, err := DecodeReport(line, who[0], who[1]); !errors.Is(err, fault.RunnerFailure) {
			t.Errorf("%v: %v", who, err)
		}
	}
}

func TestAnythingButOneWholeReportIsARunnerFailure(t *testing.T) {
	line := report(t, nil)
	for name, text := range map[string][]byte{
		"nothing": nil, "no newline": line[:len(line)-1], "two": append(append([]byte{}, line...), line...),
		"text after it": append(append([]byte{}, line...), "panic: x\n"...), "text before it": append([]byte("panic: x\n"), line...),
		"cut": line[:len(line)/2], "another outcome": report(t, func(r *Report) { r.Outcome = "fine" }),
		"too long": append(bytes.Repeat([]byte(" "), int(limits.RunnerReportBytes)), '\n'),
	} {
		if r, err := DecodeReport(text, "adm_1", "m"); !errors.Is(err, fault.RunnerFailure) {
			t.Errorf("%s: %+v %v", name, r, err)
		}
	}
}

func TestAReportThatTheHostWouldNotReadIsNotMade(t *testing.T) {
	r := NewReport(valid())
	r.Detail = strings.Repeat("x", int(limits.RunnerReportBytes))
	if _, err := r.Encode(); !errors.Is(err, fault.RunnerFailure) {
		t.Error(err)
	}
}

func frame(s Stream, payload string) []byte {
	b := make([]byte, HeaderLen+len(payload))
	PutHeader(b, s, len(payload))
	copy(b[HeaderLen:], payload)
	return b
}

func TestFramesAreReadInOrder(t *testing.T) {
	d := NewDecoder(bytes.NewReader(append(frame(Stdout, "one"), frame(Stderr, "two")...)))
	for _, want := range []struct {
		s Stream
		p string
	}{{Stdout, "one"}, {Stderr, "two"}} {
		s, p, err := d.Next()
		if err != nil || s != want.s || string(p) != want.p {
			t.Errorf("%v %q %v", s, p, err)
		}
	}
	if _, _, err := d.Next(); err != io.EOF {
		t.Error(err)
	}
}

func TestWhatIsNoFrameIsAnError(t *testing.T) {
	for name, b := range map[string][]byte{
		"another type": frame(3, "x"), "type 0": frame(0, "x"), "empty": frame(Stdout, ""),
		"too long": {1, 0, 1, 0, 0}, "cut header": frame(Stdout, "abc")[:3], "cut payload": frame(Stdout, "abc")[:6],
		"negative": {1, 255, 255, 255, 255},
	} {
		if s, p, err := NewDecoder(bytes.NewReader(b)).Next(); err == nil || err == io.EOF {
			t.Errorf("%s: %v %q %v", name, s, p, err)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add(append(frame(Stdout, "one"), frame(Stderr, "two")...))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		d := NewDecoder(bytes.NewReader(data))
		var again []byte
		for {
			s, p, err := d.Next()
			if err == io.EOF {
				if !bytes.Equal(again, data) {
					t.Errorf("%q was read as %q", data, again)
				}
				return
			}
			if err != nil {
				return
			}
			again = append(again, frame(s, string(p))...)
		}
	})
}

func FuzzDecodeBinding(f *testing.F) {
	enc, _ := valid().Encode()
	f.Add(enc)
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := DecodeBinding(data)
		if err != nil {
			return
		}
		if again, err := b.Encode(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q was accepted as %q (%v)", data, again, err)
		}
	})
}

func FuzzDecodeReport(f *testing.F) {
	r := NewReport(valid())
	r.Outcome = OutcomeExited
	line, _ := r.Encode()
	f.Add(line)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeReport(data, "adm_1", "m")
		if err == nil && (r.Admission != "adm_1" || r.ManifestSHA256 != "m" || bytes.Count(data, []byte("\n")) != 1) {
			t.Errorf("%q", data)
		}
	})
}

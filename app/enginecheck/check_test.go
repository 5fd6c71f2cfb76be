//go:build linux

package enginecheck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cyberagent/adapters/gitdrydock"
	"cyberagent/adapters/host"
	"cyberagent/adapters/memory"
	"cyberagent/app/aside"
	"cyberagent/app/enginecheck"
	"cyberagent/domain/admission"
	"cyberagent/domain/fault"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/runnerproto"
)

var imageID = "sha256:" + strings.Repeat("1", 64)

// scratches gives the host's workspaces the use case's words.
type scratches struct{ *host.Scratch }

// Make implements enginecheck.Scratches.
func (s scratches) Make(ctx context.Context, a id.Admission) (aside.Scratch, error) {
	root, fileID, release, err := s.Scratch.Make(ctx, a)
	return aside.Scratch{Root: root, ID: fileID, Release: release}, err
}

type lab struct {
	t       *testing.T
	service *enginecheck.Service
	engine  *memory.Engine
	runner  *memory.Runner
	dir     string
}

func mustLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	l.runner = &memory.Runner{Command: func(c *memory.Command) int { _, _ = fmt.Fprintln(c.Stdout, "go version"); return 0 }}
	world := memory.NewHost(isolation.Docker, func(p *memory.Process) int { return l.runner.Run(p) })
	world.AddImage(admission.ImageFacts{
		ID: imageID, OS: "linux", Arch: runtime.GOARCH, Entrypoint: []string{isolation.RunnerPath},
		Labels: map[string]string{isolation.LabelProtocol: runnerproto.Protocol},
	})
	l.engine = world.Client()
	files := gitdrydock.New(gitdrydock.Config{Home: filepath.Join(l.dir, "home")})
	l.service = &enginecheck.Service{
		Engine: l.engine, Masks: files, Meter: files, Clock: host.Clock{}, IDs: host.IDs{},
		Installation: id.Installation(host.IDs{}.New(id.KindInstallation)),
		Scratches:    scratches{host.NewScratch(filepath.Join(l.dir, "checks"))},
		ImageDigest:  func(isolation.Engine) string { return imageID },
	}
	return l
}

// nothingLeft fails the test when a container or a workspace is there.
func (l *lab) nothingLeft() {
	l.t.Helper()
	found, err := l.engine.FindOwned(l.t.Context(), l.service.Installation)
	left, _ := filepath.Glob(filepath.Join(l.dir, "checks", "adm_*"))
	locks, _ := filepath.Glob(filepath.Join(l.dir, "checks", "owners", "*"))
	if err != nil || len(found) > 0 || len(left) > 0 || len(locks) > 0 {
		l.t.Errorf("left behind: %+v %v %v %v", found, left, locks, err)
	}
}

// wrong are the properties that differ, by proof.
func wrong(r enginecheck.Report) []string {
	var all []string
	for _, p := range r.Properties {
		if !p.OK {
			all = append(all, p.Proof+" "+p.Name)
		}
	}
	return all
}

func TestCheck_EveryPropertyIsShownAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	r, err := l.service.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK || len(wrong(r)) > 0 || r.Command != "exited" || r.MeasuredSHA256 != r.ExpectedSHA256 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"read_back network_mode", "read_back warnings", "measured network.interfaces", "measured mask"} {
		proof, property, _ := strings.Cut(name, " ")
		if !slices.ContainsFunc(r.Properties, func(p enginecheck.Property) bool { return p.Proof == proof && p.Name == property }) {
			t.Errorf("%s is not shown", name)
		}
	}
	l.nothingLeft()
}

func TestCheck_EveryDifferenceIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(*lab)
		want   []string
		detail string
	}{
		{"a rewritten configuration", func(l *lab) {
			l.engine.Observed = func(p *isolation.Properties) { p.NetworkMode, p.Pids = "host", 0 }
		}, []string{"read_back network_mode", "read_back pids"}, "was not started"},
		{"a measurement", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) {
				r.Outcome = runnerproto.OutcomeRefused
				for i := range r.Facts {
					if r.Facts[i].Name == "root" {
						r.Facts[i].Value = "rw"
					}
				}
				r.Facts = append(r.Facts, isolation.Fact{Name: "more", Value: "x"})
			}
		}, []string{"measured root", "measured more"}, ""},
		{"the mask at the end", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) { r.MaskIntact = false }
		}, nil, ""},
		{"a command that fails", func(l *lab) { l.runner.Command = func(*memory.Command) int { return 1 } }, nil, ""},
		{"a runner that says nothing", func(l *lab) {
			l.runner.Report = func(r *runnerproto.Report) { r.Admission = "another" }
		}, nil, "another admission"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := mustLab(t)
			c.damage(l)
			r, err := l.service.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.OK || !slices.Equal(wrong(r), c.want) || !strings.Contains(r.Detail, c.detail) {
				t.Errorf("ok %t, %v, %q", r.OK, wrong(r), r.Detail)
			}
			l.nothingLeft()
		})
	}
}

func TestCheck_ABlockedMachineIsAnAnswer(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.engine.Facts = func(f *admission.EngineFacts) { f.Rootless = true }
	l.service.ImageDigest = func(isolation.Engine) string { return "" }
	r, err := l.service.Check(t.Context())
	if err != nil || r.OK || len(r.Blockers) != 2 || r.Blockers[0].ReasonCode != fault.UsernsUnsupported || len(r.Properties) > 0 {
		t.Errorf("%+v %v", r, err)
	}
	l.nothingLeft()
}

func TestCheck_AContainerThatCannotBeRemovedIsFoundAgain(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	l.engine.Before = func(call string) error {
		if call == "Remove" {
			return fault.New(fault.EngineFailure, "device or resource busy")
		}
		return nil
	}
	if _, err := l.service.Check(t.Context()); !errors.Is(err, fault.CleanupPending) {
		t.Fatalf("%v, want %s", err, fault.CleanupPending)
	}
	l.engine.Before = nil
	if n, err := l.service.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	l.nothingLeft()
}

func TestSweep_ALivingCheckIsLeftAlone(t *testing.T) {
	t.Parallel()
	l := mustLab(t)
	a := id.Admission(host.IDs{}.New(id.KindAdmission))
	scratch, err := l.service.Scratches.Make(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.service.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("a living one: %d %v", n, err)
	}
	scratch.Release()
	if _, err := os.Stat(scratch.Root); err != nil {
		t.Error(err)
	}
	if n, err := l.service.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("a dead one: %d %v", n, err)
	}
	l.nothingLeft()
}

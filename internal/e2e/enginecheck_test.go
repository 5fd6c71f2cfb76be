package e2e

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// checkView is engine-check.v1.
type checkView struct {
	Protocol      string `json:"protocol_version"`
	Engine        string `json:"engine"`
	EngineVersion string `json:"engine_version"`
	ImageID       string `json:"image_id"`
	OK            bool   `json:"ok"`
	Blockers      []struct {
		ReasonCode string `json:"reason_code"`
		Detail     string `json:"detail"`
		Advice     string `json:"advice"`
	} `json:"blockers"`
	Properties []struct {
		Proof    string `json:"proof"`
		Name     string `json:"property"`
		Expected string `json:"expected"`
		Found    string `json:"found"`
		OK       bool   `json:"ok"`
	} `json:"properties"`
	Contract       string `json:"contract"`
	ExpectedSHA256 string `json:"expected_sha256"`
	MeasuredSHA256 string `json:"measured_sha256"`
	Command        string `json:"command"`
	Detail         string `json:"detail"`
	CheckedAt      string `json:"checked_at"`
}

func (h *home) MustHaveNoScratch(t testing.TB) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(h.state, "checks", "adm_*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	h.MustHaveNoContainer(t)
}

func TestEngineCheck_ThisMachineKeepsTheContractAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	measured := map[string]string{}
	for name, h := range map[string]*home{"docker": MustHome(t), "containerd": MustHome(t).containerd(t)} {
		v := MustAnswer[checkView](t, h.call(t, "engine", "check"), 0)
		if !v.OK || v.Engine != name || len(v.Properties) < 80 || v.MeasuredSHA256 != v.ExpectedSHA256 || v.Command != "exited" {
			t.Errorf("%+v", v)
		}
		measured[name] = v.MeasuredSHA256
		h.MustHaveNoScratch(t)
		h.MustHaveNoRundir(t)
	}
	if measured["docker"] != measured["containerd"] {
		t.Errorf("the measured facts differ: %v", measured)
	}
}

func TestEngineCheck_ABlockedMachineExits3(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	none := filepath.Join(h.dir, "none")
	for name, blocked := range map[string]*home{
		"docker":     h.with("CYBERAGENT_DOCKER_SOCKET=" + none),
		"containerd": h.containerd(t).with("CYBERAGENT_CONTAINERD_ADDRESS=" + none),
	} {
		v := MustAnswer[checkView](t, blocked.call(t, "engine", "check"), 3)
		if v.OK || v.Engine != name || len(v.Blockers) == 0 || v.Blockers[0].ReasonCode != "daemon_unreachable" || len(v.Properties) > 0 {
			t.Errorf("%+v", v)
		}
	}
}

func TestEngineCheck_OneThatWasKilledIsClearedByRecover(t *testing.T) {
	t.Parallel()
	h := MustHome(t)
	killed := func() bool { // once its container is there
		p := h.start(t, "engine", "check")
		for {
			found, err := containersBelow(h.socket, h.dir)
			must(t, err)
			select {
			case <-p.done:
				return false
			case <-time.After(time.Millisecond):
			}
			if len(found) > 0 {
				p.Signal(t, syscall.SIGKILL)
				return p.Wait(t).code == -1
			}
		}
	}
	eventually(t, "it is killed before it ends", killed)
	if a := h.call(t, "run", "standard-code", "recover", "--all"); a.code != 0 {
		t.Errorf("exit status %d: %s", a.code, a.stderr)
	}
	h.MustHaveNoScratch(t)
}

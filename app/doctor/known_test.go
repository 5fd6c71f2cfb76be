package doctor_test

import (
	"slices"
	"testing"

	"cyberagent/app/doctor"
)

func TestKnownFaults_AreNamedByTheReleaseLineOfTheVersion(t *testing.T) {
	for _, c := range []struct {
		component, version string
		want               []string
	}{
		{"runc", "1.0.0-rc6", []string{"CVE-2019-5736", "CVE-2021-30465", "CVE-2024-21626", "CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.1.11", []string{"CVE-2024-21626", "CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.1.12", []string{"CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.1.5+ds1", []string{"CVE-2024-21626", "CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.2.8", nil},
		{"runc", "v1.3.2", []string{"CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.3.3", nil},
		{"runc", "1.4.0-rc.2", []string{"CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"}},
		{"runc", "1.4.0", nil},
		{"runc", "2.0.0", nil},
		{"containerd", "1.6.20~ds1", []string{"CVE-2024-25621", "CVE-2026-46680"}},
		{"containerd", "1.6.0", []string{"CVE-2022-23648", "CVE-2024-25621", "CVE-2026-46680"}},
		{"containerd", "2.0.8", []string{"CVE-2026-46680"}},
		{"containerd", "2.4.2", nil},
		{"containerd", "not a version", nil},
		{"crun", "0.1", nil},
	} {
		var got []string
		for _, k := range doctor.KnownFaults(map[string]string{c.component: c.version}) {
			if k.Component != c.component || k.Version != c.version || k.Fixed == "" || k.What == "" {
				t.Errorf("%s %s: an incomplete answer %+v", c.component, c.version, k)
			}
			got = append(got, k.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %v, want %v", c.component, c.version, got, c.want)
		}
	}
}

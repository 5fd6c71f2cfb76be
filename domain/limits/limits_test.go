package limits_test

import (
	"testing"
	"time"

	"cyberagent/domain/limits"
)

func TestConstantsAreTheContracts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		// Contract section 2.
		{"uid", limits.UID, 65532},
		{"gid", limits.GID, 65532},
		{"cache bytes", limits.CacheBytes, 134217728},
		{"cache inodes", limits.CacheInodes, 16384},
		{"/dev/shm bytes", limits.ShmBytes, 67108864},
		{"/dev/shm inodes", limits.ShmInodes, 4096},
		{"memory", limits.MemoryBytes, 2147483648},
		{"pids", limits.Pids, 128},
		{"CPUs", limits.CPUs, 2},
		{"RLIMIT_FSIZE", limits.FileBytes, 16777216},
		{"RLIMIT_CORE", limits.CoreBytes, 0},
		{"RLIMIT_NOFILE", limits.OpenFiles, 4096},
		{"RLIMIT_MSGQUEUE", limits.MsgQueueBytes, 0},
		// Section 3.
		{"headroom bytes", limits.HeadroomBytes, 2147483648},
		{"headroom inodes", limits.HeadroomInodes, 1000000},
		{"growth bytes", limits.GrowthBytes, 16777216},
		{"growth entries", limits.GrowthEntries, 4096},
		{"unattributed growth", limits.UnattributedBytes, 67108864},
		{"kept output bytes", limits.OutputKeepBytes, 262144},
		{"kept output lines", limits.OutputKeepLines, 4096},
		{"shortest timeout", int64(limits.MinTimeout), int64(time.Second)},
		{"default timeout", int64(limits.DefaultTimeout), int64(300 * time.Second)},
		{"longest timeout", int64(limits.MaxTimeout), int64(3600 * time.Second)},
		{"grace", int64(limits.StopGrace), int64(2 * time.Second)},
		{"arguments", limits.Arguments, 128},
		{"bytes of an argument", limits.ArgumentBytes, 4096},
		{"bytes of the arguments", limits.ArgumentsBytes, 32768},
		{"characters of the purpose", limits.PurposeRunes, 1200},
		{"bytes of the working directory", limits.WorkdirBytes, 1024},
		{"stdin a write", limits.StdinWriteBytes, 65536},
		{"stdin a Job", limits.StdinJobBytes, 1048576},
		{"Jobs a Run", limits.JobsPerRun, 4},
		{"Jobs an installation", limits.JobsTotal, 16},
		{"Drydocks a repository", limits.DrydocksPerRepo, 8},
		{"Drydocks an installation", limits.DrydocksTotal, 64},
		{"default life of a Drydock", int64(limits.DrydockLife), int64(7 * 24 * time.Hour)},
		{"longest life of a Drydock", int64(limits.DrydockLifeMax), int64(30 * 24 * time.Hour)},
		// Sections 1 and 4.
		{"characters of an operation key", limits.OperationKeyLen, 128},
		{"characters of an id", limits.IDLen, 64},
		{"default life of an approval", int64(limits.ApprovalLife), int64(time.Hour)},
		{"longest life of an approval", int64(limits.ApprovalLifeMax), int64(24 * time.Hour)},
		{"life of a readiness answer", int64(limits.ReadinessLife), int64(30 * time.Second)},
		// Architecture section 2 and 3.
		{"lease TTL", int64(limits.LeaseTTL), int64(15 * time.Second)},
		{"lease beat", int64(limits.LeaseBeat), int64(3 * time.Second)},
		{"lease margin", int64(limits.LeaseMargin), int64(3 * time.Second)},
		{"authority watch", int64(limits.AuthorityWatch), int64(250 * time.Millisecond)},
		{"payload of a frame", limits.RunnerFrameBytes, 32768},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, the contract says %d", c.name, c.got, c.want)
		}
	}
}

// rows is the table that docs/limits.md shows, written out by hand: default and
// most, in the row's unit.
var rows = map[string]struct {
	unit       limits.Unit
	value, max int64
}{
	"cache_bytes":             {"bytes", 134217728, 134217728},
	"cache_inodes":            {"inodes", 16384, 16384},
	"shm_bytes":               {"bytes", 67108864, 67108864},
	"shm_inodes":              {"inodes", 4096, 4096},
	"memory_bytes":            {"bytes", 2147483648, 2147483648},
	"pids":                    {"count", 128, 128},
	"cpus":                    {"count", 2, 2},
	"file_bytes":              {"bytes", 16777216, 16777216},
	"core_bytes":              {"bytes", 0, 0},
	"open_files":              {"count", 4096, 4096},
	"message_queue_bytes":     {"bytes", 0, 0},
	"headroom_bytes":          {"bytes", 2147483648, 2147483648},
	"headroom_inodes":         {"inodes", 1000000, 1000000},
	"growth_bytes":            {"bytes", 16777216, 16777216},
	"growth_entries":          {"entries", 4096, 4096},
	"unattributed_bytes":      {"bytes", 67108864, 67108864},
	"output_bytes":            {"bytes", 262144, 262144},
	"output_lines":            {"lines", 4096, 4096},
	"timeout":                 {"milliseconds", 300000, 3600000},
	"stop_grace":              {"milliseconds", 2000, 2000},
	"arguments":               {"count", 128, 128},
	"argument_bytes":          {"bytes", 4096, 4096},
	"arguments_bytes":         {"bytes", 32768, 32768},
	"purpose_characters":      {"characters", 1200, 1200},
	"workdir_bytes":           {"bytes", 1024, 1024},
	"stdin_write_bytes":       {"bytes", 65536, 65536},
	"stdin_job_bytes":         {"bytes", 1048576, 1048576},
	"jobs_per_run":            {"count", 4, 4},
	"jobs":                    {"count", 16, 16},
	"stdin_writes":            {"count", 16384, 16384},
	"job_output_bytes":        {"bytes", 524288, 524288},
	"jobs_output_bytes":       {"bytes", 16777216, 16777216},
	"job_read_bytes":          {"bytes", 262144, 262144},
	"run_commands":            {"count", 4, 4},
	"runtime_line_bytes":      {"bytes", 1048576, 1048576},
	"runtime_requests":        {"count", 64, 64},
	"drydocks_per_repository": {"count", 8, 8},
	"drydocks":                {"count", 64, 64},
	"drydock_life":            {"milliseconds", 604800000, 2592000000},
	"prune_beside":            {"count", 1000, 1000},
	"compact_bytes":           {"bytes", 268435456, 268435456},
	"approval_life":           {"milliseconds", 3600000, 86400000},
	"project_bytes":           {"bytes", 4294967296, 4294967296},
	"project_file_bytes":      {"bytes", 1073741824, 1073741824},
	"project_entries":         {"entries", 500000, 500000},
	"project_record_bytes":    {"bytes", 524288, 524288},
	"lockfile_bytes":          {"bytes", 33554432, 33554432},
	"warm_bytes":              {"bytes", 4294967296, 4294967296},
	"warm_entries":            {"entries", 500000, 500000},
	"warm_time":               {"milliseconds", 1200000, 1200000},
	"readiness_life":          {"milliseconds", 30000, 30000},
}

func TestTableIsTheContracts(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range limits.Table() {
		if seen[r.Name] {
			t.Errorf("two rows are named %s", r.Name)
		}
		seen[r.Name] = true
		want, ok := rows[r.Name]
		if !ok {
			t.Errorf("the row %s is new: add it to this test with the contract's numbers", r.Name)
			continue
		}
		if r.Unit != want.unit || r.Default != want.value || r.Max != want.max {
			t.Errorf("%s: %d to %d %s, want %d to %d %s", r.Name, r.Default, r.Max, r.Unit, want.value, want.max, want.unit)
		}
		if r.By == "" || r.Why == "" {
			t.Errorf("%s does not say who enforces it and why", r.Name)
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("the row %s is gone", name)
		}
	}
}

// The numbers that depend on each other.
func TestConstantsFitTogether(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"a lease survives two lost beats":                 3*limits.LeaseBeat+limits.LeaseMargin < limits.LeaseTTL,
		"one file cannot outgrow the workspace":           limits.FileBytes <= limits.GrowthBytes,
		"the cache fits into the memory":                  limits.CacheBytes+limits.ShmBytes < limits.MemoryBytes,
		"growth that nobody names fits into the headroom": limits.GrowthBytes+limits.UnattributedBytes < limits.HeadroomBytes,
		"all arguments at their longest are too many":     limits.Arguments*limits.ArgumentBytes > limits.ArgumentsBytes,
		"the runner's binding fits into one argument":     limits.RunnerBindingBytes < 128*limits.KiB,
		"arguments escaped fit into the runner's binding": 2*limits.ArgumentsBytes < limits.RunnerBindingBytes,
	} {
		if !ok {
			t.Errorf("not so: %s", name)
		}
	}
}

package limits

import "time"

// Unit says what a row counts.
type Unit string

// The units of the table.
const (
	Bytes   Unit = "bytes"
	Inodes  Unit = "inodes"
	Entries Unit = "entries"
	Count   Unit = "count"
	Millis  Unit = "milliseconds"
	Lines   Unit = "lines"
	Runes   Unit = "characters"
)

// Row is one limit: what applies when nothing is said, the most that can be
// asked for (equal to Default where it cannot be changed), who enforces it, and
// why it is there.
type Row struct {
	Name    string
	Unit    Unit
	Default int64
	Max     int64
	By      string
	Why     string
}

func fixed(name string, u Unit, v int64, by, why string) Row {
	return Row{Name: name, Unit: u, Default: v, Max: v, By: by, Why: why}
}

func span(name string, def, most time.Duration, by, why string) Row {
	return Row{Name: name, Unit: Millis, Default: def.Milliseconds(), Max: most.Milliseconds(), By: by, Why: why}
}

// Table returns the limits in the order of the document.
func Table() []Row {
	return []Row{
		fixed("cache_bytes", Bytes, CacheBytes, "kernel (tmpfs)", "toolchain caches and temporary files stay off the host"),
		fixed("cache_inodes", Inodes, CacheInodes, "kernel (tmpfs)", "a tmpfs without an inode limit takes kernel memory without bound"),
		fixed("shm_bytes", Bytes, ShmBytes, "kernel (tmpfs)", "a read-only container still gets a writable /dev/shm"),
		fixed("shm_inodes", Inodes, ShmInodes, "kernel (tmpfs)", "the engine's own /dev/shm has no inode limit"),
		fixed("memory_bytes", Bytes, MemoryBytes, "kernel (cgroup)", "one command cannot take the host's memory; no swap beyond it"),
		fixed("pids", Count, Pids, "kernel (cgroup)", "a fork bomb ends inside its container"),
		fixed("cpus", Count, CPUs, "kernel (cgroup)", "the host stays usable"),
		fixed("file_bytes", Bytes, FileBytes, "kernel (RLIMIT_FSIZE)", "no single file outgrows the workspace's growth"),
		fixed("core_bytes", Bytes, CoreBytes, "kernel (RLIMIT_CORE)", "no core files in the workspace"),
		fixed("open_files", Count, OpenFiles, "kernel (RLIMIT_NOFILE)", "bounded kernel memory"),
		fixed("message_queue_bytes", Bytes, MsgQueueBytes, "kernel (RLIMIT_MSGQUEUE)", "message queues are storage nobody accounts for"),
		fixed("headroom_bytes", Bytes, HeadroomBytes, "runner and owner process", "the host's filesystem is never filled"),
		fixed("headroom_inodes", Inodes, HeadroomInodes, "runner and owner process", "nor its inode table, where it has one"),
		fixed("growth_bytes", Bytes, GrowthBytes, "runner and owner process", "a command's result is reviewable"),
		fixed("growth_entries", Entries, GrowthEntries, "runner and owner process", "a command's result is reviewable"),
		fixed("unattributed_bytes", Bytes, UnattributedBytes, "runner and owner process", "files that no name shows still fill the disk"),
		fixed("output_bytes", Bytes, OutputKeepBytes, "runner and owner process", "kept per stream; the rest is counted and hashed"),
		fixed("output_lines", Lines, OutputKeepLines, "owner process", "kept per stream; the rest is counted and hashed"),
		span("timeout", DefaultTimeout, MaxTimeout, "runner and owner process", "an approval is for bounded work"),
		fixed("stop_grace", Millis, StopGrace.Milliseconds(), "runner and owner process", "between TERM and KILL"),
		fixed("arguments", Count, Arguments, "domain", "a reviewer must be able to read the command"),
		fixed("argument_bytes", Bytes, ArgumentBytes, "domain", "a reviewer must be able to read the command"),
		fixed("arguments_bytes", Bytes, ArgumentsBytes, "domain", "a reviewer must be able to read the command"),
		fixed("purpose_characters", Runes, PurposeRunes, "domain", "why, in a few sentences"),
		fixed("workdir_bytes", Bytes, WorkdirBytes, "domain", "a clean relative path"),
		fixed("stdin_write_bytes", Bytes, StdinWriteBytes, "Job manager", "bytes stay in memory"),
		fixed("stdin_job_bytes", Bytes, StdinJobBytes, "Job manager", "bytes stay in memory"),
		fixed("jobs_per_run", Count, JobsPerRun, "Job manager", "memory of one owner"),
		fixed("jobs", Count, JobsTotal, "Job manager", "memory of one installation"),
		fixed("stdin_writes", Count, StdinWrites, "Job manager", "each is remembered by its operation key while its owner lives"),
		fixed("job_output_bytes", Bytes, JobOutputBytes, "Job manager", "kept of one Job in memory, head and tail; the rest is counted"),
		fixed("jobs_output_bytes", Bytes, JobsOutputBytes, "Job manager", "kept of all ended Jobs of one owner; the oldest go first"),
		fixed("job_read_bytes", Bytes, JobReadBytes, "Job manager", "output in one answer"),
		fixed("run_commands", Count, RunCommands, "domain", "commands of one run request"),
		fixed("runtime_line_bytes", Bytes, RuntimeLineBytes, "Job manager", "one request"),
		fixed("runtime_requests", Count, RuntimeRequests, "Job manager", "requests of one session that wait for something"),
		fixed("drydocks_per_repository", Count, DrydocksPerRepo, "domain", "worktrees cost disk"),
		fixed("drydocks", Count, DrydocksTotal, "domain", "worktrees cost disk"),
		span("drydock_life", DrydockLife, DrydockLifeMax, "domain", "what nobody uses is cleaned up"),
		fixed("prune_beside", Count, PruneBeside, "ledger prune", "commands whose records go while another is at work, whose lease waits for it"),
		fixed("compact_bytes", Bytes, CompactBytes, "ledger prune", "of a ledger that is written anew after pruning; others wait for it"),
		span("approval_life", ApprovalLife, ApprovalLifeMax, "domain",
			"a decision is about the present state; the first is how long an approval may be used, the second also how long a request waits for its decision"),
		fixed("project_bytes", Bytes, ProjectBytes, "fixture build", "what is laid into a project's image, of each toolchain"),
		fixed("project_file_bytes", Bytes, ProjectFileBytes, "fixture build, kernel (RLIMIT_FSIZE)", "one file of it, or of what is made of it in a container"),
		fixed("project_entries", Entries, ProjectEntries, "fixture build", "its files and directories"),
		fixed("project_record_bytes", Bytes, ProjectRecordBytes, "fixture build", "the image's label that names what it holds"),
		fixed("lockfile_bytes", Bytes, LockfileBytes, "fixture build and owner process", "one lockfile that is read"),
		fixed("warm_bytes", Bytes, WarmBytes, "runner", "build caches that are made for an image, on the builder's disk"),
		fixed("warm_entries", Entries, WarmEntries, "runner", "their files and directories"),
		span("warm_time", WarmTime, WarmTime, "runner", "one step of making them"),
		span("readiness_life", ReadinessLife, ReadinessLife, "domain", "a probe is about the present state"),
	}
}

// Package limits is the one table of the product's fixed numbers (contract
// sections 2 and 3). Configuration, SQL checks, the engines, the runner and
// docs/limits.md read it; no other file writes one of these numbers.
package limits

import "time"

// Sizes are bytes, times are time.Duration, the rest are counts.
const (
	KiB = int64(1) << 10
	MiB = int64(1) << 20
	GiB = int64(1) << 30

	UID = 65532
	GID = 65532

	CacheBytes    = 128 * MiB
	CacheInodes   = int64(16384)
	ShmBytes      = 64 * MiB
	ShmInodes     = int64(4096)
	MemoryBytes   = 2 * GiB
	Pids          = int64(128)
	CPUs          = int64(2)
	FileBytes     = 16 * MiB
	CoreBytes     = int64(0)
	OpenFiles     = int64(4096)
	MsgQueueBytes = int64(0)

	HeadroomBytes      = 2 * GiB
	HeadroomInodes     = int64(1_000_000)
	GrowthBytes        = 16 * MiB
	GrowthEntries      = int64(4096)
	UnattributedBytes  = 64 * MiB
	OutputKeepBytes    = 256 * KiB
	OutputKeepLines    = int64(4096)
	StdinWriteBytes    = 64 * KiB
	StdinJobBytes      = MiB
	RunnerFrameBytes   = 32 * KiB
	RunnerReportBytes  = 256 * KiB
	RunnerBindingBytes = 96 * KiB
	StdinWrites        = 16384
	JobOutputBytes     = 512 * KiB
	JobInlineBytes     = 64 * KiB
	JobReadBytes       = 256 * KiB
	JobsOutputBytes    = 16 * MiB
	RuntimeLineBytes   = MiB

	MinTimeout     = time.Second
	DefaultTimeout = 300 * time.Second
	MaxTimeout     = 3600 * time.Second
	StopGrace      = 2 * time.Second

	Arguments        = 128
	ArgumentBytes    = 4 * 1024
	ArgumentsBytes   = 32 * 1024
	PurposeRunes     = 1200
	WorkdirBytes     = 1024
	OperationKeyLen  = 128
	IDLen            = 64
	TitleRunes       = 200
	ReasonRunes      = 1200
	NameRunes        = 128
	JobsPerRun       = 4
	JobsTotal        = 16
	RunCommands      = 4
	RuntimeRequests  = 64
	RuntimeIDLen     = 64
	RuntimeWait      = time.Minute
	DrydocksPerRepo  = 8
	DrydocksTotal    = 64
	DrydockLife      = 7 * 24 * time.Hour
	DrydockLifeMax   = 30 * 24 * time.Hour
	PruneAge         = 90 * 24 * time.Hour
	PruneBeside      = int64(1000)
	CompactBytes     = 256 * MiB
	ApprovalLife     = time.Hour
	ApprovalLifeMax  = 24 * time.Hour
	ReadinessLife    = 30 * time.Second
	LeaseTTL         = 15 * time.Second
	LeaseBeat        = 3 * time.Second
	LeaseMargin      = 3 * time.Second
	AuthorityWatch   = 250 * time.Millisecond
	EngineCall       = 20 * time.Second
	EngineProbeCall  = 5 * time.Second
	TreeEntries      = int64(2_000_000)
	TreeDepth        = 128
	TreeNameBytes    = 4096
	CheckpointBytes  = 4 * GiB
	CheckpointOneMax = GiB

	ProjectBytes       = 4 * GiB
	ProjectFileBytes   = GiB
	ProjectEntries     = int64(500_000)
	ProjectRecordBytes = 512 * KiB
	LockfileBytes      = 32 * MiB
	WarmBytes          = 4 * GiB
	WarmEntries        = int64(500_000)
	WarmTime           = 20 * time.Minute
)

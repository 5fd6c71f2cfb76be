package fault

import "slices"

// Code is a stable name of a kind of failure. It is an error itself, so that
// errors.Is(err, fault.LeaseLost) asks for a kind.
type Code string

// Error makes a bare code usable as the target of errors.Is.
func (c Code) Error() string { return string(c) }

// Class groups codes by what the caller has to do; the command line maps each
// class to one exit status (contract section 5).
type Class int

// The classes, in the order of the contract's exit statuses.
const (
	ClassInternal Class = iota + 1
	ClassUsage
	ClassBlocked
	ClassConflict
	ClassRecovery
	ClassCancelled
)

// The codes. Readiness' reason codes (contract section 4) are codes too, for
// prepare and execute refuse with them.
const (
	Internal           Code = "internal"
	InvalidArgument    Code = "invalid_argument"
	NotFound           Code = "not_found"
	OperationConflict  Code = "operation_conflict"
	InProgress         Code = "in_progress"
	ConfigInvalid      Code = "config_invalid"
	LimitReached       Code = "limit_reached"
	Unsupported        Code = "unsupported"
	PlatformBlocked    Code = "platform_unsupported"
	FeatureDisabled    Code = "feature_disabled"
	DaemonUnreachable  Code = "daemon_unreachable"
	DaemonPermission   Code = "daemon_permission_denied"
	APIUnsupported     Code = "api_unsupported"
	HostOSUnsupported  Code = "host_os_unsupported"
	UsernsUnsupported  Code = "userns_unsupported"
	SELinuxUnsupported Code = "selinux_unsupported"
	SwapUnavailable    Code = "swap_limit_unavailable"
	PidsUnavailable    Code = "pids_limit_unavailable"
	CapacityTooSmall   Code = "resource_capacity_insufficient"
	ImageUnconfigured  Code = "image_unconfigured"
	ImageUnavailable   Code = "image_unavailable"
	ImageUnsafe        Code = "image_profile_unsafe"
	RunnerOutdated     Code = "runner_protocol_outdated"
	DependenciesMiss   Code = "dependencies_missing"
	RunNotEligible     Code = "run_not_eligible"
	ProfileMismatch    Code = "profile_mismatch"
	PermissionMismatch Code = "permission_mismatch"
	DrydockNotReady    Code = "drydock_not_ready"
	GenerationStale    Code = "generation_stale"
	CheckpointStale    Code = "checkpoint_stale"
	DrydockDrifted     Code = "drydock_drifted"
	TrustMismatch      Code = "trust_digest_mismatch"
	SourceUnsupported  Code = "source_unsupported"
	ApprovalRequired   Code = "approval_required"
	ApprovalDenied     Code = "approval_denied"
	ApprovalExpired    Code = "approval_expired"
	ApprovalConsumed   Code = "approval_consumed"
	ApprovalRevoked    Code = "approval_revoked"
	ApprovalForeign    Code = "approval_foreign"
	CommandMismatch    Code = "command_mismatch"
	AuthorityDrift     Code = "authority_drift"
	EngineMismatch     Code = "engine_mismatch"
	ManifestV1         Code = "manifest_v1_read_only"
	MaskInvalid        Code = "mask_invalid"
	MaskMissing        Code = "mask_missing"
	MountRefused       Code = "mount_refused"
	IsolationMismatch  Code = "isolation_mismatch"
	EngineFailure      Code = "engine_failure"
	EngineTimeout      Code = "engine_timeout"
	StartFailed        Code = "start_failed"
	RunnerFailure      Code = "runner_failure"
	LeaseLost          Code = "lease_lost"
	CleanupPending     Code = "cleanup_pending"
	RecoveryRequired   Code = "recovery_required"
	BaseMissing        Code = "fixture_base_missing"
	BaseUnpinned       Code = "fixture_base_unpinned"
	BaseAbsent         Code = "fixture_base_absent"
	BaseIncompatible   Code = "fixture_base_incompatible"
	LedgerBusy         Code = "ledger_busy"
	LedgerNewer        Code = "ledger_schema_newer"
	LedgerUnusable     Code = "ledger_unusable"
	DiskFull           Code = "disk_full"
	IntegrityLost      Code = "integrity_lost"
	Headroom           Code = "headroom"
	Cancelled          Code = "cancelled"
)

// classes is the whole vocabulary with its classes. A test proves that every
// constant above is here.
var classes = map[Code]Class{
	Internal: ClassInternal, EngineFailure: ClassInternal, EngineTimeout: ClassInternal,
	StartFailed: ClassInternal, RunnerFailure: ClassInternal, LedgerBusy: ClassInternal,
	LedgerUnusable: ClassInternal, DiskFull: ClassInternal, IsolationMismatch: ClassInternal,

	InvalidArgument: ClassUsage, ConfigInvalid: ClassUsage, NotFound: ClassUsage,

	LimitReached: ClassBlocked, Unsupported: ClassBlocked, PlatformBlocked: ClassBlocked,
	FeatureDisabled: ClassBlocked, DaemonUnreachable: ClassBlocked, DaemonPermission: ClassBlocked,
	APIUnsupported: ClassBlocked, HostOSUnsupported: ClassBlocked, UsernsUnsupported: ClassBlocked,
	SELinuxUnsupported: ClassBlocked, SwapUnavailable: ClassBlocked, PidsUnavailable: ClassBlocked,
	CapacityTooSmall: ClassBlocked, ImageUnconfigured: ClassBlocked, ImageUnavailable: ClassBlocked,
	ImageUnsafe: ClassBlocked, RunnerOutdated: ClassBlocked, DependenciesMiss: ClassBlocked,
	RunNotEligible: ClassBlocked, ProfileMismatch: ClassBlocked, PermissionMismatch: ClassBlocked,
	DrydockNotReady: ClassBlocked, DrydockDrifted: ClassBlocked, SourceUnsupported: ClassBlocked,
	ApprovalRequired: ClassBlocked, ApprovalDenied: ClassBlocked, ApprovalExpired: ClassBlocked,
	ApprovalConsumed: ClassBlocked, ApprovalRevoked: ClassBlocked, ApprovalForeign: ClassBlocked,
	CommandMismatch: ClassBlocked, AuthorityDrift: ClassBlocked, EngineMismatch: ClassBlocked,
	ManifestV1: ClassBlocked, MaskInvalid: ClassBlocked, MaskMissing: ClassBlocked,
	MountRefused: ClassBlocked, BaseMissing: ClassBlocked, BaseUnpinned: ClassBlocked,
	BaseAbsent: ClassBlocked, BaseIncompatible: ClassBlocked, LedgerNewer: ClassBlocked,
	Headroom: ClassBlocked,

	OperationConflict: ClassConflict, GenerationStale: ClassConflict, CheckpointStale: ClassConflict,
	TrustMismatch: ClassConflict,

	InProgress: ClassRecovery, LeaseLost: ClassRecovery, CleanupPending: ClassRecovery,
	RecoveryRequired: ClassRecovery, IntegrityLost: ClassRecovery,

	Cancelled: ClassCancelled,
}

// Codes returns every code, sorted.
func Codes() []Code {
	all := make([]Code, 0, len(classes))
	for c := range classes {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}

// Class returns the code's class; an unknown code is internal.
func (c Code) Class() Class {
	if k, ok := classes[c]; ok {
		return k
	}
	return ClassInternal
}

package admission

// The remediation words, in the contract's order.
const (
	RestartWithGate      Remediation = "restart_with_startup_gate"
	StartDocker          Remediation = "install_or_start_docker"
	StartContainerd      Remediation = "install_or_start_containerd"
	GrantSocket          Remediation = "grant_engine_socket_access"
	UpgradeEngine        Remediation = "upgrade_engine"
	UseLinuxContainers   Remediation = "use_linux_containers"
	UseSupportedHost     Remediation = "use_supported_engine_host"
	RetryReadiness       Remediation = "retry_backend_readiness"
	ConfigureImage       Remediation = "configure_image_digest"
	BuildImage           Remediation = "build_or_load_fixture_image"
	RebuildImage         Remediation = "rebuild_fixture_image"
	RebuildProject       Remediation = "rebuild_project_image"
	UseActiveRun         Remediation = "use_active_code_run"
	SelectDocker         Remediation = "select_docker_profile"
	GrantWorkspace       Remediation = "grant_workspace_access"
	CreateDrydock        Remediation = "create_drydock"
	UseCurrentGeneration Remediation = "use_current_generation"
	UseCurrentCheckpoint Remediation = "use_current_checkpoint"
	CheckpointOrRewind   Remediation = "checkpoint_or_rewind"
)

// advices say what to type, for a person.
var advices = map[Remediation]string{
	RestartWithGate:      "add the missing --enable-… flags to this command",
	StartDocker:          "install Docker Engine or start its daemon, or set docker.socket to where it listens",
	StartContainerd:      "install containerd or start its daemon, or set containerd.address to where it listens",
	GrantSocket:          "run as root or as a member of the group that owns the engine's socket",
	UpgradeEngine:        "use Docker Engine 20.10 to 29 (API 1.41 or later)",
	UseLinuxContainers:   "use an engine for Linux containers of this machine's architecture",
	UseSupportedHost:     "use a rootful Docker Engine on this Linux host, without user namespace remapping, with swap accounting",
	RetryReadiness:       "free resources or enable the missing cgroup controller, then ask again",
	ConfigureImage:       "set image.docker in config.yaml (`cyberagent config path`), or CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST, to the digest that `cyberagent fixture build` prints",
	BuildImage:           "build it with `cyberagent fixture build`, or load it into the engine",
	RebuildImage:         "build the image again with `cyberagent fixture build` and configure the new digest",
	RebuildProject:       "fetch what the lockfiles name, build the project's image with `cyberagent fixture build --project DIR`, and configure its digest below image.projects",
	UseActiveRun:         "use an active Run (`cyberagent run list`) or create one",
	SelectDocker:         "select it with `cyberagent run profile RUN docker`",
	GrantWorkspace:       "grant it with `cyberagent run permission RUN workspace_access`",
	CreateDrydock:        "create one with `cyberagent drydock create RUN`; one that was delivered is ready again after `cyberagent drydock checkpoint RUN`; for all else look at `cyberagent drydock status RUN`",
	UseCurrentGeneration: "pass the generation that `cyberagent drydock status RUN` shows",
	UseCurrentCheckpoint: "pass the Checkpoint that `cyberagent drydock status RUN` shows",
	CheckpointOrRewind:   "look at `git status` in the Drydock (how: `cyberagent help drydock use`), then record the files with `cyberagent drydock checkpoint RUN`",
}

// Remediations returns every word.
func Remediations() []Remediation {
	return []Remediation{
		RestartWithGate, StartDocker, StartContainerd, GrantSocket, UpgradeEngine, UseLinuxContainers,
		UseSupportedHost, RetryReadiness, ConfigureImage, BuildImage, RebuildImage, RebuildProject,
		UseActiveRun, SelectDocker, GrantWorkspace, CreateDrydock, UseCurrentGeneration,
		UseCurrentCheckpoint, CheckpointOrRewind,
	}
}

// Advice says what to do in one sentence.
func Advice(r Remediation) string { return advices[r] }

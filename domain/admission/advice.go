package admission

import (
	"fmt"
	"path"
	"strings"

	"cyberagent/domain/drydock"
	"cyberagent/domain/phrase"
	"cyberagent/domain/run"
)

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
	CheckpointOrRewind:   "look at `git status --ignored` in the Drydock (how: `cyberagent help drydock use`), then record the files with `cyberagent drydock checkpoint RUN`",
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

// Advice says what to do in one sentence, with RUN and DIR for what is not known.
func Advice(r Remediation) string { return advices[r] }

// advise is Advice with the values of a case.
func advise(r Remediation, e Evidence) string {
	text := adviseCase(r, e)
	if from := source(r, e); from != "" {
		text += "; " + from
	}
	return text
}

func adviseCase(r Remediation, e Evidence) string {
	switch r {
	case RebuildProject:
		if e.Run != nil && e.Drydock != nil && e.Drydock.Drydock.Place.Root != "" && e.Dependencies != nil {
			place := path.Join(e.Drydock.Drydock.Place.Root, e.Dependencies.Dir)
			return filled(advices[r], e) + "; what changed in the Drydock alone takes --project " + phrase.Word(place)
		}
	case RestartWithGate:
		if missing := e.Gates.Missing(); len(missing) > 0 {
			return "add " + strings.Join(missing, " ") + " to this command"
		}
	case BuildImage, RebuildImage:
		if e.Image != nil && e.Image.Project {
			return filled(adviseProject, e)
		}
	case UseActiveRun:
		if e.Run != nil && e.Run.Status != run.Active {
			return e.Run.Remedy()
		}
	case CreateDrydock:
		return filled(adviseDrydock(e), e)
	case UseCurrentGeneration, UseCurrentCheckpoint:
		if e.Drydock != nil && e.Drydock.Present && e.Drydock.Drydock.Status == drydock.Ready {
			d := e.Drydock.Drydock
			return fmt.Sprintf("pass --generation %d --checkpoint %s", d.Generation, d.Checkpoint)
		}
	default: // their texts have no values but the Run's
	}
	return filled(advices[r], e)
}

// filled puts the Run's values in for the words that stand for them.
func filled(text string, e Evidence) string {
	if e.Run == nil {
		return text
	}
	dir := e.Run.Workspace
	if e.Dependencies != nil {
		dir = path.Join(dir, e.Dependencies.Dir)
	}
	return strings.NewReplacer("RUN", string(e.Run.ID), "DIR", phrase.Word(dir)).Replace(text)
}

// adviseProject is for a project's image that is not there or not fit; with the
// dependencies' own advice it would name the wrong image.
const adviseProject = "build the project's image again with `cyberagent fixture build --project DIR` and configure the new digest below image.projects"

// adviseDrydock depends on what became of the Drydock.
func adviseDrydock(e Evidence) string {
	if e.Drydock == nil {
		return advices[CreateDrydock]
	}
	switch e.Drydock.Drydock.Status {
	case drydock.Delivered:
		return "it is ready again after `cyberagent drydock checkpoint RUN`"
	case drydock.Preparing, drydock.RecoveryRequired, drydock.Ready:
		return "look at `cyberagent drydock status RUN`"
	case drydock.Cleaned:
	}
	return "create one with `cyberagent drydock create RUN`"
}

// source says who gave the value that a remediation corrects.
func source(r Remediation, e Evidence) string {
	switch r {
	case StartDocker, StartContainerd, GrantSocket:
		if e.Engine != nil {
			return e.Engine.Endpoint
		}
	case ConfigureImage, BuildImage, RebuildImage:
		if e.Image != nil && e.Image.Configured != "" {
			return e.Image.From
		}
	default: // they correct no value that is configured
	}
	return ""
}

#!/usr/bin/env bash
# A private Docker Engine for development and tests: own data, own sockets, own
# containerd, no bridge, no firewall rules, no service manager.
#
#   docker.sh up       install what is missing, start, wait until the API answers
#   docker.sh down     stop exactly what `up` started, leave no mount behind
#   docker.sh status   say what runs (exit 0: answers, 3: does not)
#   docker.sh env      print CYBERAGENT_DOCKER_SOCKET=... for the shell
#
# State: ${CYBERAGENT_DEV_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/cyberagent-dev}/docker
set -euo pipefail

readonly PROG=${0##*/}
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
readonly STOP_SECONDS=45 # dockerd gives its containers 10 of these

locate_state() {
	local home
	home=$(dev_home)
	STATE=$home/docker
	RUN=$STATE/run
	DATA=$STATE/data
	EXEC=$STATE/exec
	SOCKET=$RUN/docker.sock
	DOCKERD_PIDFILE=$RUN/dockerd.pid
	DOCKERD_RECORD=$RUN/dockerd.proc
	DOCKERD_LOG=$STATE/dockerd.log
	CONTAINERD_SOCKET=$RUN/containerd.sock
	CONTAINERD_RECORD=$RUN/containerd.proc
	CONTAINERD_CONFIG=$RUN/containerd.toml
	CONTAINERD_LOG=$STATE/containerd.log
	readonly STATE RUN DATA EXEC SOCKET DOCKERD_PIDFILE DOCKERD_RECORD DOCKERD_LOG
	readonly CONTAINERD_SOCKET CONTAINERD_RECORD CONTAINERD_CONFIG CONTAINERD_LOG
	fits_socket "$CONTAINERD_SOCKET.ttrpc"
}

dockerd_pid() { recorded "$DOCKERD_RECORD" "--data-root=$DATA"; }
containerd_pid() { recorded "$CONTAINERD_RECORD" "$CONTAINERD_CONFIG"; }

# The packaged client is preferred: one that is newer than the engine by years
# refuses the engine's API version.
client() {
	env -u DOCKER_API_VERSION -u DOCKER_CONTEXT -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH \
		DOCKER_CONFIG="$RUN/client" timeout 10 "$(find_program docker)" -H "unix://$SOCKET" "$@"
}

answers() { [ -S "$SOCKET" ] && client version --format '{{.Server.Version}} (API {{.Server.APIVersion}})' 2>/dev/null; }

# --- starting

containerd_listens() { [ -S "$CONTAINERD_SOCKET" ]; }

start_containerd() {
	rm -f "$CONTAINERD_SOCKET" "$CONTAINERD_SOCKET.ttrpc"
	cat >"$CONTAINERD_CONFIG" <<-TOML
		version = 2
		root = "$STATE/containerd/root"
		state = "$STATE/containerd/state"
		disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
		[grpc]
		  address = "$CONTAINERD_SOCKET"
	TOML
	start_daemon "$CONTAINERD_RECORD" "$CONTAINERD_LOG" "$(find_program containerd)" --config "$CONTAINERD_CONFIG"
	await containerd "$CONTAINERD_LOG" containerd_pid containerd_listens
}

start_dockerd() {
	# A pidfile whose process is not ours would make dockerd refuse to start
	# whenever the number was given to somebody else meanwhile.
	if [ -e "$DOCKERD_PIDFILE" ]; then
		say "removing a stale pidfile ($(head -c 20 "$DOCKERD_PIDFILE"))"
		rm -f "$DOCKERD_PIDFILE"
	fi
	rm -f "$SOCKET"
	printf '{}\n' >"$RUN/daemon.json" # not the machine's /etc/docker/daemon.json
	start_daemon "$DOCKERD_RECORD" "$DOCKERD_LOG" "$(find_program dockerd)" \
		"--config-file=$RUN/daemon.json" "--data-root=$DATA" "--exec-root=$EXEC" "--pidfile=$DOCKERD_PIDFILE" \
		"--host=unix://$SOCKET" "--group=0" "--containerd=$CONTAINERD_SOCKET" \
		--bridge=none --iptables=false --ip-forward=false --ip-masq=false
}

up() {
	need_root up
	take_lock
	mkdir -p "$RUN" "$RUN/client"
	install_missing "dockerd containerd containerd-shim-runc-v2 runc iptables docker" "docker.io containerd runc iptables"
	local pid version started_at=$SECONDS
	if ! containerd_pid >/dev/null; then
		if pid=$(dockerd_pid); then
			say "dockerd (pid $pid) lost its containerd; restarting both"
			stop_process dockerd "$pid" "$STOP_SECONDS"
		fi
		stop_shims "$STATE/containerd/state" "$CONTAINERD_SOCKET"
		say "starting containerd"
		start_containerd
	fi
	if pid=$(dockerd_pid); then
		await dockerd "$DOCKERD_LOG" dockerd_pid answers
		say "already running: Docker Engine $(answers), pid $pid, socket $SOCKET"
		return 0
	fi
	say "starting dockerd"
	start_dockerd
	await dockerd "$DOCKERD_LOG" dockerd_pid answers
	version=$(answers) || version="(too busy to say its version again)" # it did answer
	say "Docker Engine $version answers on $SOCKET after $((SECONDS - started_at)) s, pid $(dockerd_pid)"
}

down() {
	need_root down
	if [ ! -d "$STATE" ]; then
		say "nothing to stop: $STATE does not exist"
		return 0
	fi
	take_lock
	local pid what=()
	if pid=$(dockerd_pid); then
		say "stopping dockerd (pid $pid) and its containers"
		stop_process dockerd "$pid" "$STOP_SECONDS"
		what+=(dockerd)
	fi
	stop_shims "$STATE/containerd/state" "$CONTAINERD_SOCKET"
	if pid=$(containerd_pid); then
		say "stopping containerd (pid $pid)"
		stop_process containerd "$pid" 15
		what+=(containerd)
	fi
	unmount_ours
	rm -f "$SOCKET" "$CONTAINERD_SOCKET" "$CONTAINERD_SOCKET.ttrpc" "$DOCKERD_PIDFILE" "$DOCKERD_RECORD" "$CONTAINERD_RECORD"
	if [ ${#what[@]} -eq 0 ]; then
		say "nothing was running under $STATE"
	else
		say "stopped ${what[*]}; no process, socket or mount is left; images stay in $DATA"
	fi
}

status() {
	local pid version
	if pid=$(dockerd_pid) && version=$(answers); then
		say "running: Docker Engine $version, dockerd pid $pid, containerd pid $(containerd_pid || echo none), socket $SOCKET, state $STATE"
		return 0
	fi
	if [ "$(id -u)" != 0 ] && [ -e "$DOCKERD_RECORD" ]; then
		say "not reachable as this user; ask again as root"
	elif pid=$(dockerd_pid); then
		say "dockerd (pid $pid) lives but does not answer; log: $DOCKERD_LOG; remedy: $0 down && $0 up"
	else
		say "not running; remedy: $0 up"
	fi
	return 3
}

print_env() {
	printf 'CYBERAGENT_DOCKER_SOCKET=%s\n' "$SOCKET"
	[ -S "$SOCKET" ] || say "note: nothing listens there yet; start it with: $0 up"
}

main() {
	case ${1-} in
	up | down | status | env)
		[ $# -eq 1 ] || die "'$1' takes no argument" "usage: $0 up|down|status|env"
		locate_state
		;;
	*)
		printf 'usage: %s up|down|status|env\n' "$0" >&2
		exit 2
		;;
	esac
	case $1 in
	env) print_env ;;
	*) "$1" ;;
	esac
}

main "$@"

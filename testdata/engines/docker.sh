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
readonly START_SECONDS=60
readonly STOP_SECONDS=45 # dockerd gives its containers 10 of these
# A unix socket path holds 107 bytes; the longest of ours is containerd.sock.ttrpc.
readonly SOCKET_PATH_MAX=107

say() { printf '%s: %s\n' "$PROG" "$*" >&2; }
die() {
	printf '%s: error: %s\n' "$PROG" "$1" >&2
	shift
	local line
	for line in "$@"; do printf '  remedy: %s\n' "$line" >&2; done
	exit 1
}

locate_state() {
	local home
	home=${CYBERAGENT_DEV_HOME:-${XDG_CACHE_HOME:-${HOME:?HOME is not set; set CYBERAGENT_DEV_HOME}/.cache}/cyberagent-dev}
	case $home in
	/*) ;;
	*) die "the development home '$home' is not an absolute path" "set CYBERAGENT_DEV_HOME to an absolute path" ;;
	esac
	case $home in
	*[!A-Za-z0-9/._@+-]*) die "the development home '$home' has a character that a daemon's option cannot carry safely" \
		"set CYBERAGENT_DEV_HOME to a path of letters, digits and / . _ @ + -" ;;
	esac
	STATE=${home%/}/docker
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
	local longest=$CONTAINERD_SOCKET.ttrpc
	if [ "${#longest}" -gt "$SOCKET_PATH_MAX" ]; then
		die "'$longest' is too long for a unix socket (${#longest} bytes, at most $SOCKET_PATH_MAX)" \
			"set CYBERAGENT_DEV_HOME to a shorter path, for example /var/tmp/cyberagent-dev"
	fi
}

need_root() {
	[ "$(id -u)" = 0 ] || die "'$1' needs root: the engine makes namespaces, mounts and cgroups" "run it as root, for example: sudo -E $0 $1"
}

# One `up` or `down` at a time. Descriptor 9 must not reach a daemon, or the
# lock would live as long as the daemon does.
take_lock() {
	mkdir -p "$STATE"
	exec 9>"$STATE/lock"
	if ! flock -n 9; then
		say "another $PROG works on $STATE; waiting"
		flock -w 900 9 || die "another $PROG held the lock for 15 minutes" "look for it with: fuser -v $STATE/lock"
	fi
}

# --- processes: a pid alone proves nothing, so each is kept with its start time
# and asked for an argument that only ours carries.

start_time() { # pid -> clock ticks since boot; fails for a dead or zombie process
	local stat rest fields
	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
	rest=${stat##*) }
	read -ra fields <<<"$rest"
	[ "${fields[0]}" != Z ] && [ "${fields[0]}" != X ] || return 1
	printf '%s\n' "${fields[19]}"
}

has_argument() { # pid argument
	local arg
	while IFS= read -r -d '' arg; do
		[ "$arg" = "$2" ] && return 0
	done 2>/dev/null <"/proc/$1/cmdline"
	return 1
}

record() { # file pid
	local started
	started=$(start_time "$2") || return 1
	printf '%s %s\n' "$2" "$started" >"$1.new"
	mv "$1.new" "$1"
}

recorded() { # file argument -> pid, when that very process lives
	local pid started now
	[ -r "$1" ] || return 1
	read -r pid started <"$1" || return 1
	[[ $pid =~ ^[0-9]+$ && $started =~ ^[0-9]+$ ]] || return 1
	now=$(start_time "$pid") || return 1
	[ "$now" = "$started" ] && has_argument "$pid" "$2" || return 1
	printf '%s\n' "$pid"
}

dockerd_pid() { recorded "$DOCKERD_RECORD" "--data-root=$DATA"; }
containerd_pid() { recorded "$CONTAINERD_RECORD" "$CONTAINERD_CONFIG"; }

gone() { # pid start-time
	local now
	now=$(start_time "$1") || return 0
	[ "$now" != "$2" ]
}

wait_gone() { # pid start-time seconds
	local tenths=$(($3 * 10))
	until gone "$1" "$2"; do
		[ "$tenths" -gt 0 ] || return 1
		tenths=$((tenths - 1))
		sleep 0.1
	done
}

stop_process() { # name pid seconds
	local started
	started=$(start_time "$2") || return 0
	kill -TERM "$2" 2>/dev/null || true
	if ! wait_gone "$2" "$started" "$3"; then
		say "$1 (pid $2) ignored TERM for $3 s; killing it"
		gone "$2" "$started" || kill -KILL "$2" 2>/dev/null || true
		wait_gone "$2" "$started" 10 || die "$1 (pid $2) does not end" "look at /proc/$2/stack; a process in state D ends only with its device"
	fi
}

shims() { # pids of the shims of our containerd
	local dir pid
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		case $(tr '\0' ' ' 2>/dev/null <"$dir/cmdline") in
		*containerd-shim*) has_argument "$pid" "$CONTAINERD_SOCKET" && printf '%s\n' "$pid" ;;
		esac
	done
	return 0
}

descendants() { # pid -> every process under it, the deepest last
	local children child
	read -ra children -d '' < <(cat "/proc/$1"/task/*/children 2>/dev/null) || true
	for child in ${children[@]+"${children[@]}"}; do
		printf '%s\n' "$child"
		descendants "$child"
	done
}

# dockerd takes its containers along when it stops in order; this is for one
# that was killed. The tree is frozen in a list before anything dies, because
# the children of a dead shim are no longer to be told from strangers.
stop_shims() {
	local shim pid entry file list=() sockets=()
	# Shim sockets are the one thing that containerd keeps outside of its state;
	# it forgets their names as soon as it sees the shim die.
	for file in "$STATE"/containerd/state/io.containerd.runtime.v2.task/*/*/address; do
		[ ! -r "$file" ] || sockets+=("$(cat "$file")")
	done
	for shim in $(shims); do
		say "a shim is left over (pid $shim); ending it and its container"
		for pid in $shim $(descendants "$shim"); do
			list+=("$pid:$(start_time "$pid" || echo 0)")
		done
	done
	for entry in ${list[@]+"${list[@]}"}; do
		gone "${entry%:*}" "${entry#*:}" || kill -KILL "${entry%:*}" 2>/dev/null || true
	done
	for entry in ${list[@]+"${list[@]}"}; do
		wait_gone "${entry%:*}" "${entry#*:}" 10 || die "pid ${entry%:*} of a container does not end" "look at /proc/${entry%:*}/stack, then run: $0 down"
	done
	for entry in ${sockets[@]+"${sockets[@]}"}; do
		case $entry in
		unix:///run/containerd/s/*) rm -f "${entry#unix://}" ;;
		esac
	done
}

mounts_of_ours() { # mount points under our state, the newest first
	local point
	while read -r _ _ _ _ point _; do
		point=$(printf '%b' "$point") # spaces and the like are octal there
		case $point in
		"$STATE"/*) printf '%s\n' "$point" ;;
		esac
	done </proc/self/mountinfo | tac
}

unmount_ours() {
	local point
	while IFS= read -r point; do
		[ -n "$point" ] || continue
		umount "$point" 2>/dev/null || umount -l "$point" || die "cannot unmount $point" "see who uses it with: fuser -vm $point"
	done < <(mounts_of_ours)
	[ -z "$(mounts_of_ours)" ] || die "mounts are left under $STATE" "list them with: grep $STATE /proc/self/mountinfo"
}

# --- programs

find_program() { # name -> path; the distribution's own before any other
	local dir
	for dir in /usr/sbin /usr/bin /sbin /bin; do
		[ -x "$dir/$1" ] && {
			printf '%s\n' "$dir/$1"
			return 0
		}
	done
	command -v "$1"
}

# Debian starts services from a package's postinst. Ours needs none of them and
# is not disturbed by one, yet a second engine with a bridge and firewall rules
# is nothing that a test script should leave running.
readonly POLICY=/usr/sbin/policy-rc.d
readonly POLICY_MARK='# made by cyberagent testdata/engines/docker.sh, removed after the installation'
drop_policy() {
	if grep -qsxF "$POLICY_MARK" "$POLICY"; then rm -f "$POLICY"; fi
}

install_missing() {
	local name missing=()
	drop_policy # of an installation that was killed
	for name in dockerd containerd containerd-shim-runc-v2 runc iptables; do
		find_program "$name" >/dev/null || missing+=("$name")
	done
	# The client is used to ask whether the API answers; it may be any client.
	find_program docker >/dev/null || missing+=(docker)
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "missing: ${missing[*]}; and there is no apt-get to install them with" \
		"install Docker Engine 20.10 or newer, containerd, runc and iptables by your system's means, then repeat"

	local packages=(docker.io containerd runc iptables)
	say "installing ${packages[*]} (missing: ${missing[*]})"
	trap drop_policy EXIT
	if [ ! -e "$POLICY" ]; then
		printf '#!/bin/sh\n%s\nexit 101\n' "$POLICY_MARK" >"$POLICY"
		chmod 755 "$POLICY"
	fi
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
	local install=("${apt[@]}" install --no-install-recommends "${packages[@]}")
	# Stale or absent package lists are the usual reason to fail once.
	if ! "${install[@]}" >"$STATE/apt.log" 2>&1 9>&-; then
		say "refreshing the package lists"
		"${apt[@]}" update >>"$STATE/apt.log" 2>&1 9>&- || true
		if ! "${install[@]}" >>"$STATE/apt.log" 2>&1 9>&-; then
			tail -n 15 "$STATE/apt.log" >&2
			die "apt-get cannot install ${packages[*]} (whole log: $STATE/apt.log)" \
				"check the package sources and the network, then run: apt-get update && $0 up"
		fi
	fi
	# Debian 13 moved the client into a package of its own.
	find_program docker >/dev/null || "${apt[@]}" install --no-install-recommends docker-cli >>"$STATE/apt.log" 2>&1 9>&- || true
	drop_policy
	trap - EXIT
	for name in "${missing[@]}"; do
		find_program "$name" >/dev/null || die "$name is still missing after the installation" "see $STATE/apt.log"
	done
}

# The packaged client is preferred: one that is newer than the engine by years
# refuses the engine's API version.
client() {
	env -u DOCKER_API_VERSION -u DOCKER_CONTEXT -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH \
		DOCKER_CONFIG="$RUN/client" timeout 10 "$(find_program docker)" -H "unix://$SOCKET" "$@"
}

answers() { [ -S "$SOCKET" ] && client version --format '{{.Server.Version}} (API {{.Server.APIVersion}})' 2>/dev/null; }

# --- starting

start_daemon() { # record log command...
	local record=$1 log=$2 fd
	shift 2
	(
		# Whatever else the caller has open (the lock, a pipe that somebody reads
		# to its end) must not live as long as the daemon.
		for fd in /proc/self/fd/*; do
			fd=${fd##*/}
			[ "$fd" -le 2 ] || eval "exec $fd>&-" 2>/dev/null || true
		done
		# setsid execs in place: a background job of a script leads no group.
		exec setsid "$@"
	) </dev/null >>"$log" 2>&1 &
	record "$record" "$!" || true # dead at once: the wait that follows says why
}

await() { # name log pid-function check...
	local name=$1 log=$2 pid_of=$3 tenths=$((START_SECONDS * 10))
	shift 3
	until "$@" >/dev/null; do
		if ! "$pid_of" >/dev/null && [ "$tenths" -lt $((START_SECONDS * 10 - 20)) ]; then
			tail -n 15 "$log" >&2
			die "$name ended while it started (whole log: $log)" \
				"the last lines above name the reason; if its state is broken: $0 down, remove $STATE, $0 up"
		fi
		if [ "$tenths" -le 0 ]; then
			tail -n 15 "$log" >&2
			die "$name did not answer within $START_SECONDS s (whole log: $log)" "run: $0 down && $0 up"
		fi
		tenths=$((tenths - 1))
		sleep 0.1
	done
}

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
	install_missing
	local pid version started_at=$SECONDS
	if ! containerd_pid >/dev/null; then
		if pid=$(dockerd_pid); then
			say "dockerd (pid $pid) lost its containerd; restarting both"
			stop_process dockerd "$pid" "$STOP_SECONDS"
		fi
		stop_shims
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
	version=$(answers)
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
	stop_shims
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

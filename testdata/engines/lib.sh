# Shared by the engines' scripts, which source it: messages, the development home,
# processes that are ours, Debian packages, daemons.
# shellcheck shell=bash

readonly START_SECONDS=60
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

dev_home() { # -> the directory that holds every engine's state
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
	printf '%s\n' "${home%/}"
}

fits_socket() { # path
	[ "${#1}" -le "$SOCKET_PATH_MAX" ] || die "'$1' is too long for a unix socket (${#1} bytes, at most $SOCKET_PATH_MAX)" \
		"set CYBERAGENT_DEV_HOME to a shorter path, for example /var/tmp/cyberagent-dev"
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

shims() { # socket -> pids of the shims of the containerd that listens there
	local dir pid
	for dir in /proc/[0-9]*; do
		pid=${dir#/proc/}
		case $(tr '\0' ' ' 2>/dev/null <"$dir/cmdline") in
		*containerd-shim*) has_argument "$pid" "$1" && printf '%s\n' "$pid" ;;
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

# A daemon that was killed leaves its shims and their containers running. The tree
# is frozen in a list before anything dies, because the children of a dead shim
# are no longer to be told from strangers.
stop_shims() { # state directory of the containerd, its socket
	local shim pid entry file list=() sockets=()
	# Shim sockets are the one thing that containerd keeps outside of its state;
	# it forgets their names as soon as it sees the shim die. Old ones keep the name
	# in a file of its own, new ones in JSON.
	for file in "$1"/io.containerd.runtime.v2.task/*/*/{address,bootstrap.json}; do
		[ ! -r "$file" ] || sockets+=("$(grep -o 'unix:///run/containerd/s/[0-9a-f]*' "$file" || true)")
	done
	for shim in $(shims "$2"); do
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

# --- mounts

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

install_missing() { # "programs" "packages": what is missing comes from Debian
	local name missing=() packages=()
	read -ra packages <<<"$2"
	drop_policy # of an installation that was killed
	for name in $1; do
		find_program "$name" >/dev/null || missing+=("$name")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "missing: ${missing[*]}; and there is no apt-get to install them with" \
		"install them by your system's means, then repeat"

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
	case " $1 " in
	*" docker "*) find_program docker >/dev/null || "${apt[@]}" install --no-install-recommends docker-cli >>"$STATE/apt.log" 2>&1 9>&- || true ;;
	esac
	drop_policy
	trap - EXIT
	for name in "${missing[@]}"; do
		find_program "$name" >/dev/null || die "$name is still missing after the installation" "see $STATE/apt.log"
	done
}

# --- daemons

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

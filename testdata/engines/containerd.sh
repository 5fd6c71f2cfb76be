#!/usr/bin/env bash
# A private containerd for development and tests: own root, state and socket, no
# CRI, no service manager.
#
#   containerd.sh [--debian] up       build or install what is missing, start, wait
#   containerd.sh [--debian] down     stop exactly what `up` started
#   containerd.sh [--debian] status   say what runs (exit 0: answers, 3: does not)
#   containerd.sh [--debian] env      print the address for the shell
#
# Without --debian it is containerd of the version in go.mod, built once from
# source; with it, the distribution's own. Both can run at once, beside docker.sh's.
# The address is CYBERAGENT_CONTAINERD_ADDRESS, the product's own variable, and
# CYBERAGENT_TEST_CONTAINERD_DEBIAN_ADDRESS, which only tests know.
#
# State: ${CYBERAGENT_DEV_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/cyberagent-dev}/containerd
# and …/containerd-debian; programs: …/containerd-bin/<version>, or below
# CYBERAGENT_CONTAINERD_PROGRAMS, which a second state can share.
set -euo pipefail

readonly PROG=${0##*/}
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"
readonly MODULE=github.com/containerd/containerd/v2

locate_state() {
	local home
	home=$(dev_home)
	if [ -n "$DEBIAN" ]; then
		STATE=$home/containerd-debian VARIABLE=CYBERAGENT_TEST_CONTAINERD_DEBIAN_ADDRESS
	else
		STATE=$home/containerd VARIABLE=CYBERAGENT_CONTAINERD_ADDRESS
	fi
	PROGRAMS=${CYBERAGENT_CONTAINERD_PROGRAMS:-$home/containerd-bin}
	RUN=$STATE/run
	SOCKET=$RUN/containerd.sock
	RECORD=$RUN/containerd.proc
	CONFIG=$RUN/containerd.toml
	LOG=$STATE/containerd.log
	readonly STATE VARIABLE PROGRAMS RUN SOCKET RECORD CONFIG LOG
	fits_socket "$SOCKET.ttrpc"
}

containerd_pid() { recorded "$RECORD" "$CONFIG"; }

# containerd, its shim and ctr of the version in go.mod. A module's program builds
# with that module's own dependencies, so nothing here depends on them.
build() { # -> the directory of the programs
	local version bin name missing=()
	command -v go >/dev/null || die "no go command" "install Go; containerd is built from its source"
	version=$(cd "$here/../.." && go list -m -f '{{.Version}}' "$MODULE") || die "go.mod does not name $MODULE" "run it in a checkout of this project"
	bin=$PROGRAMS/$version
	for name in containerd containerd-shim-runc-v2 ctr; do
		[ -x "$bin/$name" ] || missing+=("$MODULE/cmd/$name@$version")
	done
	if [ ${#missing[@]} -gt 0 ]; then
		say "building containerd $version (some minutes, once)"
		mkdir -p "$bin"
		GOBIN=$bin CGO_ENABLED=0 GOFLAGS='' GOOS='' GOARCH='' go install -trimpath -ldflags='-s -w' "${missing[@]}" 2>"$STATE/build.log" >&2 9>&- || {
			tail -n 15 "$STATE/build.log" >&2
			die "containerd $version cannot be built (whole log: $STATE/build.log)" "check the network and GOPROXY, then run: $0 up"
		}
	fi
	printf '%s\n' "$bin"
}

programs() { # -> the directory that holds containerd, shim and ctr
	if [ -n "$DEBIAN" ]; then
		dirname "$(find_program containerd)"
	else
		build
	fi
}

answers() { # -> version
	local ctr
	[ -S "$SOCKET" ] || return 1
	ctr=$(find "$PROGRAMS" -name ctr -type f 2>/dev/null | sort | tail -n 1)
	[ -n "$ctr" ] && [ -z "$DEBIAN" ] || ctr=$(find_program ctr) || return 1
	CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 timeout 10 "$ctr" --address "$SOCKET" version 2>/dev/null | sed -n '/^Server:/,$s/^ *Version: *//p' | grep .
}

configure() {
	rm -f "$SOCKET" "$SOCKET.ttrpc"
	local version=3 off
	# Nothing that needs a network, a device or a place outside of our state.
	off='"io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.opt"'
	if [ -n "$DEBIAN" ]; then
		version=2
		off="$off, \"io.containerd.snapshotter.v1.aufs\""
	else
		off="$off, \"io.containerd.cri.v1.images\", \"io.containerd.cri.v1.runtime\", \"io.containerd.nri.v1.nri\", \"io.containerd.snapshotter.v1.blockfile\", \"io.containerd.snapshotter.v1.erofs\", \"io.containerd.image-verifier.v1.bindir\""
	fi
	cat >"$CONFIG" <<-TOML
		version = $version
		root = "$STATE/root"
		state = "$STATE/state"
		disabled_plugins = [$off]
		[grpc]
		  address = "$SOCKET"
	TOML
}

up() {
	need_root up
	take_lock
	mkdir -p "$RUN"
	install_missing "runc${DEBIAN:+ containerd containerd-shim-runc-v2 ctr}" "runc${DEBIAN:+ containerd}"
	local bin pid
	bin=$(programs)
	if pid=$(containerd_pid); then
		await containerd "$LOG" containerd_pid answers
		say "already running: containerd $(answers), pid $pid, socket $SOCKET"
		return 0
	fi
	# Shims that outlived their containerd are taken up again by the new one.
	configure
	# The shim is looked for in PATH first, so the right one must be there.
	PATH=$bin:$PATH start_daemon "$RECORD" "$LOG" "$bin/containerd" --config "$CONFIG"
	await containerd "$LOG" containerd_pid answers
	say "containerd $(answers) answers on $SOCKET, pid $(containerd_pid)"
}

down() {
	need_root down
	if [ ! -d "$STATE" ]; then
		say "nothing to stop: $STATE does not exist"
		return 0
	fi
	take_lock
	local pid what=
	stop_shims "$STATE/state" "$SOCKET"
	if pid=$(containerd_pid); then
		say "stopping containerd (pid $pid)"
		stop_process containerd "$pid" 15
		what=yes
	fi
	stop_shims "$STATE/state" "$SOCKET"
	unmount_ours
	rm -f "$SOCKET" "$SOCKET.ttrpc" "$RECORD"
	if [ -z "$what" ]; then
		say "nothing was running under $STATE"
	else
		say "stopped; no process, socket or mount is left; images stay in $STATE/root"
	fi
}

status() {
	local pid version
	if pid=$(containerd_pid) && version=$(answers); then
		say "running: containerd $version, pid $pid, socket $SOCKET, state $STATE"
		return 0
	fi
	if [ "$(id -u)" != 0 ] && [ -e "$RECORD" ]; then
		say "not reachable as this user; ask again as root"
	elif pid=$(containerd_pid); then
		say "containerd (pid $pid) lives but does not answer; log: $LOG; remedy: $0 down && $0 up"
	else
		say "not running; remedy: $0 up"
	fi
	return 3
}

print_env() {
	printf '%s=%s\n' "$VARIABLE" "$SOCKET"
	[ -S "$SOCKET" ] || say "note: nothing listens there yet; start it with: $0 up"
}

main() {
	DEBIAN=
	if [ "${1-}" = --debian ]; then
		DEBIAN=yes
		shift
	fi
	readonly DEBIAN
	case ${1-} in
	up | down | status | env)
		[ $# -eq 1 ] || die "'$1' takes no argument" "usage: $0 [--debian] up|down|status|env"
		locate_state
		;;
	*)
		printf 'usage: %s [--debian] up|down|status|env\n' "$0" >&2
		exit 2
		;;
	esac
	case $1 in
	env) print_env ;;
	*) "$1" ;;
	esac
}

main "$@"

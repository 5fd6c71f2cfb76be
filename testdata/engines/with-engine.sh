#!/usr/bin/env bash
# Runs a command with everything that it needs: a Docker Engine, the four base
# images and the fixture image, made if they are missing. What this script
# started it stops again, whatever happens; an engine that was there stays.
#
#   with-engine.sh COMMAND [ARGUMENT...]
#
# The command sees CYBERAGENT_DOCKER_SOCKET, the four base variables, and the
# image's digest under its product and test names. bin/cyberagent must be built.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

[ $# -gt 0 ] || { say "usage: with-engine.sh COMMAND [ARGUMENT...]"; exit 2; }
[ -x "$root/bin/cyberagent" ] || { say "error: bin/cyberagent is missing" "  remedy: make build"; exit 1; }

started=
finish() {
	local code=$?
	if [ -n "$started" ]; then
		"$here/docker.sh" down || code=1
	fi
	exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

if ! "$here/docker.sh" status >/dev/null 2>&1; then
	started=yes
	"$here/docker.sh" up
fi
dev=${CYBERAGENT_DEV_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/cyberagent-dev}
socket=$("$here/docker.sh" env)
export "${socket?}"

bases=$("$root/testdata/standard-code-docker/make-bases.sh")
while IFS= read -r line; do export "${line?}"; done <<<"$bases"

# The image is remembered by its inputs: the second time this takes a moment.
digests=$(CYBERAGENT_HOME=$dev/fixture "$root/bin/cyberagent" --output text fixture build)
while IFS= read -r line; do export "${line?}"; done <<<"$digests"

"$@"

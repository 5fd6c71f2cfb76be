#!/usr/bin/env bash
# Runs a command with everything that it needs: Docker Engine, containerd of the
# version in go.mod and the distribution's, the four base images and the fixture
# image in the first two, made if they are missing. What this script started it
# stops again, whatever happens; an engine that was there stays.
#
#   with-engine.sh COMMAND [ARGUMENT...]
#
# The command sees CYBERAGENT_DOCKER_SOCKET, CYBERAGENT_CONTAINERD_ADDRESS,
# CYBERAGENT_TEST_CONTAINERD_DEBIAN_ADDRESS, the four base variables, and the
# image's digests under their product and test names. bin/cyberagent must be built.
#
# CYBERAGENT_WITH_ENGINES names the engines to bring up: "docker containerd
# containerd-debian" unless it is set. "docker?" is Docker Engine if it runs already,
# or if the base images are missing, which are made with it; otherwise the command
# sees the address of an engine that is stopped.
set -euo pipefail
shopt -s inherit_errexit

PROG=with-engine.sh
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=testdata/engines/lib.sh
. "$here/lib.sh"

[ $# -gt 0 ] || { say "usage: with-engine.sh COMMAND [ARGUMENT...]"; exit 2; }
[ -x "$root/bin/cyberagent" ] || die "bin/cyberagent is missing" "make build"
engines=${CYBERAGENT_WITH_ENGINES:-docker containerd containerd-debian}
dev=$(dev_home)
if [[ " $engines " == *" docker? "* ]]; then
	wanted=
	if "$here/docker.sh" status >/dev/null 2>&1 || [ -z "$(find "$dev/bases" -maxdepth 1 -name '*.tar' 2>/dev/null)" ]; then
		wanted=docker
	fi
	engines=${engines/docker\?/$wanted}
	address=$("$here/docker.sh" env 2>/dev/null)
	export "${address?}"
fi

engine() { # name verb
	case $1 in
	docker) "$here/docker.sh" "$2" ;;
	containerd) "$here/containerd.sh" "$2" ;;
	containerd-debian) "$here/containerd.sh" --debian "$2" ;;
	*)
		say "error: '$1' in CYBERAGENT_WITH_ENGINES is no engine"
		return 2
		;;
	esac
}

started=()
finish() {
	local code=$? name
	for name in ${started[@]+"${started[@]}"}; do
		engine "$name" down || code=1
	done
	exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

for name in $engines; do
	if ! engine "$name" status >/dev/null 2>&1; then
		started+=("$name") # also when it comes up halfway
		engine "$name" up
	fi
	address=$(engine "$name" env)
	export "${address?}"
done

exported() { # each line of a text
	local line
	while IFS= read -r line; do export "${line?}"; done <<<"$1"
}

# The image is remembered by its inputs: the second time this takes a moment.
fixture() { # engine
	local lines
	lines=$(CYBERAGENT_HOME=$dev/fixture CYBERAGENT_ENGINE=$1 "$root/bin/cyberagent" --output text fixture build)
	exported "$lines"
}

case " $engines " in *" docker "*)
	bases=$("$root/testdata/standard-code-docker/make-bases.sh")
	exported "$bases"
	;;
esac
case " $engines " in *" containerd "*)
	# In the subshell only: the variables stay those of the first engine.
	lines=$("$root/testdata/standard-code-docker/containerd-bases.sh")
	digests=$(
		exported "$lines"
		fixture containerd
		printf '%s\n' "CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST=$CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST" \
			"CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST=$CYBERAGENT_TEST_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST"
	)
	exported "$digests"
	case " $engines " in *" docker "*) ;; *) exported "$lines" ;; esac
	;;
esac
case " $engines " in *" docker "*) fixture docker ;; esac

"$@"

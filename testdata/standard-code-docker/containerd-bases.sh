#!/usr/bin/env bash
# Loads the base images that make-bases.sh made into the containerd that
# CYBERAGENT_CONTAINERD_ADDRESS names, and prints the same four lines
#
#   CYBERAGENT_STANDARD_CODE_{GO,NODE,PYTHON,RUST}_IMAGE_DIGEST=name@sha256:<64 hex>
#
# as it does, with the digest of each image's config. It reads the archives that
# make-bases.sh keeps, the newest of each base; no other engine is needed. Nothing
# is loaded twice, and nothing is unpacked: a base is only read.
set -euo pipefail
unset CDPATH

readonly PROG=${0##*/}
here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../engines/lib.sh
. "$here/../engines/lib.sh"

home=$(dev_home)
socket=${CYBERAGENT_CONTAINERD_ADDRESS-}
socket=${socket#unix://}
[ -S "$socket" ] || die "'$socket' (CYBERAGENT_CONTAINERD_ADDRESS) is not a socket" \
	"testdata/engines/containerd.sh up && export \"\$(testdata/engines/containerd.sh env)\""
# The newest that containerd.sh built, or any.
ctr=$(find "$home/containerd-bin" -name ctr -type f 2>/dev/null | sort -V | tail -n 1)
[ -n "$ctr" ] || ctr=$(find_program ctr) || die "no ctr" "testdata/engines/containerd.sh up"

export CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1
ctr_() { "$ctr" --address "$socket" --namespace "${CYBERAGENT_CONTAINERD_NAMESPACE:-cyberagent}" "$@"; }

for base in go node python rust; do
	archive=$(find "$home/bases" -maxdepth 1 -name "$base-*.tar" -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -n 1 | cut -d' ' -f2-)
	[ -n "$archive" ] || die "no archive of the $base base under $home/bases" "testdata/standard-code-docker/make-bases.sh"
	manifest=$(tar -xOf "$archive" manifest.json)
	config=$(grep -o '"Config":"[0-9a-f]\{64\}' <<<"$manifest") || die "$archive does not name its config" "remove it and run make-bases.sh"
	config=${config#'"Config":"'}
	tag=$(grep -o '"RepoTags":\["[^"]*' <<<"$manifest")
	tag=${tag#'"RepoTags":["'}
	# An image's name says nothing about its content, its config does.
	if [ -z "$(ctr_ images ls -q name=="$tag")" ] || ! ctr_ content get "sha256:$config" >/dev/null 2>&1; then
		say "loading $tag"
		ctr_ images import --no-unpack "$archive" >/dev/null
	fi
	printf 'CYBERAGENT_STANDARD_CODE_%s_IMAGE_DIGEST=%s@sha256:%s\n' "${base^^}" "${tag%:*}" "$config"
done

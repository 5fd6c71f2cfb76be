#!/usr/bin/env bash
# Fetches one project of the corpus with its dependencies into the current, empty
# directory, by the ordinary package clients, and makes a git repository of it.
#
#   fetch.sh go|npm|deb-python|deb-rust NAME VERSION [PACKAGE=VERSION...]
#
# Nothing of a package is executed: npm runs without scripts, sources are unpacked.
# Debian's packages of the dependencies become what an operator would have fetched
# from their registry: a wheelhouse with its pins, a vendor directory with its lock.
set -euo pipefail

kind=$1 name=$2 version=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# unpack PACKAGE=VERSION: the package's files below $scratch/PACKAGE
unpack() {
	local dir=$scratch/${1%%=*}
	mkdir -p "$dir/deb"
	(cd "$dir/deb" && apt-get download -qq -o APT::Sandbox::User=root "$1" >/dev/null)
	dpkg-deb -x "$dir"/deb/*.deb "$dir"
	rm -rf "$dir/deb"
}

debian_source() {
	local apt=${CORPUS_CACHE:?}/apt
	mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
	printf 'deb-src %s bookworm main\n' "${CYBERAGENT_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$apt/list"
	local options=(-qq -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/list" -o Dir::Etc::sourceparts=/dev/null
		-o APT::Sandbox::User=root)
	[ -n "$(find "$apt/state/lists" -name '*_Sources*' -print -quit)" ] || apt-get "${options[@]}" update >/dev/null
	apt-get "${options[@]}" source --download-only --tar-only "$name=$version" >/dev/null
	for f in ./*.orig.tar.*; do case $f in *.asc) ;; *) tar -xf "$f" --strip-components=1 --no-same-owner ;; esac done
	rm -f ./*.orig.tar.*
}

case $kind in
go)
	dir=$(cd / && GOFLAGS=-mod=mod go mod download -json "$name@$version" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
	cp -r "$dir/." .
	chmod -R u+w .
	go mod download 2>/dev/null || true # a module without any has nothing to say
	;;
npm)
	npm pack --silent "$name@$version" >/dev/null
	tar -xzf ./*.tgz --strip-components=1 --no-same-owner
	rm ./*.tgz
	npm install --ignore-scripts --no-audit --no-fund --silent >/dev/null
	printf 'node_modules/\n' >>.gitignore
	;;
deb-python)
	# Sources by indexes of our own, for the machine need not have any; or a package
	# that ships its tests.
	if [[ $name == python3-* ]]; then
		unpack "$name=$version"
		cp -r "$scratch/$name"/usr/lib/python3/dist-packages/. .
	else
		debian_source
	fi
	if [ $# -gt 0 ]; then
		: >requirements.txt
		for package in "$@"; do
			unpack "$package"
			python3 "$here/wheel.py" "$scratch/${package%%=*}" wheelhouse >>requirements.txt
		done
		printf 'wheelhouse/\n' >>.gitignore
	fi
	;;
deb-rust)
	unpack "$name=$version"
	cp -r "$scratch/$name"/usr/share/cargo/registry/*/. .
	rm -f .cargo-checksum.json
	if [ $# -gt 0 ]; then
		mkdir vendor
		for package in "$@"; do
			unpack "$package"
			cp -r "$scratch/${package%%=*}"/usr/share/cargo/registry/* vendor/
		done
		cargo --config 'source.crates-io.replace-with="v"' --config 'source.v.directory="vendor"' generate-lockfile --offline >/dev/null
		printf 'vendor/\n' >>.gitignore
	fi
	;;
*)
	echo "fetch.sh: no kind '$kind'" >&2
	exit 2
	;;
esac

git init -q .
git add -A
git -c user.name=corpus -c user.email=corpus@example.test commit -qm "$name $version"

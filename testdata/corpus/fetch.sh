#!/usr/bin/env bash
# Fetches one project of the corpus with its dependencies into the current, empty
# directory, by the ordinary package clients, and makes a git repository of it.
#
#   fetch.sh go|npm|deb-python|deb-rust NAME VERSION
#
# Nothing of a package is executed: npm runs without scripts, sources are unpacked.
set -euo pipefail

kind=$1 name=$2 version=$3

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
	# Indexes of sources of our own: the machine's need not have any.
	apt=${CORPUS_CACHE:?}/apt
	mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
	printf 'deb-src %s bookworm main\n' "${CYBERAGENT_DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$apt/list"
	options=(-qq -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" -o Dir::Etc::sourcelist="$apt/list" -o Dir::Etc::sourceparts=/dev/null)
	[ -n "$(find "$apt/state/lists" -name '*_Sources*' -print -quit)" ] || apt-get "${options[@]}" update >/dev/null
	apt-get "${options[@]}" source --download-only "$name=$version" >/dev/null
	for f in ./*.orig.tar.*; do case $f in *.asc) ;; *) tar -xf "$f" --strip-components=1 --no-same-owner ;; esac done
	rm -f ./*.dsc ./*.orig.tar.* ./*.debian.tar.*
	;;
deb-rust)
	apt-get download -qq "$name=$version" >/dev/null
	dpkg-deb -x ./*.deb unpacked
	cp -r unpacked/usr/share/cargo/registry/*/. .
	rm -rf unpacked ./*.deb .cargo-checksum.json
	;;
*)
	echo "fetch.sh: no kind '$kind'" >&2
	exit 2
	;;
esac

git init -q .
git add -A
git -c user.name=corpus -c user.email=corpus@example.test commit -qm "$name $version"

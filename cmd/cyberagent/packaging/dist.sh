#!/usr/bin/env bash
# Builds what is given to others into dist/: static binaries for linux amd64 and
# arm64 with the runner inside, an SBOM of each, Debian packages, and checksums.
# The same commit and toolchain give the same bytes: no paths, no build stamps, and
# one date, the commit's.
#
#   dist.sh VERSION [DIRECTORY]
set -euo pipefail

version=${1:?usage: dist.sh VERSION [DIRECTORY]}
root=$(cd "$(dirname "$0")/../../.." && pwd)
out=$(mkdir -p "${2:-$root/dist}" && cd "${2:-$root/dist}" && pwd)
cd "$root"

nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0 GOFLAGS=-trimpath TZ=UTC LC_ALL=C
umask 022
# Debian's version: no "v", and a pre-release sorts before its release.
deb=$(printf '%s' "${version#v}" | sed 's/-/~/; s/-/./g')
case $deb in [0-9]*) ;; *) deb=0~$deb ;; esac

rm -f "$out"/cyberagent* "$out"/SHA256SUMS
GOBIN=$(mktemp -d)
trap 'rm -rf "$GOBIN"' EXIT
export GOBIN
GOFLAGS= go install "$nfpm"
GOFLAGS= go install "$sbom"

for arch in amd64 arm64; do
	name=cyberagent-$version-linux-$arch
	runner=adapters/image/runner/bin/standard-code-runner-linux-$arch
	GOOS=linux GOARCH=$arch go build -buildvcs=false -ldflags='-s -w -buildid=' -o "$runner" ./cmd/standard-code-runner
	GOOS=linux GOARCH=$arch go build -buildvcs=false -ldflags="-s -w -buildid= -X main.version=$version" -o "$out/$name" ./cmd/cyberagent
	touch -d "@$SOURCE_DATE_EPOCH" "$out/$name"
	GOOS=linux GOARCH=$arch "$GOBIN/cyclonedx-gomod" app -json -licenses=false -std -noserial -output "$out/$name.sbom.json" -main cmd/cyberagent . 2>/dev/null
	# The one thing in it that tells when, and not what.
	sed -i "s/\"timestamp\": \"[^\"]*\"/\"timestamp\": \"$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)\"/" "$out/$name.sbom.json"
	VERSION=$deb ARCH=$arch BINARY=$out/$name "$GOBIN/nfpm" package --config cmd/cyberagent/packaging/nfpm.yaml \
		--packager deb --target "$out/cyberagent_${deb}_$arch.deb" >/dev/null
	echo "dist: $name, its SBOM and package"
done
(cd "$out" && sha256sum cyberagent* >SHA256SUMS)
echo "dist: $out/SHA256SUMS"

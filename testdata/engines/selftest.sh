#!/usr/bin/env bash
# Runs both selftests on each engine and writes one document of all four reports.
# Run it with `make selftest`, which brings up the engines and the image.
#
#   selftest.sh REPEATS KILLS DOCUMENT
#
# It stops at the first engine on which something did not hold, and prints the report.
set -euo pipefail

[ $# -eq 3 ] || { echo "usage: ${0##*/} REPEATS KILLS DOCUMENT" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/bin

try() { # report verb argument...
	local report=$bin/selftest-$1.json
	shift
	"$bin/cyberagent" --engine "$engine" --output json selftest "$@" >"$report" || {
		"$bin/cyberagent" selftest report "$report"
		exit 1
	}
	reports+=("$report")
}

reports=()
for engine in docker containerd; do
	try "$engine-crash" crash --repeat "$1" --parallel 4
	try "$engine-soak" soak --kills "$2"
done
"$bin/cyberagent" selftest report "${reports[@]}" >"$3"

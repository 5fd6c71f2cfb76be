#!/usr/bin/env bash
# The product's main job, for real, as a person would do it: for each toolchain
# a passing and a failing project, each command approved before it runs.
# Run it with `make demo`, which brings up the engine and the image.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cyberagent-demo.XXXXXX")
export CYBERAGENT_HOME=$work/home
export PATH=$root/bin:$PATH
export CYBERAGENT_ENGINE=${CYBERAGENT_ENGINE:-docker}
[ -n "${CYBERAGENT_STANDARD_CODE_DOCKER_IMAGE_DIGEST-}${CYBERAGENT_STANDARD_CODE_CONTAINERD_IMAGE_DIGEST-}" ] || {
	echo "demo: no image; remedy: make demo" >&2
	exit 1
}
gates=(--enable-permission-control --enable-workspace-sandbox --enable-docker-execution)
table=$work/table

cleanup() { rm -rf "$work"; }
trap cleanup EXIT

title() { printf '\n=== %s\n' "$*"; }
step() { printf '\n--- %s\n' "$*"; }
# show prints a command as a person would type it, then runs it.
show() { printf '$ '; printf '%s ' "${@@Q}" | sed "s/'\([A-Za-z0-9_./:=-]*\)'/\1/g"; printf '\n'; "$@"; }
# typed prints a command as show does, and of its answer the named lines only.
typed() { # pattern command...
	local pattern=$1
	shift
	show "$@" | grep -E "^([$]|($pattern) )"
}
# field reads one value of the product's text output.
field() { awk -v k="$1" '$1 == k { print $2; exit }'; }

arguments() { # toolchain -> the command, one word a line
	case $1 in
	go) printf -- '--arg\ntest\n--arg\n./...\n' ;;
	node) printf -- '--arg\nnpm\n--arg\ntest\n' ;;
	python) printf -- '--arg\n-m\n--arg\npytest\n' ;;
	rust) printf -- '--arg\ntest\n' ;;
	esac
}

project() { # toolchain project quiet|loud
	local tc=$1 project=$2 out
	# A copy of the descriptor: its name would begin a file anew.
	if [ "$3" = loud ]; then exec {out}>&1; else exec {out}>"$work/quiet"; fi
	local src=$work/src/$project
	mkdir -p "$src"
	cp -R "$root/testdata/projects/$project/." "$src"
	git -C "$src" init -q
	git -C "$src" add -A
	git -C "$src" -c user.name=demo -c user.email=demo@example.invalid commit -qm "the project"

	{
		step "1. A Run on the repository; it may do nothing yet"
		show cyberagent run create "test $project" --workspace "$src" | tee "$work/run"
		run=$(field run <"$work/run")
		step "2. What commands of this Run may do"
		typed 'profile|permission' cyberagent run profile "$run" docker
		typed 'profile|permission' cyberagent run permission "$run" workspace_access
		step "3. Its own worktree: first look at the source, then confirm exactly that"
		show cyberagent drydock create "$run" | tee "$work/source"
		show cyberagent drydock create "$run" --trust "$(field trust <"$work/source")" | tee "$work/drydock"
		checkpoint=$(field checkpoint <"$work/drydock")
		generation=$(field generation <"$work/drydock")
	} >&"$out"
	local arg=()
	mapfile -t arg < <(arguments "$tc")
	local command=("$run" --generation "$generation" --checkpoint "$checkpoint" --toolchain "$tc" "${arg[@]}"
		--purpose "offline tests of $project")
	{
		step "4. Could it run now?"
		show cyberagent --output text run standard-code readiness "${command[@]}" "${gates[@]}"
		step "5. Prepare: the command is compiled and proposed, nothing runs"
		show cyberagent --output text run standard-code prepare "${command[@]}" --operation-key prepare-1 "${gates[@]}" | tee "$work/prep"
		preparation=$(field preparation <"$work/prep")
		approval=$(field approval <"$work/prep")
		step "6. What the reviewer sees, and the decision"
		show cyberagent run sandbox request "$preparation" --by demo-agent
		typed 'approval|status|reviewer|expires' cyberagent run sandbox review "$preparation" --decision approve --reviewer demo-person --operation-key review-1
		step "7. Execute: once, offline, in the fixed container (behind │ is what the command itself wrote)"
	} >&"$out"
	local code=0 began=$EPOCHREALTIME
	{
		show cyberagent --output text run standard-code execute "${command[@]}" --preparation "$preparation" \
			--approval "$approval" --operation-key execute-1 --stream "${gates[@]}" >"$work/result" 2>"$work/output" || code=$?
		head -n 1 "$work/result" # the command line
		sed 's/^/│ /' "$work/output"
		tail -n +2 "$work/result"
	} >&"$out"
	local ended=$EPOCHREALTIME
	exec {out}>&-
	awk -v tc="$tc" -v project="$project" -v code="$code" -v ms="$(((${ended/./} - ${began/./}) / 1000))" '
		/^(succeeded|failed|timed_out|cancelled) / { status = $1; how = $0; sub(/^[a-z_]+ \(/, "", how); sub(/\)$/, "", how) }
		$1 == "files" { changed = $2 " added, " $4 " modified, " $6 " deleted" }
		$1 == "checkpoint" { checkpoint = $2 }
		END { printf "%-8s %-15s %-10s %-14s %4s %7.1f s  %-34s %s\n", tc, project, status, how, code, ms / 1000, changed, checkpoint }
	' "$work/result" >>"$table"
	[ "$3" = loud ] || tail -n 1 "$table"
	[ "$project" != go ] || demo_run=$run
	[ "$project" = "$tc" ] && want=0 || want=5
	if [ "$code" != "$want" ]; then
		cat "$work/output" "$work/result"
		echo "demo: $project ended with exit status $code, want $want" >&2
		exit 1
	fi
}

title "The engine"
show cyberagent engine list
title "One command from a repository to its Checkpoint (go, a project whose tests pass)"
project go go loud
title "The same for the others: exit status 0 when the tests pass, 5 when they fail"
for tc in go node python rust; do
	[ $tc = go ] || project $tc $tc quiet
	project $tc $tc-failing quiet
done

title "All results"
printf '%-8s %-15s %-10s %-14s %4s %9s  %-34s %s\n' toolchain project status how exit time "changed files" checkpoint
cat "$table"

title "What the first command changed, as its Checkpoint recorded it"
show cyberagent drydock diff "$demo_run"

title "What is left"
# On Docker, ours are those that have something of this demo mounted.
containers=$({ docker -H "unix://${CYBERAGENT_DOCKER_SOCKET-}" ps -aq --filter label=cyberagent.installation |
	xargs -r docker -H "unix://${CYBERAGENT_DOCKER_SOCKET-}" inspect --format '{{range .Mounts}}{{.Source}} {{end}}'; } 2>/dev/null | grep -cF "$work" || true)
# A container on containerd, or what is left of one, has its place in the home.
containers=$((containers + $({ find "$work/home/containerd" -mindepth 1 2>/dev/null || true; } | wc -l)))
# The product's own look at either: also leases and snapshots.
leftovers=$(cyberagent --output text doctor | grep '/leftovers' || true)
printf '%s\n' "$leftovers"
[[ $leftovers == *'no container of ours, no command under way' ]] || containers=$((containers + 1))
mounts=$(grep -cF "$work" /proc/self/mountinfo || true)
processes=$({ find /proc -maxdepth 2 -name exe -lname "$root/bin/cyberagent*" 2>/dev/null || true; } | wc -l)
printf 'containers of ours  %s\nmounts of ours      %s\nprocesses of ours   %s\n' "$containers" "$mounts" "$processes"
left=$((containers + mounts + processes))
if [ "$left" != 0 ]; then
	echo "demo: something was left behind" >&2
	exit 1
fi
echo "Nothing is left. The Drydocks of this demo are removed with their temporary directory."

package conformance

import (
	"slices"
	"strings"
)

// Attack is one thing that a hostile command may try (the program attacker has
// it under the same name).
type Attack struct {
	Mechanism string
	Name      string
	What      string
	// Words are what may come of it in a container: an errno's name, or what was
	// seen. Anything else is a fault of the product.
	Words []string
	// By is what blocks it, or why it does no harm.
	By      string
	Control Control
}

// Control is the same attack outside of any container, which proves that it
// works where nothing blocks it.
type Control struct {
	// As whom: root or the containers' user in a private place, or both on the host
	// itself. Empty: Reason says why there is none.
	As     As
	Reason string
	Works  []string
	// Absent are words that say that this machine's kernel has no such thing.
	Absent []string
}

// As is who tries it outside.
type As string

// Who tries it. The first two have namespaces, mounts and a control group of their
// own, so that the host is not changed; a victim stands for PID 1.
const (
	Root      As = "root"
	User      As = "65532"
	Neighbour As = "65532 on the host"
	Operator  As = "root on the host"
)

func asRoot(works ...string) Control      { return Control{As: Root, Works: works} }
func asUser(works ...string) Control      { return Control{As: User, Works: works} }
func asNeighbour(works ...string) Control { return Control{As: Neighbour, Works: works} }
func asHost(works ...string) Control      { return Control{As: Operator, Works: works} }
func uncontrolled(reason string) Control  { return Control{Reason: reason} }

func (c Control) orAbsent(words ...string) Control {
	c.Absent = words
	return c
}

// Attacks is the catalogue, in the order of docs/attacks.md.
func Attacks() []Attack {
	return slices.Concat(attacksOnRunner(), attacksOnKernel(), attacksOnFiles(), attacksOnOthers())
}

// act is an attack that has a container of its own, and how that must end.
type act struct {
	// end is what the runner must report: the quota's stop where the attack lives
	// on to grow past it.
	end string
	// or is another end that it may have, by the kernel's choice.
	or string
	// seconds is the command's timeout, when that is what ends it.
	seconds int64
}

// The ends of acts.
const (
	byGrowth  = "growth"
	byOOM     = "oom"
	bySignal  = "signaled"
	byTimeout = "timeout"
	byExit    = "exited 0"
	byExit4   = "exited 4"
)

// acts are the attacks that have a container of their own, by name.
func acts() map[string]act {
	m := map[string]act{
		"term-runner": {end: bySignal}, "stop-all": {end: byTimeout, seconds: 3}, "core-dump": {end: bySignal}, "exhaust-memory": {end: byOOM},
		"frames-forge": {end: byExit4}, "runner-again": {end: byExit4},
		"detach": {end: byExit}, "outlive": {end: byExit}, "orphan": {end: byExit},
	}
	for _, n := range []string{
		"kill-all", "unfreeze", "exhaust-pids", "exhaust-descriptors", "exhaust-inotify", "exhaust-watches", "exhaust-signals", "exhaust-pipes",
		"exhaust-aio", "exhaust-cache", "exhaust-cache-inodes", "exhaust-shm", "exhaust-shm-inodes", "exhaust-output",
		"exhaust-cpu", "pipes-close",
	} {
		m[n] = act{end: byGrowth}
	}
	// The child's memory is not all back when the kernel looks for a victim again.
	m["exhaust-memory-child"] = act{end: byGrowth, or: byOOM}
	return m
}

// Proof is a mechanism of SECURITY.md that needs more than a container, with the
// tests that attack it.
type Proof struct {
	Mechanism string
	// Package is where they are, below the module.
	Package string
	Tests   []string
}

// Elsewhere lists those.
func Elsewhere() []Proof {
	return []Proof{
		{"a command that nobody approved", "internal/e2e", []string{"TestApproval_OnlyAnUnusedApprovedOneOfThisVeryCommandCounts", "TestAuthority_AChangeAfterTheApprovalIsRefused"}},
		{"one that runs twice", "internal/e2e", []string{"TestTogether_OneApprovalIsUsedOnce", "TestReplay_TheSameKeyAnswersTheSameAndStartsNothing"}},
		{"one that was changed after its approval", "internal/e2e", []string{"TestApproval_AnotherCommandIsRefused", "TestDrift_IsRefusedUntilItIsTakenBack"}},
		{"an engine that changes the request", "adapters/conformance", []string{"TestEveryEngineKeepsTheContract"}},
		{"an image that brings something along", "adapters/docker", []string{"TestCreate_HostileImage"}},
		{"frames and reports that are not the runner's", "domain/runnerproto", []string{"TestAnythingButOneWholeReportIsARunnerFailure", "TestWhatIsNoFrameIsAnError"}},
		{"files without a name that fill the disk", "internal/e2e", []string{"TestLimits_GrowthThatNoNameShowsEnds"}},
		{"files that attack the host: links, FIFOs, nested repositories, closed directories", "internal/e2e", []string{"TestHostileTree_IsRecordedWholeAndHurtsNobody", "TestHostileTree_LinksOutLeadNowhereInside"}},
		{"a tree that cannot be recorded", "internal/e2e", []string{"TestHostileTree_WhatCannotBeRecordedIsRefusedByName"}},
		{"traps for the operator's next verb", "adapters/gitdrydock", []string{"TestTraps_NoVerbRunsWhatTheTreeOrAConfigurationChose", "TestRewind_HostileTrees"}},
		{"another .git in the place of the mask", "internal/e2e", []string{"TestMask_AnythingElseInItsPlaceIsRefused"}},
		{"output that moves a terminal", "internal/e2e", []string{"TestTerminal_StreamShowsCleanedOutputAndKeepsTheAnswerApart"}},
		{"output without an end", "internal/e2e", []string{"TestRuntime_AFloodOfTenSecondsIsBoundedAndEndsInTime"}},
		{"another's container under the same name", "adapters/docker", []string{"TestForeignContainerIsPreserved"}},
	}
}

// wordly joins words for people.
func wordly(words []string) string { return strings.Join(words, " or ") }

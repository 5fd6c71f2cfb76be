// Package conformance is what every engine must pass: named checks, each an
// invariant of ports.Containers or a property of the isolation contract, and a
// table of sabotages which proves that the checks, the read-back and the runner's
// measurement bite.
//
// A Factory is one engine. An engine with real processes runs every check; the
// in-memory engine runs those that need no kernel, and the others are reported as
// not applicable, with its reason. Nothing is skipped, and no check asks for an
// engine's name.
//
// The suite's image holds the product's own runner and a probe program at a
// tool's place, so that what is tested is the whole way of a command: engine,
// runner, measurement, report.
package conformance

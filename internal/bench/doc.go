// Command bench measures the product beside its peers and writes docs/benchmarks.md.
//
//	go run ./internal/bench [-rounds N] [-only execute,start] [-doc FILE]
//
// `make bench` brings up the engines, builds the binary and calls it. Ours and the
// peer take turns in every round, so both see the same machine; what is reported is
// the median, the spread, and the ratio of the medians. A peer is the plain program
// that somebody would use instead: `docker run --rm`, `ctr run --rm`,
// `docker run -i`, git.
//
// A group is a function that returns its Tables. It measures the built command line
// as an operator calls it; only the Drydock's group calls the adapter, because git
// has no ledger to open.
package main

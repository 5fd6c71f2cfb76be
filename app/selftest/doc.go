// Package selftest holds the use case behind `selftest crash`: it runs a short
// command again and again through the product's own flow, ends the executing
// process with KILL at every moment of the lifecycle, recovers in another process,
// and judges what is left.
//
// The table of moments (edges.go) is derived from lifecycle.Events. What must hold
// after each is in judge.go, a pure function over what was seen. Everything happens
// in a home of its own; the operator's ledger is never opened.
package selftest

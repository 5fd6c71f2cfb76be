// Package memory is an engine without processes, for unit tests of the use cases
// and for faults that a real engine cannot be asked for. It keeps the port's
// invariants: it passes every check of adapters/conformance that needs no kernel.
//
// A Host holds containers and images; an Engine is one client of it. What stands
// for the container's process is a Program, a function. Runner is a Program that
// speaks the product's runner's protocol, so that a use case sees frames and a
// report as from a real one.
package memory

// Package e2e holds the tests of the whole product: the built command line, a
// real Docker Engine, real git repositories and the four toolchains, used as an
// operator would use them. It has no code of its own.
//
// The tests know the product by its contract only: they call the binary, decode
// its answers into their own types, and ask the engine over its socket what is
// there. Nothing is skipped: without an engine or the image they fail and say
// what to do.
package e2e

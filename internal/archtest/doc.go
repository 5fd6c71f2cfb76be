// Package archtest holds the direction of imports:
//
//	cmd -> (config, adapters, app) -> ports -> domain
//	adapters -> (ports, domain)
//
// Rules is the table; its test asks `go list` for every package of the module on
// each system that it is built for, needs no linter, and fails for a rule that
// matches no package, so that a rename does not switch a rule off. The
// linter's depguard section (.golangci.yml) says the same while you type.
package archtest

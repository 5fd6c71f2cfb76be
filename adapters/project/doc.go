// Package project reads what an operator fetched for a project's image, and what a
// container made of it. Both are hostile: everything is read through an open root
// (os.Root), no link is followed, nothing is executed, and what is not a plain
// file, directory or inner link is refused by name.
//
//	open.go     the lockfiles and what they name; one file a toolchain beside it
//	tree.go     a directory as a tar; the rules of names, kinds, sizes
//	gozip.go    Go modules out of their zips, proven against go.sum
//	seed.go     what making caches needs, copied into a directory of ours
//	gocache.go  a go build cache as a tar without what varies
package project

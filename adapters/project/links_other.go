//go:build !unix

package project

import "io/fs"

// hardLinks is how many names a file has; this system does not say.
func hardLinks(fs.FileInfo) uint64 { return 1 }

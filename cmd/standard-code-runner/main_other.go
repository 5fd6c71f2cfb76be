//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "standard-code-runner runs inside a Linux container only")
	os.Exit(1)
}

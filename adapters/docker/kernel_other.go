//go:build !linux

package docker

// hostKernel is empty: no Linux container runs on this kernel.
func hostKernel() string { return "" }

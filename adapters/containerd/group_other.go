//go:build !linux

package containerd

// No container runs on this kernel.
func groupPIDs(string) ([]int, error) { return nil, nil }
func killGroup(string) error          { return nil }
func dropGroup(string) error          { return nil }

//go:build !linux

package containerd

import "cyberagent/domain/admission"

func cgroupNamespaces() bool { return true }

// describeHost says that the engine's kernel is not this process's.
func describeHost(f *admission.EngineFacts) { f.Desktop = true }

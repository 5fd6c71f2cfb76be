//go:build !linux

package docker

import "cyberagent/ports"

// The engine's processes live on another kernel there.
func remains(ports.ContainerID) ([]int, error) { return nil, nil }
func endRemain(int, ports.ContainerID) error   { return nil }

//go:build !windows

package docker

const (
	defaultSocket = "/var/run/docker.sock"
	pipes         = false
)

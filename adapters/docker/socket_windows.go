package docker

const (
	defaultSocket = `npipe:////./pipe/docker_engine`
	pipes         = true
)

module cyberagent

go 1.26

require (
	github.com/gowebpki/jcs v1.0.2
	github.com/moby/profiles/seccomp v0.3.0
)

require (
	github.com/opencontainers/runtime-spec v1.2.1 // indirect
	golang.org/x/sys v0.33.0 // indirect
)

package host

import "cyberagent/domain/isolation"

// identity is nothing that a container could compare here.
func identity(string) (isolation.FileID, error) { return isolation.FileID{}, nil }

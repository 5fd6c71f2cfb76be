package ports

import (
	"context"
	"io"

	"cyberagent/domain/command"
	"cyberagent/domain/deps"
)

// ProjectSources are absolute directories of the operator: the project, and where
// its dependencies were fetched to. An empty one has its usual place in the project.
type ProjectSources struct {
	Dir         string
	GoModules   string // a Go module cache
	NodeModules string
	Wheels      string
	CargoVendor string
}

// Projects reads what an operator fetched for a project's image.
//
// Invariants: (1) nothing in the directories is executed; (2) no link is followed
// out of them, and nothing but regular files of one name, directories and links
// that stay inside is taken: anything else is invalid_argument, naming the field
// and the path; (3) equal files give equal bytes.
type Projects interface {
	// Open reads the lockfiles and looks for what they name. It returns
	// dependencies_missing, naming the first packages that were not fetched.
	Open(ctx context.Context, s ProjectSources) (Project, error)
}

// ProjectPart is a tree for one fixed place of the image.
type ProjectPart struct {
	Toolchain command.Toolchain
	At        string
}

// Project is one project with its fetched dependencies.
type Project interface {
	// Record is what an image of it will hold.
	Record() deps.Record
	// Parts are the trees that are laid into the image as they are.
	Parts() []ProjectPart
	// WritePart writes one of them as a tar.
	WritePart(ctx context.Context, p ProjectPart, w io.Writer) error
	// Bakes says whether a container must make something for the toolchain.
	Bakes(t command.Toolchain) bool
	// Seed copies what making the toolchain's caches needs into an empty directory
	// of ours.
	Seed(ctx context.Context, t command.Toolchain, root string) error
	Close() error
}

// Ovens are directories in which a container makes caches. What lies there was
// written by hostile code: the invariants of Projects hold.
type Ovens interface {
	// Put writes one file, for which it makes the directories, for the container's
	// user to read.
	Put(ctx context.Context, root, name string, data []byte) error
	// GoCache writes the entries of a go build cache at a directory below root as a
	// tar, with an index and without what varies from time to time. It returns how
	// many there are.
	GoCache(ctx context.Context, root, dir string, w io.Writer) (int, error)
	// Tree writes a directory below root as a tar.
	Tree(ctx context.Context, root, dir string, w io.Writer) error
}

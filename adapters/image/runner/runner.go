// Package runner carries the built standard-code-runner inside the product, so
// that a fixture can be built from one file.
//
// The binaries are outputs of `make build` and are not in the repository. A fresh
// clone compiles without them; Runner then says what to do.
package runner

import (
	"bytes"
	"debug/elf"
	"embed"
	"errors"
	"io/fs"

	"cyberagent/domain/fault"
)

// The directory always holds a .gitignore, so the pattern always matches.
//
//go:embed all:bin
var built embed.FS

var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// Runner returns the runner for a GOARCH. It returns unsupported when there is
// no runner for that architecture, when it was not built in, and when what was
// built in cannot be the first process of an image without its loader.
func Runner(arch string) ([]byte, error) {
	return fromFS(built, arch)
}

func fromFS(files fs.FS, arch string) ([]byte, error) {
	machine, ok := machines[arch]
	if !ok {
		return nil, fault.New(fault.Unsupported, "there is no runner for architecture %q", arch).
			Hint("use base images for amd64 or arm64")
	}
	b, err := fs.ReadFile(files, "bin/standard-code-runner-linux-"+arch)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Unsupported, "this program was built without the runner for linux/%s", arch).
			Hint("make build")
	}
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "reading the embedded runner")
	}
	if err := static(b, machine); err != nil {
		return nil, fault.Wrap(fault.Unsupported, err, "the embedded runner for linux/%s cannot be used", arch).
			Hint("make build")
	}
	return b, nil
}

// static proves that the kernel can start the program in any image: it is for
// the right machine and names no dynamic loader.
func static(b []byte, want elf.Machine) error {
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Machine != want {
		return errors.New("it is for " + f.Machine.String())
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("it needs a dynamic loader")
		}
	}
	return nil
}

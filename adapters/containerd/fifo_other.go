//go:build !unix

package containerd

import (
	"io"
	"os"

	"cyberagent/domain/fault"
)

// This adapter works where containerd runs Linux containers on its own kernel.
func makeFIFO(string) error                  { return noFIFO() }
func readFIFO(string) (io.ReadCloser, error) { return nil, noFIFO() }
func writeFIFO(string) (*os.File, error)     { return nil, noFIFO() }
func noReader(error) bool                    { return false }
func noFIFO() error {
	return fault.New(fault.Unsupported, "containerd is supported on Linux only").At("engine").Hint("set engine: docker")
}

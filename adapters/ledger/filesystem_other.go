//go:build !linux && !darwin && !windows

package ledger

import (
	"errors"
	"syscall"
)

// filesystemOf cannot tell here; nothing is refused.
func filesystemOf(string) (filesystem, error) { return filesystem{Name: "unknown"}, nil }

// freeBytes cannot tell here.
func freeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }

func noSpace(err error) bool { return errors.Is(err, syscall.ENOSPC) }

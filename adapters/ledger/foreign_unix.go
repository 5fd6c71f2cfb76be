//go:build unix

package ledger

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign says that a file belongs to somebody else than this process.
func foreign(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) != os.Geteuid()
}

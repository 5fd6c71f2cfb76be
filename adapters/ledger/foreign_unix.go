//go:build unix

package ledger

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign says that a file belongs to another ordinary user than this process's.
// Root's is not foreign: root can write everything anyway.
func foreign(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid != 0 && int(st.Uid) != os.Geteuid()
}

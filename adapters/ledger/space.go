package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"cyberagent/ports"
)

// Space says what the file and its log take on disk, and how much of the file is
// free for new records.
func (l *Ledger) Space(ctx context.Context) (ports.Space, error) {
	var s ports.Space
	for _, p := range []string{l.path, l.path + "-wal"} {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return s, l.translate("read space", err)
		default:
			s.Bytes += info.Size()
		}
	}
	err := l.read.QueryRowContext(ctx, "SELECT f.freelist_count * p.page_size FROM pragma_freelist_count AS f, pragma_page_size AS p").Scan(&s.Reusable)
	return s, l.translate("read space", err)
}

// Compact writes the file anew and folds the log into it. A reader of another
// process may hold the log's room a little longer.
func (l *Ledger) Compact(ctx context.Context) error {
	return l.retry(ctx, "compact", func() error {
		if _, err := l.write.ExecContext(ctx, "VACUUM"); err != nil {
			return l.translate("compact", err)
		}
		_, err := l.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return l.translate("compact", err)
	})
}

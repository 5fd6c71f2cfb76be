package gitdrydock

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"cyberagent/domain/drydock"
)

// ReadFiles implements ports.Worktrees. A file that changes while it is read is read
// as it is: whether the files are those of the Checkpoint, Drift has said.
func (d *Drydocks) ReadFiles(ctx context.Context, p drydock.Place, dir string, names []string, most int64) (map[string][]byte, error) {
	root, err := openRoot(p.Root)
	if err != nil {
		return nil, lost("the Drydock's root cannot be opened without following links: %v", err)
	}
	defer unix.Close(root)
	found := map[string][]byte{}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rel := path.Join(dir, name)
		fd, err := openBeneath(root, rel, openFile)
		if err != nil {
			continue // absent, behind a link, or no file
		}
		data, err := readSmall(fd, rel, most)
		if err != nil {
			return nil, err
		}
		if data != nil {
			found[name] = data
		}
	}
	return found, nil
}

// readSmall reads a regular file whole and closes it; nil for anything else.
func readSmall(fd int, rel string, most int64) ([]byte, error) {
	f := os.NewFile(uintptr(fd), rel)
	if f == nil {
		return nil, unreadable(rel, fmt.Errorf("descriptor %d", fd))
	}
	defer func() { _ = f.Close() }()
	s, err := fstat(fd)
	if err != nil {
		return nil, unreadable(rel, err)
	}
	if s.mode&unix.S_IFMT != unix.S_IFREG || s.size > most {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, unreadable(rel, err)
	}
	return append([]byte{}, data...), nil
}

package gitdrydock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// leaf is one line of git ls-tree. size is -1 for what is no blob, missing says
// that the object is not there.
type leaf struct {
	mode    uint32
	oid     oid
	size    int64
	missing bool
	path    string
}

// lsTree lists a tree with everything below it, trees included, in git's order.
// The repository must be one of ours: nothing is fetched, replaced or grafted.
// With sizes, each blob is looked up, and a missing one is marked.
func (l layout) lsTree(ctx context.Context, gitDir string, f format, tree string, sizes bool, each func(leaf) error) error {
	args := []string{"ls-tree", "-r", "-t", "-z", "--full-tree"}
	if sizes {
		args = append(args, "-l")
	}
	_, err := l.run(ctx, gitCall{
		gitDir: gitDir,
		args:   append(args, "--end-of-options", tree),
		stdout: func(r io.Reader) error { return readLeaves(r, f, sizes, each) },
	})
	return err
}

func readLeaves(r io.Reader, f format, sizes bool, each func(leaf) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		record, err := in.ReadString(0)
		if errors.Is(err, io.EOF) && record == "" {
			return nil
		}
		if err != nil {
			return err
		}
		x, err := parseLeaf(record[:len(record)-1], f, sizes)
		if err != nil {
			return err
		}
		if err := each(x); err != nil {
			return err
		}
	}
}

// parseLeaf reads "<mode> <type> <oid>[ <size>]\t<path>".
func parseLeaf(s string, f format, sizes bool) (leaf, error) {
	head, path, ok := strings.Cut(s, "\t")
	fields := strings.Fields(head)
	want := 3
	if sizes {
		want = 4
	}
	if !ok || len(fields) != want {
		return leaf{}, fmt.Errorf("unexpected line of ls-tree %q", s)
	}
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	if err != nil {
		return leaf{}, fmt.Errorf("unexpected mode in %q", s)
	}
	x := leaf{mode: uint32(mode), path: path, size: -1}
	if x.oid, err = f.parse(fields[2]); err != nil {
		return leaf{}, err
	}
	if sizes && fields[3] != "-" {
		if x.size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
			x.size, x.missing = -1, true // git says BAD
		}
	}
	return x, nil
}

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

// readObjects returns the contents of a few small objects by name; a missing
// one is nil. Names must not hold newlines.
func (l layout) readObjects(ctx context.Context, gitDir string, names []string) ([][]byte, error) {
	out := make([][]byte, 0, len(names))
	_, err := l.run(ctx, gitCall{
		gitDir: gitDir,
		args:   []string{"cat-file", "--batch"},
		stdin:  strings.NewReader(strings.Join(names, "\n") + "\n"),
		stdout: func(r io.Reader) error {
			in := bufio.NewReader(r)
			for range names {
				b, err := readObject(in)
				if err != nil {
					return err
				}
				out = append(out, b)
			}
			return nil
		},
	})
	return out, err
}

// smallObject bounds what is read into memory at once.
const smallObject = 256 << 20

// readObject reads one answer of cat-file --batch; nil for a missing object.
func readObject(in *bufio.Reader) ([]byte, error) {
	size, err := objectHeader(in)
	if err != nil || size < 0 {
		return nil, err
	}
	if size > smallObject {
		return nil, fmt.Errorf("an object of %d bytes is too large here", size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, err
	}
	return b, objectEnd(in)
}

// objectHeader reads "<oid> <type> <size>" and returns the size, -1 when git
// has no such object.
func objectHeader(in *bufio.Reader) (int64, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	line = strings.TrimSuffix(line, "\n")
	if strings.HasSuffix(line, " missing") {
		return -1, nil
	}
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return 0, fmt.Errorf("unexpected answer of cat-file %q", line)
	}
	return strconv.ParseInt(line[i+1:], 10, 64)
}

func objectEnd(in *bufio.Reader) error {
	c, err := in.ReadByte()
	if err == nil && c != '\n' {
		err = errors.New("cat-file's answer has no end")
	}
	return err
}

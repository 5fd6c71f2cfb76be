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

// object is one answer of git cat-file. name is hexadecimal and empty when git
// has no such object.
type object struct {
	name    string
	content []byte
}

// readObjects returns small objects by name or "<commit>:<path>". Names must
// not hold newlines.
func (l layout) readObjects(ctx context.Context, gitDir string, names []string) ([]object, error) {
	out := make([]object, 0, len(names))
	err := l.eachObject(ctx, gitDir, names, func(o object) { out = append(out, o) })
	return out, err
}

// eachObject is readObjects for many: one at a time is in memory.
func (l layout) eachObject(ctx context.Context, gitDir string, names []string, each func(object)) error {
	if len(names) == 0 {
		return nil
	}
	_, err := l.run(ctx, gitCall{
		gitDir: gitDir,
		args:   []string{"cat-file", "--batch"},
		stdin:  strings.NewReader(strings.Join(names, "\n") + "\n"),
		stdout: func(r io.Reader) error {
			in := bufio.NewReader(r)
			for range names {
				o, err := readObject(in)
				if err != nil {
					return err
				}
				each(o)
			}
			return nil
		},
	})
	return err
}

// smallObject bounds what is read into memory at once.
const smallObject = 256 << 20

// readObject reads one answer of cat-file --batch.
func readObject(in *bufio.Reader) (object, error) {
	name, size, err := objectHeader(in)
	if err != nil || name == "" {
		return object{}, err
	}
	if size > smallObject {
		return object{}, fmt.Errorf("an object of %d bytes is too large here", size)
	}
	o := object{name: name, content: make([]byte, size)}
	if _, err := io.ReadFull(in, o.content); err != nil {
		return object{}, err
	}
	return o, objectEnd(in)
}

// objectHeader reads "<object> <type> <size>"; the name is empty when git has
// no such object.
func objectHeader(in *bufio.Reader) (name string, size int64, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", 0, err
	}
	line = strings.TrimSuffix(line, "\n")
	if strings.HasSuffix(line, " missing") {
		return "", 0, nil
	}
	fields := strings.Split(line, " ")
	if len(fields) != 3 {
		return "", 0, fmt.Errorf("unexpected answer of cat-file %q", line)
	}
	size, err = strconv.ParseInt(fields[2], 10, 64)
	return fields[0], size, err
}

func objectEnd(in *bufio.Reader) error {
	c, err := in.ReadByte()
	if err == nil && c != '\n' {
		err = errors.New("cat-file's answer has no end")
	}
	return err
}

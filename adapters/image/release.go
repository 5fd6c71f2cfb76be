package image

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"cyberagent/domain/fault"
)

// release says which distribution release a base is.
type release struct{ id, version string }

func (r release) String() string { return strings.TrimSpace(r.id + " " + r.version) }

// releaseOf reads /etc/os-release.
func releaseOf(root *node) (release, error) {
	n, _ := resolve(root, "etc/os-release", true, false)
	if n == nil || n.kind != file {
		if n, _ = resolve(root, "usr/lib/os-release", true, false); n == nil || n.kind != file {
			return release{}, fmt.Errorf("it has no /etc/os-release")
		}
	}
	var r release
	s := bufio.NewScanner(io.LimitReader(n.data.reader(), 64<<10))
	for s.Scan() {
		k, v, _ := strings.Cut(s.Text(), "=")
		v = strings.Trim(v, `"'`)
		switch k {
		case "ID":
			r.id = v
		case "VERSION_ID":
			r.version = v
		}
	}
	if s.Err() != nil || r.id == "" {
		return release{}, fmt.Errorf("its /etc/os-release has no ID")
	}
	return r, nil
}

// agree proves that the bases can be laid into one image.
func agree(bases []*base) error {
	first := bases[0]
	for _, b := range bases[1:] {
		if b.arch != first.arch {
			return fault.New(fault.BaseIncompatible, "the %s base is for %s, the %s base for %s", first.held, first.arch, b.held, b.arch).
				Hint("use base images of one architecture")
		}
		if b.release != first.release {
			return fault.New(fault.BaseIncompatible, "the %s base is %s, the %s base is %s", first.held, first.release, b.held, b.release).
				Hint("use base images of one distribution release")
		}
	}
	return nil
}

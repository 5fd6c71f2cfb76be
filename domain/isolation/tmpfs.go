package isolation

import (
	"fmt"
	"strconv"
	"strings"
)

// Options are the tmpfs as mount options, bytes and inodes as plain numbers.
func (t Tmpfs) Options() []string {
	exec := "noexec"
	if t.Exec {
		exec = "exec"
	}
	return []string{
		"rw", "nosuid", "nodev", exec, fmt.Sprintf("size=%d", t.Bytes), fmt.Sprintf("nr_inodes=%d", t.Inodes),
		fmt.Sprintf("mode=%04o", t.Mode), fmt.Sprintf("uid=%d", t.UID), fmt.Sprintf("gid=%d", t.GID),
	}
}

// ParseTmpfs reads such options back. It fails on anything that Options does not
// write, on a repetition and on an omission: the kernel's defaults for
// what is missing are not the contract's.
func ParseTmpfs(target string, options []string) (Tmpfs, error) {
	t := Tmpfs{Target: target}
	seen := map[string]bool{}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		if key == "noexec" {
			key = "exec"
		}
		if seen[key] {
			return t, fmt.Errorf("%q twice", o)
		}
		seen[key] = true
		var err error
		switch o {
		case "rw", "nosuid", "nodev", "noexec":
			continue
		case "exec":
			t.Exec = true
			continue
		}
		switch key {
		case "size":
			t.Bytes, err = strconv.ParseInt(value, 10, 64)
		case "nr_inodes":
			t.Inodes, err = strconv.ParseInt(value, 10, 64)
		case "mode":
			var mode uint64
			mode, err = strconv.ParseUint(value, 8, 32)
			t.Mode = uint32(mode)
		case "uid":
			t.UID, err = strconv.Atoi(value)
		case "gid":
			t.GID, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("unknown")
		}
		if err != nil {
			return t, fmt.Errorf("%q: %w", o, err)
		}
	}
	for _, must := range []string{"rw", "nosuid", "nodev", "exec", "size", "nr_inodes", "mode", "uid", "gid"} {
		if !seen[must] {
			return t, fmt.Errorf("no %q", must)
		}
	}
	return t, nil
}

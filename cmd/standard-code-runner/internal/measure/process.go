//go:build linux

package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"cyberagent/domain/isolation"
)

// status reads "Key:\tvalue" lines, blanks within the values made single.
func status(text string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			m[k] = strings.Join(strings.Fields(v), " ")
		}
	}
	return m
}

func groups(list string) (string, error) {
	var gids []int
	for f := range strings.FieldsSeq(list) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return "", err
		}
		gids = append(gids, n)
	}
	return isolation.Groups(gids), nil
}

func environment() string {
	var names []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	return isolation.Environment(names)
}

// tty says whether any of the three standard descriptors is a terminal.
func tty() string {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			return isolation.Yes
		}
	}
	return "no"
}

// rlimitMsgqueue is RLIMIT_MSGQUEUE, which x/sys has no name for; the number is
// the same on every architecture but MIPS and SPARC.
const rlimitMsgqueue = 12

func rlimit(name string) (string, error) {
	which, ok := map[string]int{
		"core": unix.RLIMIT_CORE, "fsize": unix.RLIMIT_FSIZE,
		"nofile": unix.RLIMIT_NOFILE, "msgqueue": rlimitMsgqueue,
	}[name]
	if !ok {
		return "", fmt.Errorf("no number for rlimit %q", name)
	}
	var r unix.Rlimit
	if err := unix.Getrlimit(which, &r); err != nil {
		return "", err
	}
	if r.Cur != r.Max {
		return fmt.Sprintf("%d of %d", r.Cur, r.Max), nil
	}
	return strconv.FormatUint(r.Cur, 10), nil
}

// probe tries one of isolation.Probes. None has an effect where it is allowed:
// the key ring is only looked up, the ring's parameters are a null pointer, a
// socket is closed again, the limit is read of a process that does not exist.
func probe(name string) string {
	var errno unix.Errno
	var fd uintptr
	switch name {
	case "keyctl":
		const getKeyringID, sessionKeyring = 0, ^uintptr(2) // KEY_SPEC_SESSION_KEYRING is -3
		_, _, errno = unix.Syscall(unix.SYS_KEYCTL, getKeyringID, sessionKeyring, 0)
	case "io_uring_setup":
		_, _, errno = unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0)
	case "socket(AF_VSOCK)":
		fd, _, errno = unix.Syscall(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	case "socket(AF_ALG)":
		fd, _, errno = unix.Syscall(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	case "prlimit64(pid 2)":
		var old unix.Rlimit
		_, _, errno = unix.Syscall6(unix.SYS_PRLIMIT64, 2, unix.RLIMIT_NOFILE, 0, uintptr(unsafe.Pointer(&old)), 0, 0)
	default:
		return isolation.Unreadable
	}
	switch errno {
	case 0:
		if strings.HasPrefix(name, "socket") {
			unix.Close(int(fd))
		}
		return "allowed"
	case unix.EPERM:
		return isolation.DeniedEPERM
	default:
		return unix.ErrnoName(errno)
	}
}

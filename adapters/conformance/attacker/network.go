//go:build linux

package main

import (
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func socket(family, kind, protocol int) string {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return word(err)
}

// onNetwork reach for other machines, this one, and the network's setting.
func onNetwork() []attack {
	dial := func(network, address string) string {
		c, err := net.DialTimeout(network, address, 3*time.Second)
		if err != nil {
			return word(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("attack")); err != nil {
			return word(err)
		}
		return "allowed"
	}
	return []attack{
		{"connect-host-loopback", func(s stage) string { return dial("tcp4", "127.0.0.1:"+s.facts["port"]) }},
		{"connect-host-loopback6", func(s stage) string { return dial("tcp6", "[::1]:"+s.facts["port6"]) }},
		{"connect-world", func(s stage) string { return dial("tcp4", s.facts["world"]) }},
		{"connect-world6", func(s stage) string { return dial("tcp6", s.facts["world6"]) }},
		{"send-world", func(s stage) string { return dial("udp4", s.facts["world"]) }},
		{"connect-abstract", func(s stage) string { return dial("unix", "@"+s.facts["abstract"]) }},
		{"connect-engine", func(s stage) string { return dial("unix", s.facts["engine"]) }},
		{"socket-raw", func(stage) string { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW) }},
		{"socket-icmp", func(stage) string { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
		{"socket-packet", func(stage) string { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{"socket-vsock", func(stage) string { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{"socket-alg", func(stage) string { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
		{"netlink-address", address},
		{"netlink-uevent", func(stage) string { return audience(unix.NETLINK_KOBJECT_UEVENT) }},
		{"netlink-audit", func(stage) string { return audience(unix.NETLINK_AUDIT) }},
		{"interface-down", interfaceFlags},
		{"bind-abstract", func(s stage) string {
			// The host's name is free in a network of one's own: nobody is displaced.
			l, err := net.Listen("unix", "@"+s.facts["abstract"])
			if err != nil {
				return word(err)
			}
			_ = l.Close()
			return "own"
		}},
	}
}

// address gives lo another address.
func address(stage) string {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	type message struct {
		unix.NlMsghdr
		unix.IfAddrmsg
		unix.RtAttr
		ip [4]byte
	}
	m := message{
		NlMsghdr:  unix.NlMsghdr{Type: unix.RTM_NEWADDR, Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE},
		IfAddrmsg: unix.IfAddrmsg{Family: unix.AF_INET, Prefixlen: 32, Index: 1},
		RtAttr:    unix.RtAttr{Len: 8, Type: unix.IFA_LOCAL}, ip: [4]byte{10, 99, 99, 99},
	}
	m.NlMsghdr.Len = uint32(unsafe.Sizeof(m))
	if err := unix.Sendto(fd, unsafe.Slice((*byte)(unsafe.Pointer(&m)), unsafe.Sizeof(m)), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return word(err)
	}
	// The answer is an error message: its header, then the errno, negative.
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil || n < 20 {
		return word(err)
	}
	if e := *(*int32)(unsafe.Pointer(&b[16])); e != 0 {
		return word(unix.Errno(-e))
	}
	return "allowed"
}

// audience joins a group that the kernel tells of its devices or of everybody's
// calls.
func audience(protocol int) string {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, protocol)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}); err != nil {
		return word(err)
	}
	return "joined"
}

// interfaceFlags takes lo down.
func interfaceFlags(stage) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return word(err)
	}
	r.SetUint16(0)
	return call(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(r)))
}

// onHost reach for what the suite has put on the host: a process of the same user,
// files, memory and queues with names that are known.
func onHost() []attack {
	return []attack{
		{"host-process-signal", func(s stage) string { return word(unix.Kill(s.number("neighbour"), unix.SIGCONT)) }},
		{"host-process-trace", func(s stage) string { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.number("neighbour"))) }},
		{"host-process-files", func(s stage) string {
			_, err := os.ReadDir(path("/proc/%d/root/", s.number("neighbour")))
			return word(err)
		}},
		{"host-file", func(s stage) string { _, err := os.ReadFile(s.facts["secret"]); return word(err) }},
		{"host-file-dots", func(s stage) string {
			_, err := os.ReadFile("/workspace/../../../../../.." + s.facts["secret"])
			return word(err)
		}},
		{"host-file-link", func(s stage) string {
			const link = "/workspace/outside"
			_ = os.Remove(link)
			if err := os.Symlink(s.facts["secret"], link); err != nil {
				return word(err)
			}
			_, err := os.ReadFile(link)
			return word(err)
		}},
		{"host-file-parent", func(s stage) string { // beside the Drydock, by the path that mountinfo shows
			return word(open(s.facts["beside"], unix.O_WRONLY))
		}},
		{"host-shm-file", func(s stage) string { _, err := os.ReadFile(shm + "/" + s.facts["shm"]); return word(err) }},
		{"host-shm-segment", func(s stage) string {
			_, err := unix.SysvShmGet(s.number("key"), 1, 0)
			return word(err)
		}},
		{"host-credentials", func(s stage) string {
			_, err := os.ReadDir(s.facts["home"])
			return word(err)
		}},
		{"host-environment", func(s stage) string {
			if v, ok := os.LookupEnv(s.facts["variable"]); ok && v != "" {
				return "allowed"
			}
			return "absent"
		}},
	}
}

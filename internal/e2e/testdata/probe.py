"""What a command finds inside its container, as probe.json in the workspace."""
import ctypes
import errno
import json
import os
import platform
import resource
import socket
import stat
import sys

libc = ctypes.CDLL(None, use_errno=True)
WRITABLE = ("/workspace", "/standard-code/cache", "/dev/shm")


def refused(call):
    """The errno's name of a call that fails, or "allowed"."""
    try:
        call()
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
    return "allowed"


def system(number, *args):
    def call():
        if libc.syscall(number, *[ctypes.c_long(a) for a in args]) < 0:
            raise OSError(ctypes.get_errno(), "")
    return refused(call)


def status():
    with open("/proc/self/status") as f:
        fields = dict(line.rstrip("\n").split(":", 1) for line in f)
    return {k: " ".join(fields[k].split()) for k in (
        "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")}


def calls():
    arm = platform.machine() == "aarch64"
    n = {
        "keyctl": 219 if arm else 250, "add_key": 217 if arm else 248, "io_uring_setup": 425,
        "prlimit64": 261 if arm else 302, "mount": 40 if arm else 165, "unshare": 97 if arm else 272,
        "setns": 268 if arm else 308, "bpf": 280 if arm else 321, "perf_event_open": 241 if arm else 298,
        "init_module": 105 if arm else 175, "setuid": 146 if arm else 105, "chroot": 51 if arm else 161,
    }
    return {
        "keyctl": system(n["keyctl"], 0, -3, 0),
        "add_key": system(n["add_key"], 0, 0, 0, 0, 0),
        "io_uring_setup": system(n["io_uring_setup"], 1, 0),
        "prlimit64(1)": system(n["prlimit64"], 1, 7, 0, 0),
        "socket(AF_VSOCK)": refused(lambda: socket.socket(40, socket.SOCK_STREAM)),
        "socket(AF_ALG)": refused(lambda: socket.socket(38, socket.SOCK_SEQPACKET)),
        "socket(AF_PACKET)": refused(lambda: socket.socket(17, socket.SOCK_RAW)),
        "mount": system(n["mount"], 0, 0, 0, 0, 0),
        "unshare(NEWUSER)": system(n["unshare"], 0x10000000),
        "unshare(NEWNS)": system(n["unshare"], 0x00020000),
        "setns": system(n["setns"], 0, 0),
        "bpf": system(n["bpf"], 0, 0, 0),
        "perf_event_open": system(n["perf_event_open"], 0, 0, -1, -1, 0),
        "init_module": system(n["init_module"], 0, 0, 0),
        "chroot": refused(lambda: os.chroot("/workspace")),
        "setuid(0)": refused(lambda: os.setuid(0)),
        "mknod": refused(lambda: os.mknod("/standard-code/cache/tmp/device", stat.S_IFBLK | 0o600, os.makedev(8, 0))),
    }


def network():
    def lines(path):
        try:
            with open(path) as f:
                return [line.strip() for line in f]
        except OSError as e:
            return ["unreadable " + errno.errorcode[e.errno]]

    def connect(family, address):
        with socket.socket(family, socket.SOCK_STREAM) as s:
            s.settimeout(5)
            s.connect(address)
    return {
        "interfaces": sorted(line.split(":")[0] for line in lines("/proc/net/dev")[2:]),
        "routes": lines("/proc/net/route")[1:],
        "addresses6": [line.split()[0] for line in lines("/proc/net/if_inet6")],
        "connect": refused(lambda: connect(socket.AF_INET, ("192.0.2.1", 80))),
        "connect6": refused(lambda: connect(socket.AF_INET6, ("2001:db8::1", 80))),
        "sockets": [p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock") if os.path.exists(p)],
    }


def mounts():
    found = []
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, right = line.split(" - ")
            fields, tail = left.split(), right.split()
            found.append({"target": fields[4], "options": sorted(fields[5].split(",")), "type": tail[0], "shared": "shared:" in left})
    return found


def room(path):
    s = os.statvfs(path)
    return {"bytes": s.f_blocks * s.f_frsize, "inodes": s.f_files, "mode": oct(os.stat(path).st_mode & 0o7777)}


def write(path, mode="w"):
    def call():
        with open(path, mode):
            pass
    return refused(call)


def mask():
    git = "/workspace/.git"
    with open(git) as f:
        content = f.read()
    return {"content": content, "attempts": {
        "write": write(git), "append": write(git, "a"), "unlink": refused(lambda: os.unlink(git)),
        "rename": refused(lambda: os.rename(git, "/workspace/git")), "chmod": refused(lambda: os.chmod(git, 0o777)),
        "over": refused(lambda: over(git)), "mkdir": refused(lambda: os.mkdir(git + "/x")),
        "utime": refused(lambda: os.utime(git)), "truncate": refused(lambda: os.truncate(git, 0)),
    }}


def over(path):
    with open("/workspace/other", "w"):
        pass
    try:
        os.rename("/workspace/other", path)
    finally:
        os.unlink("/workspace/other")


def attempts():
    """Every directory and file outside the writable places: can anything be made
    or written there?"""
    holes, directories, files = [], 0, 0
    for top, dirs, names in os.walk("/"):
        dirs[:] = [d for d in dirs if os.path.join(top, d) not in WRITABLE + ("/proc", "/sys")]
        directories += 1
        if os.access(top, os.W_OK):
            holes.append(top)
        path = os.path.join(top, ".probe")
        if write(path) == "allowed":
            holes.append(path)
            os.unlink(path)
        for name in names:
            path = os.path.join(top, name)
            files += 1
            if os.path.islink(path) or not os.access(path, os.W_OK):
                continue
            holes.append(path)
    return {"holes": sorted(set(holes)), "directories": directories, "files": files}


def kernel():
    """/proc and /sys: every regular file that lets itself be opened for writing."""
    holes, tried = [], 0
    for root in ("/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/sys"):
        for top, dirs, names in os.walk(root):
            for name in names:
                path = os.path.join(top, name)
                if os.path.islink(path):
                    continue
                tried += 1
                if write(path, "r+b") == "allowed":
                    holes.append(path)
    for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/kcore", "/proc/1/mem", "/proc/1/environ"):
        if write(path, "r+b") == "allowed":
            holes.append(path)
    return {"holes": holes, "tried": tried}


def first():
    """The runner: what its child can see of it."""
    return {p: refused(lambda p=p: os.listdir("/proc/1/" + p) if p == "fd" else open("/proc/1/" + p, "rb").read(1))
            for p in ("environ", "mem", "fd", "maps")}


def groups():
    found = {}
    for name, paths in {
        "memory": ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        "pids": ("/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
        "cpu": ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"),
        "period": ("/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us"),
    }.items():
        for path in paths:
            if os.path.exists(path):
                with open(path) as f:
                    found[name] = f.read().split()
                break
    return found


def executes(directory):
    path = os.path.join(directory, "script")
    with open(path, "w") as f:
        f.write("#!/bin/true\n")
    os.chmod(path, 0o755)

    def call():
        pid = os.fork()
        if pid == 0:
            try:
                os.execv(path, [path])
            except OSError as e:
                os._exit(e.errno)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code:
            raise OSError(code, "")
    return refused(call)


def read(path):
    with open(path) as f:
        return f.read()


def environments():
    """Every variable of every process that can be read."""
    found = {}
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                found[pid] = read("/proc/%s/environ" % pid)
            except OSError as e:
                found[pid] = errno.errorcode[e.errno]
    return found


json.dump({
    "status": status(), "calls": calls(), "network": network(), "mounts": mounts(), "mask": mask(),
    "cache": room("/standard-code/cache"), "shm": room("/dev/shm"), "image": attempts(), "kernel": kernel(), "first": first(),
    "environment": dict(os.environ), "environments": environments(),
    "rlimits": {n: list(resource.getrlimit(getattr(resource, "RLIMIT_" + n))) for n in ("FSIZE", "CORE", "NOFILE", "MSGQUEUE")},
    "groups": groups(), "hostname": socket.gethostname(), "hosts": read("/etc/hosts"), "resolver": read("/etc/resolv.conf"),
    "workdir": os.getcwd(), "argv": sys.argv[1:], "stdin": sys.stdin.read(), "pids": sorted(int(p) for p in os.listdir("/proc") if p.isdigit()),
    "executes": {"cache": executes("/standard-code/cache/tmp"), "shm": executes("/dev/shm")},
    "session": os.getsid(0) == os.getpid(), "devices": sorted(os.listdir("/dev")),
    "descriptors": len(os.listdir("/proc/self/fd")) - 1,
}, open("/workspace/probe.json", "w"))

"""A command that misbehaves in the way that its first argument names."""
import os
import signal
import sys
import time

MIB = 1 << 20


def started():
    """Says to the test, which reads the Drydock, that the command runs."""
    with open("/workspace/started", "w"):
        pass


def forks():
    # Every process forks until one is refused; the first one then fails.
    while True:
        os.fork()


def stubborn_forks():
    while True:
        try:
            os.fork()
        except OSError:
            pass


def write(path, size):
    with open(path, "wb") as f:
        while size > 0:
            size -= f.write(b"x" * min(MIB, size))


def big_file(directory):
    write(directory + "/big", 17 * MIB)


def big_file_removed(path):
    try:
        write(path, 17 * MIB)
    except OSError as e:
        os.unlink(path)
        sys.exit("writing output: write %s: %s" % (path, e.strerror))


def many_files():
    for i in range(5000):
        open("/workspace/f%d" % i, "w").close()
    time.sleep(60)


def files(n, pause):
    for i in range(n):
        write("/workspace/m%d" % i, MIB)
        time.sleep(pause)
    time.sleep(60)


def sixty_four():
    files(64, 0.02)


def gigabyte():
    files(1024, 0)


def sparse():
    with open("/workspace/sparse", "wb") as f:
        f.truncate(16 * MIB)
    with open("/workspace/sparse2", "wb") as f:
        f.truncate(16 * MIB)
    time.sleep(60)


def endless():
    block = b"all work and no play\n" * 4096
    while True:
        os.write(1, block)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    started()
    while True:
        time.sleep(60)


def orphan():
    # The grandchild keeps standard output and a session of its own.
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()
    print("the parent is done", flush=True)


def deleted():
    # Each file is removed before the next one is made: no name shows the growth.
    held = []
    for i in range(12):
        f = open("/workspace/hidden", "wb")
        for _ in range(12):
            f.write(b"x" * MIB)
        f.flush()
        os.unlink("/workspace/hidden")
        held.append(f)
    time.sleep(240)


def deleted_fast():
    # Four that write as fast as they can, until they are stopped.
    block = b"x" * MIB
    for _ in range(3):
        if os.fork() == 0:
            break
    held = []
    while True:
        name = "/workspace/hidden-%d" % os.getpid()
        f = os.open(name, os.O_CREAT | os.O_WRONLY)
        os.unlink(name)
        held.append(f)
        for _ in range(15):
            os.write(f, block)


def deleted_unseen():
    # The same by processes that nobody of their own user may look into.
    import ctypes
    if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) != 0:  # PR_SET_DUMPABLE
        sys.exit("prctl failed")
    deleted_fast()


def memory():
    held = []
    while True:
        held.append(b"x" * (16 * MIB))


def memory_child():
    # The child is killed, and the command fails for it.
    if os.fork() == 0:
        memory()
    _, status = os.wait()
    sys.exit(3 if os.WIFSIGNALED(status) else 4)


def cache():
    for i in range(20):
        write("/standard-code/cache/tmp/c%d" % i, 15 * MIB)


def killed():
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)


def wait():
    started()
    time.sleep(240)


def append_and_wait():
    with open("/workspace/lines", "a") as f:
        f.write("line\n")
    started()
    time.sleep(3)


def append_until_go():
    with open("/workspace/lines", "a") as f:
        f.write("line\n")
    started()
    while not os.path.exists("/workspace/go"):
        time.sleep(0.05)


globals()[sys.argv[1]](*sys.argv[2:])

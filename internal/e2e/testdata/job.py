"""What a Job of the tests does, by its first argument."""
import os
import signal
import sys
import time


def touch():
    """Says to the test, which reads the Drydock, that the command runs."""
    with open("wrote", "a") as f:
        f.write("x")


def echo():
    for line in sys.stdin:
        print("heard", line.strip(), flush=True)
    touch()
    print("over", file=sys.stderr)


def echo_then_wait():
    touch()
    for line in sys.stdin:
        print(line, end="", flush=True)
    time.sleep(600)


def lines():
    for i in range(20000):
        print("line", i, "x" * 200)
    touch()


def flood():
    b = bytes(range(256)) * 256
    while True:
        os.write(1, b)
        os.write(2, b)


def stubborn():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    touch()
    print("ready", flush=True)
    time.sleep(600)


globals()[sys.argv[1]]()

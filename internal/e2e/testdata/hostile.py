"""Leaves a tree that would hurt a host that trusts it."""
import os
import socket
import sys

outside = sys.argv[1]  # a file of the host, by a path that does not exist in here
os.chdir("/workspace")

# A repository of its own whose configuration runs programs on who looks at it.
os.makedirs("nested/.git/hooks")
with open("nested/.git/config", "w") as f:
    f.write("[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch %s\n\tsshCommand = touch %s\n"
            "[filter \"x\"]\n\tclean = touch %s\n\tsmudge = touch %s\n[diff \"x\"]\n\ttextconv = touch %s\n" % ((outside,) * 5))
with open("nested/.git/HEAD", "w") as f:
    f.write("ref: refs/heads/main\n")
os.makedirs("nested/.git/objects")
os.makedirs("nested/.git/refs")
with open("nested/inside", "w") as f:
    f.write("a file beside the nested repository\n")
os.makedirs("capital/.GIT")
with open(".gitattributes", "w") as f:
    f.write("* filter=x diff=x text eol=crlf\n")
with open(".gitignore", "w") as f:
    f.write("*\n")

os.symlink(os.path.dirname(outside), "out")
os.symlink("../../../../../../etc/passwd", "up")
os.symlink("/etc/shadow", "absolute")
os.symlink("loop", "loop")

os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")

os.makedirs("shut/deep")
with open("shut/deep/secret", "w") as f:
    f.write("behind a closed door\n")
with open("unreadable", "w") as f:
    f.write("closed itself\n")
os.chmod("unreadable", 0)
os.chmod("shut/deep", 0)
os.chmod("shut", 0)

with open("line\nbreak", "w") as f:
    f.write("a newline in the name\n")
with open(b"bytes-\xff", "w") as f:
    f.write("not UTF-8\n")
with open("-rf", "w") as f:
    f.write("a leading dash\n")
with open("kept.txt", "w") as f:
    f.write("one\r\ntwo\n")
os.link("kept.txt", "kept-again.txt")
os.mkdir("empty")

package conformance

import (
	"fmt"

	"cyberagent/adapters/conformance/internal/finding"
)

func tmpfsChecks() []Check {
	return topic("tmpfs",
		Check{Name: "the cache and shm have their sizes, modes and inodes", Holds: "contract: tmpfs", Kernel: true, run: rooms},
		Check{Name: "a program runs in the cache and not in shm", Holds: "contract: tmpfs", Kernel: true, run: executables},
		Check{Name: "the cache is full at 128 MiB", Holds: "contract: tmpfs", Kernel: true, run: cacheFull},
		Check{Name: "the cache holds 16384 inodes", Holds: "contract: tmpfs", Kernel: true, run: cacheInodes},
	)
}

func rooms(c *C) {
	_, p := c.look()
	for dir, want := range map[string]finding.Room{
		"/standard-code/cache": {Bytes: 134217728, Inodes: 16384, Mode: 0o700},
		"/dev/shm":             {Bytes: 64 << 20, Inodes: 4096, Mode: 0o1777},
	} {
		if got := p.Rooms[dir]; got != want {
			c.Errorf("%s is %+v, want %+v", dir, got, want)
		}
	}
	c.measured("tmpfs./standard-code/cache", "tmpfs./dev/shm")
}

func executables(c *C) {
	_, p := c.look()
	if p.Executes["/standard-code/cache"] != finding.Allowed || p.Executes["/dev/shm"] != "EACCES" {
		c.Errorf("%v", p.Executes)
	}
}

func cacheFull(c *C) {
	o := c.job("cache").run()
	var n int64
	var word string
	if _, err := fmt.Sscan(o.stdout, &n, &word); err != nil || word != "ENOSPC" || n > 128<<20 || n < 120<<20 {
		c.Errorf("%q %q %v", o.stdout, o.stderr, err)
	}
}

func cacheInodes(c *C) {
	o := c.job("inodes").run()
	var n int
	var word string
	if _, err := fmt.Sscan(o.stdout, &n, &word); err != nil || word != "ENOSPC" || n >= 16384 || n < 16000 {
		c.Errorf("%q %q %v", o.stdout, o.stderr, err)
	}
}

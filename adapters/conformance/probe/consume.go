//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// consume takes of one resource until the kernel says no, and prints how much it
// got and what the kernel said.
func consume(what string) int {
	switch what {
	case "memory":
		const step = 64 << 20
		for n := 0; ; n += step {
			const how = syscall.MAP_PRIVATE | syscall.MAP_ANON | syscall.MAP_POPULATE
			if _, err := syscall.Mmap(-1, 0, step, syscall.PROT_READ|syscall.PROT_WRITE, how); err != nil {
				fmt.Println(n, word(err))
				return 4
			}
		}
	case "pids":
		n, err := 0, error(nil)
		for err == nil && n < 1000 {
			c := exec.Command("/proc/self/exe", "sleep", "60000")
			if err = c.Start(); err == nil {
				n++
			}
		}
		fmt.Println(n, word(err))
	case "file": // one file in the cache
		n, err := write("/standard-code/cache/tmp/file", 64<<20)
		fmt.Println(n, word(err))
		return 4
	case "cache": // many files in the cache
		total := int64(0)
		for i := 0; ; i++ {
			n, err := write(fmt.Sprintf("/standard-code/cache/tmp/%d", i), 8<<20)
			if total += n; err != nil {
				fmt.Println(total, word(err))
				return 0
			}
		}
	case "inodes":
		dir := "/standard-code/cache/tmp"
		for n := 0; n < 1<<20; n++ {
			fd, err := syscall.Open(filepath.Join(dir, fmt.Sprint("i", n)), syscall.O_CREAT|syscall.O_WRONLY, 0o600)
			if err != nil {
				fmt.Println(n, word(err))
				return 0
			}
			_ = syscall.Close(fd)
		}
	default:
		return 99
	}
	return 0
}

func write(path string, most int64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block, total := make([]byte, 1<<20), int64(0)
	for total < most {
		n, err := f.Write(block)
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

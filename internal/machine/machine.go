// Package machine says on what a measurement was made, for the documents that
// measurements write.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Describe names the processor, how many there are, and the kernel.
func Describe() string {
	cpu := "an unknown processor"
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		for s := bufio.NewScanner(f); s.Scan(); {
			if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
		_ = f.Close()
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%s, %d processors, Linux %s", cpu, runtime.NumCPU(), strings.TrimSpace(string(kernel)))
}

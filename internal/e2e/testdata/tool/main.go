// Command tool stands where a toolchain's program is in the small image of the
// private engine. It leaves evidence of each start, then does what it is told.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	// Each start is one line of this file.
	f, err := os.OpenFile("/workspace/starts", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	if _, err := f.WriteString("start\n"); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
	if err := os.WriteFile("/workspace/started", nil, 0o644); err != nil {
		panic(err)
	}
	fmt.Println("started")
	millis, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Duration(millis) * time.Millisecond)
	fmt.Println("ended")
}

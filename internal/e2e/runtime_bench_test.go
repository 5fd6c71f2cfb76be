package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// echoes is how many round trips a median is of.
const echoes = 200

// median runs one round trip many times.
func median(b *testing.B, trip func(n int)) {
	b.Helper()
	trip(0) // the first one waits for the start
	took := make([]time.Duration, echoes)
	for n := range took {
		began := time.Now()
		trip(n + 1)
		took[n] = time.Since(began)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[echoes/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[echoes*95/100].Microseconds()), "p95-µs")
	b.ReportMetric(0, "ns/op")
}

// From write_stdin to the echoed output, read back.
func BenchmarkEcho_Job(b *testing.B) {
	h := MustHome(b)
	f := h.MustFlow(b, h.MustScripts(b, "job.py"))
	s := f.MustSupervise(b)
	j := s.MustStart(b, piped(nil, "job.py", "echo_then_wait"))
	cursor := int64(0)
	median(b, func(n int) {
		line := fmt.Sprintf("line %d\n", n)
		s.MustOK(b, "write_stdin", members{"job_id": j.ID, "operation_key": fmt.Sprint("w", n), "data": line})
		for got := ""; got != line; {
			p := s.MustOK(b, "read", members{"job_id": j.ID, "cursor": cursor, "wait_ms": 60000}).Output
			got += p.text()
			cursor = p.Next
		}
	})
	s.MustOK(b, "kill", members{"job_id": j.ID})
	s.End(b)
}

// The same by `docker run -i`, without anything of ours.
func BenchmarkEcho_DockerRun(b *testing.B) {
	const script = `import sys; [print(l, end="", flush=True) for l in sys.stdin]`
	cmd := exec.Command("docker", "-H", "unix://"+lab.socket, "run", "-i", "--rm", "--network=none", "--log-driver=none",
		"--entrypoint=/standard-code/bin/python3", lab.digest, "-c", script)
	in, err := cmd.StdinPipe()
	must(b, err)
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	r := bufio.NewReader(out)
	median(b, func(n int) {
		line := fmt.Sprintf("line %d\n", n)
		if _, err := io.WriteString(in, line); err != nil {
			b.Fatal(err)
		}
		if got, err := r.ReadString('\n'); err != nil || got != line {
			b.Fatalf("%q, %v", got, err)
		}
	})
	must(b, in.Close())
	must(b, cmd.Wait())
}

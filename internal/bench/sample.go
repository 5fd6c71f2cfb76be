package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// Sample is what one thing took, in milliseconds or another unit of its Table.
type Sample []float64

// Quantile is the value below which a share q of the sample lies; 0 of an empty one.
func (s Sample) Quantile(q float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// Median is the middle one.
func (s Sample) Median() float64 { return s.Quantile(0.5) }

// Line is one measured thing, beside its peer if it has one.
type Line struct {
	What string
	Ours Sample
	// Peer and PeerName are of the plain program that does the same.
	Peer     Sample
	PeerName string
	// MostRatio and Most are goals, 0 for none: ours over the peer's, and ours.
	MostRatio, Most float64
	// Least is a goal from below on the ratio.
	Least float64
}

// Ratio is ours over the peer's, 0 without a peer.
func (l Line) Ratio() float64 {
	if len(l.Peer) == 0 || l.Peer.Median() == 0 {
		return 0
	}
	return l.Ours.Median() / l.Peer.Median()
}

// Goal says in words what is wanted and whether it holds; empty without a goal.
func (l Line) Goal() (goal string, met bool) {
	switch {
	case l.MostRatio > 0:
		return fmt.Sprintf("at most %.2f", l.MostRatio), l.Ratio() <= l.MostRatio
	case l.Least > 0:
		return fmt.Sprintf("at least %.2f", l.Least), l.Ratio() >= l.Least
	case l.Most > 0:
		return fmt.Sprintf("at most %g", l.Most), l.Ours.Median() <= l.Most
	}
	return "", true
}

// Table is a set of lines in one unit.
type Table struct {
	Title, Unit string
	Lines       []Line
	Notes       []string
}

// timed runs f and adds what it took in milliseconds.
func (s *Sample) timed(f func() error) error {
	began := time.Now()
	err := f()
	*s = append(*s, millis(time.Since(began)))
	return err
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// spent runs a program, keeps what it took and what processor time it and its
// children used, and returns its output.
func spent(cmd *exec.Cmd, wall, cpu *Sample) ([]byte, error) {
	cmd.Stderr = nil
	began := time.Now()
	out, err := cmd.Output()
	*wall = append(*wall, millis(time.Since(began)))
	if cpu != nil && cmd.ProcessState != nil {
		*cpu = append(*cpu, millis(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	}
	return out, failed(cmd, err)
}

// failed adds to an error what a program said.
func failed(cmd *exec.Cmd, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // Output returns it unwrapped
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, e.Stderr)
	}
	return fmt.Errorf("%v: %w", cmd.Args, err)
}

// inTurn calls both, in an order that changes from round to round.
func inTurn(round int, ours, peer func() error) error {
	if round%2 == 1 {
		ours, peer = peer, ours
	}
	if err := ours(); err != nil {
		return err
	}
	return peer()
}

// plain is the environment of peers: nothing of the harness but what finds programs.
func plain() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")} }

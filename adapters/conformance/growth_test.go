package conformance_test

import (
	"flag"
	"testing"

	"cyberagent/adapters/conformance"
)

var growthRuns = flag.Int("growth.runs", 1, "how often each writer grows")

func TestGrowthIsStoppedHoweverItIsWritten(t *testing.T) {
	conformance.MeasureGrowth(t, containerdEngine("containerd", "CYBERAGENT_CONTAINERD_ADDRESS", "containerd"), *growthRuns)
}

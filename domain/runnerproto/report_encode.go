package runnerproto

import (
	"cyberagent/domain/canon"
	"cyberagent/domain/fault"
	"cyberagent/domain/isolation"
	"cyberagent/domain/limits"
)

// NewReport begins the report about a binding. Its lists are empty, never null.
func NewReport(b Binding) Report {
	return Report{
		Protocol: Protocol, Admission: b.Admission, ManifestSHA256: b.ManifestSHA256,
		Facts: []isolation.Fact{}, Mismatches: []isolation.Difference{},
		Streams: []StreamReport{}, Unreadable: []string{},
		Events: KernelEvents{OOMKills: Unknown, PidsDenied: Unknown},
		Usage:  Usage{PeakMemoryBytes: Unknown, PeakPids: Unknown},
	}
}

// Unknown is the value of a counter that cannot be read.
const Unknown = int64(-1)

// Encode returns the one line that goes to the runner's stderr. It returns
// runner_failure for a report that the host would not read.
func (r Report) Encode() ([]byte, error) {
	b, err := canon.JSON(r)
	if err != nil {
		return nil, fault.Wrap(fault.RunnerFailure, err, "encode report")
	}
	b = append(b, '\n')
	if int64(len(b)) > limits.RunnerReportBytes {
		return nil, fault.New(fault.RunnerFailure, "the report has %d bytes, at most %d are read", len(b), limits.RunnerReportBytes)
	}
	return b, nil
}

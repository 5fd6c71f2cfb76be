package e2e

import "time"

// runtimeLine is one line of command-runtime.v2.
type runtimeLine struct {
	Protocol string        `json:"protocol_version"`
	Type     string        `json:"type"`
	Request  string        `json:"request_id"`
	Action   string        `json:"action"`
	Status   string        `json:"status"`
	Replayed bool          `json:"replayed"`
	Job      *jobView      `json:"job,omitempty"`
	Jobs     *[]jobView    `json:"jobs,omitempty"`
	Output   *outputPage   `json:"output,omitempty"`
	Run      *runJobsView  `json:"run,omitempty"`
	Stdin    *writeView    `json:"stdin,omitempty"`
	Approval *approvalNeed `json:"approval,omitempty"`
	Error    *runtimeError `json:"error,omitempty"`
}

type jobView struct {
	ID          string    `json:"job_id"`
	Run         string    `json:"run_id"`
	State       string    `json:"state"`
	Version     int64     `json:"version"`
	Reason      string    `json:"reason_code"`
	Owned       bool      `json:"owned"`
	StdinPolicy string    `json:"stdin_policy"`
	Preparation string    `json:"preparation_id"`
	Approval    string    `json:"approval_id"`
	Execution   string    `json:"execution_id"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	End         int64     `json:"end_cursor"`
	Base        int64     `json:"base_cursor"`
	Dropped     int64     `json:"dropped_bytes"`
	Stdin       *struct {
		Accepted int64 `json:"accepted_bytes"`
		Written  int64 `json:"written_bytes"`
		Closed   bool  `json:"closed"`
	} `json:"stdin,omitempty"`
	Result *resultView `json:"result,omitempty"`
}

type outputFrame struct {
	Stream  string    `json:"stream"`
	At      time.Time `json:"at"`
	From    int64     `json:"from"`
	To      int64     `json:"to"`
	Text    string    `json:"text"`
	Omitted int64     `json:"omitted_bytes"`
}

type outputPage struct {
	Frames  []outputFrame `json:"frames"`
	Next    int64         `json:"next_cursor"`
	Base    int64         `json:"base_cursor"`
	End     int64         `json:"end_cursor"`
	Dropped int64         `json:"dropped_bytes"`
}

type runJobsView struct {
	Mode  string `json:"mode"`
	Items []struct {
		Outcome  string        `json:"outcome"`
		Replayed bool          `json:"replayed"`
		Job      *jobView      `json:"job,omitempty"`
		Output   *outputPage   `json:"output,omitempty"`
		Approval *approvalNeed `json:"approval,omitempty"`
		Error    *runtimeError `json:"error,omitempty"`
	} `json:"commands"`
}

type writeView struct {
	Sequence int64 `json:"sequence"`
	From     int64 `json:"from"`
	To       int64 `json:"to"`
	Closed   bool  `json:"closed"`
}

type approvalNeed struct {
	Index       int      `json:"command_index"`
	Preparation string   `json:"preparation_id"`
	Approval    string   `json:"approval_id"`
	Status      string   `json:"status"`
	Generation  int64    `json:"generation"`
	Checkpoint  string   `json:"checkpoint_id"`
	Type        []string `json:"operator_types"`
}

type runtimeError struct {
	Code        string            `json:"code"`
	Field       string            `json:"field"`
	Message     string            `json:"message"`
	Remediation string            `json:"remediation"`
	Details     map[string]string `json:"details"`
}

// text joins the output of a page.
func (p *outputPage) text() (all string) {
	for _, f := range p.Frames {
		all += f.Text
	}
	return all
}

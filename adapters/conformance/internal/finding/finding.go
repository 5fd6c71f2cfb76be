// Package finding is what the probe program tells the suite: its findings, as
// one JSON object on its standard output.
package finding

// Findings are what one command found inside its container. Attempts hold the
// errno's name, or Allowed.
type Findings struct {
	Status       map[string]string   `json:"status"`     // of /proc/self/status, blanks made single
	Calls        map[string]string   `json:"calls"`      // attempts of calls that must be denied
	Interfaces   []string            `json:"interfaces"` // of /proc/net/dev
	Routes       []string            `json:"routes"`     // lines of /proc/net/route
	Addresses6   []string            `json:"addresses6"` // of /proc/net/if_inet6
	Connects     map[string]string   `json:"connects"`   // attempts, by address
	Hostname     string              `json:"hostname"`   //
	Hosts        string              `json:"hosts"`      // /etc/hosts
	Sockets      []string            `json:"sockets"`    // engines' sockets that exist
	Mounts       []Mount             `json:"mounts"`     // of /proc/self/mountinfo
	Mask         string              `json:"mask"`       // content of /workspace/.git
	MaskAttempts map[string]string   `json:"mask_attempts"`
	Holes        []string            `json:"holes"`        // what can be written outside the three places
	KernelHoles  []string            `json:"kernel_holes"` // what of /proc and /sys can be written
	Tried        int                 `json:"tried"`        // how many places were tried for both
	Rooms        map[string]Room     `json:"rooms"`        // the tmpfs mounts
	Executes     map[string]string   `json:"executes"`     // attempts to run a file there
	Rlimits      map[string][2]int64 `json:"rlimits"`      // soft and hard
	Groups       map[string]string   `json:"groups"`       // cgroup files
	Environment  []string            `json:"environment"`
	Devices      []string            `json:"devices"` // names in /dev
	Workdir      string              `json:"workdir"`
	Args         []string            `json:"args"`
	Pids         []int               `json:"pids"`
	Stdin        string              `json:"stdin"` // everything that could be read
	Descriptors  int                 `json:"descriptors"`
	First        map[string]string   `json:"first"` // attempts to read PID 1
}

// Allowed is an attempt that worked.
const Allowed = "allowed"

// Mount is one line of mountinfo.
type Mount struct {
	Target  string   `json:"target"`
	Type    string   `json:"type"`
	Options []string `json:"options"`
	Shared  bool     `json:"shared"` // events propagate out of it
}

// Room is a filesystem's size and its root's permission bits.
type Room struct {
	Bytes  int64  `json:"bytes"`
	Inodes int64  `json:"inodes"`
	Mode   uint32 `json:"mode"`
}

// Attempt is one line of the attacker: what came of an attack.
type Attempt struct {
	Attack string `json:"attack"`
	Word   string `json:"word"`
}

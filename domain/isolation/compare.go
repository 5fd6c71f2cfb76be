package isolation

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Properties are a container's configuration in words that mean the same on
// every engine. An adapter fills them from what the engine reports after
// create, never from the request.
type Properties struct {
	Name     string
	Labels   map[string]string
	ImageID  string
	Hostname string

	Entrypoint []string
	Args       []string
	User       string
	Groups     []string // supplementary groups
	WorkingDir string
	Env        []string

	ReadOnlyRoot    bool
	Privileged      bool
	NoNewPrivileges bool
	Capabilities    []string // all that any set would hold
	SeccompSHA256   string   // of the profile's bytes in effect

	NetworkMode string // none
	PIDMode     string // private
	IPCMode     string // none: private and without the engine's /dev/shm
	UTSMode     string // private
	CgroupMode  string // private, also where the engine has no such namespace (cgroup v1)

	Mounts        []Mount // projections of host paths only
	Tmpfs         []Tmpfs
	Rlimits       []Rlimit
	MaskedPaths   []string
	ReadonlyPaths []string

	MemoryBytes     int64
	MemorySwapBytes int64 // memory and swap together
	Pids            int64
	NanoCPUs        int64
	OOMKill         bool

	Stdin     Stdin
	TTY       bool
	LogDriver string // none

	// Extra lists what the contract has no word for and the engine reports all
	// the same: ports, devices, links, DNS, restart, auto-remove, init, volumes,
	// sysctls. Each entry is "what=value"; the contract wants none.
	Extra []string
	// Warnings are what the engine said at create. The contract wants none.
	Warnings []string
}

// Difference is one property that is not as the contract wants it.
type Difference struct {
	Property string `json:"property"`
	Want     string `json:"want"`
	Got      string `json:"got"`
}

// Compare returns every property in which the engine's read-back differs from
// the request, in the order of the fields. Order within lists does not matter
// except for Entrypoint and Args.
func Compare(s Spec, observed Properties) []Difference {
	want, got := normal(s.Properties()), normal(observed)
	wv, gv := reflect.ValueOf(want), reflect.ValueOf(got)
	var diffs []Difference
	for i := range wv.NumField() {
		// Not by their text: JSON makes one of all that is not UTF-8.
		if !reflect.DeepEqual(wv.Field(i).Interface(), gv.Field(i).Interface()) {
			diffs = append(diffs, Difference{Property: snake(wv.Type().Field(i).Name), Want: text(wv.Field(i)), Got: text(gv.Field(i))})
		}
	}
	return diffs
}

func normal(p Properties) Properties {
	p.Labels = cloneNonNil(p.Labels)
	for _, l := range []*[]string{&p.Groups, &p.Env, &p.Capabilities, &p.MaskedPaths, &p.ReadonlyPaths, &p.Extra, &p.Warnings} {
		*l = append([]string{}, *l...)
		slices.Sort(*l)
	}
	p.Entrypoint, p.Args = append([]string{}, p.Entrypoint...), append([]string{}, p.Args...)
	p.Mounts = sorted(p.Mounts, func(m Mount) string { return m.Target + "\x00" + m.Source })
	p.Tmpfs = sorted(p.Tmpfs, func(t Tmpfs) string { return t.Target })
	p.Rlimits = sorted(p.Rlimits, func(r Rlimit) string { return r.Name })
	return p
}

func cloneNonNil(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func sorted[T any](in []T, key func(T) string) []T {
	out := append([]T{}, in...)
	slices.SortStableFunc(out, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return out
}

func text(v reflect.Value) string {
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return "unreadable"
	}
	return string(b)
}

// snake turns a field's name into the contract's spelling.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		up := r >= 'A' && r <= 'Z'
		prevLow := i > 0 && (s[i-1] < 'A' || s[i-1] > 'Z')
		nextLow := i > 0 && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z' && s[i+1:] != "s" // CPUs is one word
		if up && i > 0 && (prevLow || nextLow) {
			b.WriteByte('_')
		}
		if up {
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Listed returns every property by its contract name with its value as text, in
// the order of the fields, for an answer that shows all of them.
func Listed(p Properties) []Fact {
	v := reflect.ValueOf(normal(p))
	var all []Fact
	for i := range v.NumField() {
		all = append(all, Fact{Name: snake(v.Type().Field(i).Name), Value: text(v.Field(i))})
	}
	return all
}

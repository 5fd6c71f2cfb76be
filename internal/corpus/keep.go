package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// row is one run of a project's command in the container.
type row struct {
	Engine, Image           string // Image is "plain" or "project"
	Changed                 bool
	Outcome, Reason, Detail string
	Seconds                 float64
	// Build is the seconds that the project's image took, Bytes what it is larger
	// than the plain one.
	Build                  float64
	Bytes                  int64
	Cache, Growth, Entries int64 // at most
	Files                  map[string]int64
	Digest                 string
	Load                   float64
	At                     time.Time
}

// lifted is what became of a project with one limit lifted.
type lifted struct {
	Limit, Kept, Lifted string
	At                  time.Time
}

// outcome is all that is known of a project.
type outcome struct {
	project

	Host        string
	HostSeconds float64
	Rows        []row
	Lift        *lifted
}

// kept is a result with what it was made of.
type kept[T any] struct {
	Inputs string
	Result T
}

func (l lab) place(kind string, p project) string {
	return filepath.Join(l.cache, "results", kind+"-"+p.slug()+"@"+p.Version+".json")
}

// recall reads a result of the same inputs.
func recall[T any](path, inputs string) (v T, ok bool) {
	data, err := os.ReadFile(path)
	var k kept[T]
	if err != nil || json.Unmarshal(data, &k) != nil || k.Inputs != inputs {
		return v, false
	}
	return k.Result, true
}

// remember writes one. A run that is cut off leaves the old one or the new one.
func remember[T any](path, inputs string, v T) error {
	data, err := json.MarshalIndent(kept[T]{inputs, v}, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	return err
}

// images are the plain images by engine.
func (l lab) images() map[string]string {
	all := map[string]string{}
	for _, e := range l.engines {
		all[e] = os.Getenv("CYBERAGENT_STANDARD_CODE_" + strings.ToUpper(e) + "_IMAGE_DIGEST")
	}
	return all
}

func (l lab) inputs(kind string, p project) string {
	return strings.Join(append(append([]string{l.images()[kind], p.Version, p.Toolchain}, p.Args...), p.Needs...), " ")
}

// known gathers what is kept.
func (l lab) known(p project) outcome {
	o := outcome{project: p, Host: "not tried"}
	if h, ok := recall[hostResult](l.place("host", p), l.inputs("host", p)); ok {
		o.Host, o.HostSeconds = h.Outcome, h.Seconds
	}
	for _, e := range l.engines {
		rows, _ := recall[[]row](l.place(e, p), l.inputs(e, p))
		o.Rows = append(o.Rows, rows...)
	}
	if lift, ok := recall[lifted](l.place("lift", p), l.inputs("docker", p)); ok {
		o.Lift = &lift
	}
	return o
}

// load is the machine's, over the last minute.
func load() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return -1
	}
	first, _, _ := strings.Cut(string(data), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return v
}

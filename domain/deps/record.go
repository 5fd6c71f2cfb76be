package deps

import (
	"fmt"
	"maps"
	"slices"

	"cyberagent/domain/canon"
	"cyberagent/domain/command"
	"cyberagent/domain/limits"
)

// Protocol names the record's form.
const Protocol = "standard-code-project.v1"

// Record is what a project's image says about itself, in a label of the image.
type Record struct {
	Protocol string `json:"protocol_version"`
	// Locks are the lockfiles that it was built for, by toolchain: Need.SHA256.
	Locks map[command.Toolchain]string `json:"locks"`
	// Holds are the packages in it, "name@version", sorted.
	Holds map[command.Toolchain][]string `json:"holds"`
	// Absent are packages that a loose lockfile named and that were not fetched.
	Absent map[command.Toolchain][]string `json:"absent"`
}

// NewRecord makes an empty one.
func NewRecord() Record {
	return Record{
		Protocol: Protocol, Locks: map[command.Toolchain]string{},
		Holds: map[command.Toolchain][]string{}, Absent: map[command.Toolchain][]string{},
	}
}

// Hold adds packages of a toolchain.
func (r Record) Hold(t command.Toolchain, all []Package) { r.Holds[t] = texts(all) }

// Leave notes packages that were not fetched.
func (r Record) Leave(t command.Toolchain, all []Package) { r.Absent[t] = texts(all) }

func texts(all []Package) []string {
	out := make([]string, 0, len(all))
	for _, p := range sorted(slices.Clone(all)) {
		out = append(out, p.String())
	}
	return out
}

// Toolchains are those that the image carries something for, sorted.
func (r Record) Toolchains() []command.Toolchain { return slices.Sorted(maps.Keys(r.Locks)) }

// Encode is the label's text.
func (r Record) Encode() (string, error) {
	b, err := canon.JSON(r)
	if err == nil && int64(len(b)) > limits.ProjectRecordBytes {
		err = fmt.Errorf("the record of what the image holds has %d bytes, at most %d fit", len(b), limits.ProjectRecordBytes)
	}
	return string(b), err
}

// DecodeRecord reads a label's text strictly.
func DecodeRecord(text string) (Record, error) {
	var r Record
	if int64(len(text)) > limits.ProjectRecordBytes {
		return r, fmt.Errorf("a record of %d bytes", len(text))
	}
	if err := canon.Strict([]byte(text), &r); err != nil {
		return r, err
	}
	if r.Protocol != Protocol {
		return r, fmt.Errorf("record %q, this product reads %q", r.Protocol, Protocol)
	}
	for _, held := range []map[command.Toolchain][]string{r.Holds, r.Absent} {
		for _, list := range held {
			for _, s := range list {
				if _, ok := parsePackage(s); !ok {
					return r, fmt.Errorf("%.80q is no package", s)
				}
			}
		}
	}
	return r, nil
}

// Missing is a package that a lockfile asks for and the image does not have at
// that version. Has are the versions that it does have.
type Missing struct {
	Package

	Has []string
}

// String is a few words for a person.
func (m Missing) String() string {
	if len(m.Has) == 0 {
		return m.Package.String()
	}
	return fmt.Sprintf("%s (the image has %s)", m.Package, m.Has[0])
}

// Missing compares. Nothing is missing for the very lockfiles that the image was
// built for, nor where the repository carries its dependencies itself.
func (r Record) Missing(n Need) []Missing {
	if n.File == "" || n.InTree || (r.Locks[n.Toolchain] != "" && r.Locks[n.Toolchain] == n.SHA256) {
		return nil
	}
	has, absent := map[string][]string{}, map[string]bool{}
	for _, s := range r.Holds[n.Toolchain] {
		if p, ok := parsePackage(s); ok {
			has[p.Name] = append(has[p.Name], p.Version)
		}
	}
	for _, s := range r.Absent[n.Toolchain] {
		absent[s] = true
	}
	var all []Missing
	for _, p := range n.Packages {
		versions := has[p.Name]
		if slices.Contains(versions, p.Version) || absent[p.String()] {
			continue
		}
		all = append(all, Missing{p, versions})
	}
	return all
}

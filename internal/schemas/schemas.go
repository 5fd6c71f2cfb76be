// Package schemas keeps the published JSON Schemas of the answers
// (docs/schemas, one file a protocol_version) equal to the Go types that make
// them, and checks real answers against the files.
package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"cyberagent/domain/admission"
	"cyberagent/domain/approval"
	"cyberagent/domain/command"
	"cyberagent/domain/id"
	"cyberagent/domain/isolation"
	"cyberagent/domain/job"
	"cyberagent/domain/jobproto"
	"cyberagent/domain/lifecycle"
	"cyberagent/domain/result"
	"cyberagent/domain/run"
)

// Infer returns the schema of a protocol's answer as indented JSON. Objects are
// closed, lists are never null, times are RFC 3339.
func Infer(protocol string, answer any) ([]byte, error) {
	types := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time](): {Type: "string", Format: "date-time", Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`},
	}
	ident := func(t reflect.Type, k id.Kind) {
		// Empty where there is none yet.
		types[t] = &jsonschema.Schema{Type: "string", Pattern: fmt.Sprintf("^(|%s_[0-9A-HJKMNP-TV-Z]{26})$", k)}
	}
	ident(reflect.TypeFor[id.Run](), id.KindRun)
	ident(reflect.TypeFor[id.Drydock](), id.KindDrydock)
	ident(reflect.TypeFor[id.Checkpoint](), id.KindCheckpoint)
	ident(reflect.TypeFor[id.Preparation](), id.KindPreparation)
	ident(reflect.TypeFor[id.Approval](), id.KindApproval)
	ident(reflect.TypeFor[id.Admission](), id.KindAdmission)
	ident(reflect.TypeFor[id.Receipt](), id.KindReceipt)
	ident(reflect.TypeFor[id.Job](), id.KindJob)
	maps.Copy(types, words())
	s, err := jsonschema.ForType(reflect.TypeOf(answer), &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, err
	}
	plain(s)
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", protocol
	p := s.Properties["protocol_version"]
	if p == nil {
		return nil, fmt.Errorf("%s: the answer has no protocol_version", protocol)
	}
	p.Const = jsonschema.Ptr[any](protocol)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// words are the closed vocabularies; a status is empty where there is none yet.
// Reason codes are added over time (contract section 4), so they are not closed.
func words() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[isolation.Engine]():  closed("", isolation.Docker, isolation.Containerd),
		reflect.TypeFor[command.Toolchain](): closed(command.Toolchains()...),
		reflect.TypeFor[run.Status]():        closed(run.Statuses()...),
		reflect.TypeFor[lifecycle.State]():   closed(lifecycle.States()...),
		reflect.TypeFor[job.State]():         closed(job.States()...),
		reflect.TypeFor[job.Mode]():          closed(job.FailFast, job.Continue),
		reflect.TypeFor[jobproto.Action]():   closed(append(jobproto.Actions(), "")...),
		reflect.TypeFor[result.Status]():     closed("", result.Succeeded, result.Failed, result.Cancelled, result.TimedOut),
		reflect.TypeFor[admission.Status]():  closed(admission.StatusReady, admission.StatusDisabled, admission.StatusUnavailable),
		reflect.TypeFor[approval.Status](): closed(approval.Pending, approval.Approved, approval.Denied, approval.Expired,
			approval.Consumed, approval.Revoked),
	}
}

func closed[T ~string](words ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range words {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}

// plain takes null away from lists: an empty one is [].
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if slices.Contains(s.Types, "array") {
		s.Type, s.Types = "array", nil
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// File is where a protocol's schema lies in a directory.
func File(dir, protocol string) string { return filepath.Join(dir, protocol+".json") }

var resolved sync.Map // of path to *jsonschema.Resolved

// Check validates one JSON document against the schema that its protocol_version
// names.
func Check(dir string, document []byte) error {
	var doc map[string]any
	if err := json.Unmarshal(document, &doc); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	protocol, _ := doc["protocol_version"].(string)
	if protocol == "" || protocol != filepath.Base(protocol) {
		return fmt.Errorf("no protocol_version, but %q", protocol)
	}
	path := File(dir, protocol)
	r, ok := resolved.Load(path)
	if !ok {
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s has no schema: %w", protocol, err)
		}
		s := new(jsonschema.Schema)
		if err := json.Unmarshal(b, s); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		res, err := s.Resolve(nil)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		r, _ = resolved.LoadOrStore(path, res)
	}
	res, ok := r.(*jsonschema.Resolved)
	if !ok {
		return fmt.Errorf("%s: not a schema", path)
	}
	return res.Validate(doc)
}

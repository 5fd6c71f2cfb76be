package e2e

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"cyberagent/domain/canon"
	"cyberagent/internal/schemas"
)

// MustDecode reads one JSON document that has exactly the fields of T: unknown
// and repeated ones, missing ones and trailing data are all refused.
func MustDecode[T any](t testing.TB, data []byte) T {
	t.Helper()
	v, ok := decode[T](t, data)
	if !ok {
		t.FailNow()
	}
	return v
}

// decode is MustDecode for a goroutine that is not the test's.
func decode[T any](t testing.TB, data []byte) (v T, ok bool) {
	t.Helper()
	var raw any
	if err := errors.Join(canon.Strict(data, &v), json.Unmarshal(data, &raw)); err != nil {
		t.Errorf("not the expected answer: %v\n%s", err, data)
		return v, false
	}
	for _, m := range missing(reflect.TypeFor[T](), raw, "") {
		t.Errorf("the answer lacks %s", m)
	}
	if err := schemas.Check("../../docs/schemas", data); err != nil {
		t.Errorf("the answer is not what its published schema says: %v\n%s", err, data)
	}
	return v, true
}

// missing names the fields of a type that a document does not have.
func missing(typ reflect.Type, raw any, path string) []string {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	var m []string
	switch typ.Kind() {
	case reflect.Slice:
		items, _ := raw.([]any)
		if items == nil && raw != nil {
			return nil
		}
		if raw == nil {
			return []string{path + " (null instead of a list)"}
		}
		for _, i := range items {
			m = append(m, missing(typ.Elem(), i, path+"[]")...)
		}
	case reflect.Struct:
		object, ok := raw.(map[string]any)
		if !ok {
			return nil // null, or a type that is text in JSON
		}
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous {
				continue // its fields come by themselves
			}
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			v, ok := object[name]
			switch {
			case !ok && option != "omitempty":
				m = append(m, path+"."+name)
			case ok:
				m = append(m, missing(f.Type, v, path+"."+name)...)
			}
		}
	default: // a value
	}
	return m
}

package e2e

import (
	"encoding/json"
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
	var v T
	if err := canon.Strict(data, &v); err != nil {
		t.Fatalf("not the expected answer: %v\n%s", err, data)
	}
	var raw any
	if err := json.Unmarshal(data, &raw); err != nil {
		t.Fatal(err)
	}
	for _, m := range missing(reflect.TypeFor[T](), raw, "") {
		t.Errorf("the answer lacks %s", m)
	}
	if err := schemas.Check("../../docs/schemas", data); err != nil {
		t.Errorf("the answer is not what its published schema says: %v\n%s", err, data)
	}
	return v
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
		for i := range typ.NumField() {
			name, option, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			v, ok := object[name]
			switch {
			case !ok && option != "omitempty":
				m = append(m, path+"."+name)
			case ok:
				m = append(m, missing(typ.Field(i).Type, v, path+"."+name)...)
			}
		}
	default: // a value
	}
	return m
}

package canon

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Strict decodes JSON from outside into v and refuses what encoding/json
// forgives: unknown fields, known fields in another case, duplicate keys,
// trailing data, invalid UTF-8, halves of surrogate pairs (contract section 4).
func Strict(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("not valid UTF-8")
	}
	if err := surrogates(data); err != nil {
		return err
	}
	keys := json.NewDecoder(bytes.NewReader(data))
	keys.UseNumber()
	if err := checkKeys(keys, reflect.TypeOf(v), "", 0); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the JSON value")
	}
	return nil
}

// depth bounds recursion on hostile input.
const depth = 64

// checkKeys reads one value that is meant for typ (nil means any) and refuses a
// key that its object has already, or that its struct does not spell exactly so:
// encoding/json would let "A" overwrite "a".
func checkKeys(dec *json.Decoder, typ reflect.Type, path string, level int) error {
	if level > depth {
		return errors.New("nested too deeply")
	}
	t, err := dec.Token()
	if err != nil {
		return err
	}
	typ = plain(typ)
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			k, err := dec.Token()
			if err != nil {
				return err
			}
			key, _ := k.(string)
			if seen[key] {
				return fmt.Errorf("duplicate key %q", path+key)
			}
			seen[key] = true
			next, known := member(typ, key)
			if !known {
				return fmt.Errorf("unknown field %q", path+key)
			}
			if err := checkKeys(dec, next, path+key+".", level+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	case json.Delim('['):
		next := element(typ, reflect.Slice, reflect.Array)
		for dec.More() {
			if err := checkKeys(dec, next, path, level+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plain follows pointers. It returns nil, which stands for any, for types that
// decode themselves.
func plain(typ reflect.Type) reflect.Type {
	for typ != nil && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == nil || reflect.PointerTo(typ).Implements(jsonUnmarshaler) || reflect.PointerTo(typ).Implements(textUnmarshaler) {
		return nil
	}
	return typ
}

// member returns the type of an object's key and whether the key is known. A
// type with embedded structs is left to encoding/json.
func member(typ reflect.Type, key string) (reflect.Type, bool) {
	if typ == nil || typ.Kind() != reflect.Struct {
		return element(typ, reflect.Map), true
	}
	for f := range typ.Fields() {
		if f.Anonymous {
			return nil, true
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if name == key && f.IsExported() && f.Tag.Get("json") != "-" {
			return f.Type, true
		}
	}
	return nil, false
}

func element(typ reflect.Type, kinds ...reflect.Kind) reflect.Type {
	for _, k := range kinds {
		if typ != nil && typ.Kind() == k {
			return typ.Elem()
		}
	}
	return nil
}

// surrogates refuses an escaped half of a pair, which encoding/json turns into
// U+FFFD, so that two inputs would become one value.
func surrogates(data []byte) error {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		high := escaped(data[i:], 'd', "89ab")
		switch {
		case high && escaped(data[min(i+6, len(data)):], 'd', "cdef"):
			i += 11
		case high || escaped(data[i:], 'd', "cdef"):
			return errors.New("half of an escaped surrogate pair")
		default:
			i++ // over the escaped character, which may be a backslash
		}
	}
	return nil
}

// escaped says whether b begins with \u, the digit, one of the digits, and two
// more characters.
func escaped(b []byte, digit byte, then string) bool {
	const lower = 0x20
	return len(b) >= 6 && b[0] == '\\' && b[1] == 'u' && b[2]|lower == digit && strings.IndexByte(then, b[3]|lower) >= 0
}

package canon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Strict decodes JSON from outside into v and refuses what encoding/json
// forgives: unknown fields, duplicate keys, trailing data, invalid UTF-8
// (contract section 4).
func Strict(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("not valid UTF-8")
	}
	dup := json.NewDecoder(bytes.NewReader(data))
	dup.UseNumber()
	if err := duplicates(dup, "", 0); err != nil {
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

func duplicates(dec *json.Decoder, path string, level int) error {
	if level > depth {
		return errors.New("nested too deeply")
	}
	t, err := dec.Token()
	if err != nil {
		return err
	}
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
			if err := duplicates(dec, path+key+".", level+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	case json.Delim('['):
		for dec.More() {
			if err := duplicates(dec, path, level+1); err != nil {
				return err
			}
		}
		_, err = dec.Token()
	}
	return err
}

package containerd

import (
	"encoding/json"
	"reflect"
	"strings"
)

// extras collects what the engine reports and the contract has no word for.
type extras []string

func (x *extras) add(what string, value any) {
	text, ok := value.(string)
	if !ok {
		b, err := json.Marshal(value)
		if err != nil {
			b = []byte("unreadable")
		}
		text = string(b)
	}
	*x = append(*x, what+"="+text)
}

func (x *extras) unless(ok bool, what string, value any) {
	if !ok {
		x.add(what, value)
	}
}

// take returns a field's value and empties the field. What nobody took is
// residue in the end, so no field can be overlooked, also none that a later
// version of the specification adds.
func take[T any](field *T) T {
	v := *field
	var none T
	*field = none
	return v
}

// residue adds every field of a structure that still holds something. A pointer
// that is set says something, whatever it points to.
func (x *extras) residue(prefix string, structure any) {
	v := reflect.ValueOf(structure)
	for _, f := range reflect.VisibleFields(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.Anonymous || value.IsZero() || (value.Kind() == reflect.Slice || value.Kind() == reflect.Map) && value.Len() == 0 {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if value.Kind() == reflect.Struct {
			x.residue(prefix+name+".", value.Interface())
			continue
		}
		x.add(prefix+name, value.Interface())
	}
}

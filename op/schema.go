package op

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schemer is a wire type that knows its own schema: an enumeration, a bounded text. The method is called on the
// zero value.
type Schemer interface{ Schema() *jsonschema.Schema }

// An Object is a JSON object whose fields are checked elsewhere.
type Object json.RawMessage

// Schema is any object.
func (Object) Schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// MarshalJSON writes the object as it is; an empty one as {}.
func (o Object) MarshalJSON() ([]byte, error) {
	if len(o) == 0 {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON copies the bytes.
func (o *Object) UnmarshalJSON(b []byte) error {
	*o = append((*o)[:0], b...)
	return nil
}

var (
	schemerType = reflect.TypeFor[Schemer]()
	timeType    = reflect.TypeFor[time.Time]()
)

// inferSchema derives the schema of a wire type: types that are Schemers give their own, times are RFC 3339,
// slices are never null.
func inferSchema(t reflect.Type) (*jsonschema.Schema, error) {
	own := map[reflect.Type]*jsonschema.Schema{timeType: {Type: "string", Format: "date-time"}}
	if err := collectSchemers(t, own, map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: own})
	if err != nil {
		return nil, err
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	dropNull(s)
	return s, nil
}

// collectSchemers finds the Schemers below t and refuses pointers, which a wire type must not have.
func collectSchemers(t reflect.Type, own map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) error {
	if seen[t] || t == timeType {
		return nil
	}
	seen[t] = true
	if t.Implements(schemerType) && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		own[t] = reflect.Zero(t).Interface().(Schemer).Schema()
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return fmt.Errorf("%s is a pointer; wire types hold values", t)
	case reflect.Slice, reflect.Array, reflect.Map:
		return collectSchemers(t.Elem(), own, seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.PkgPath != "" || f.Tag.Get("json") == "-" {
				continue
			}
			if err := collectSchemers(f.Type, own, seen); err != nil {
				return fmt.Errorf("%s.%s: %w", t, f.Name, err)
			}
		}
	}
	return nil
}

// dropNull takes back what inference adds to slices: our answers never hold null.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	dropNull(s.AdditionalProperties)
}

// A filler replaces nil slices and maps that would be encoded as null by empty ones.
type filler struct {
	fields []fieldFiller // of a struct
	elem   *filler       // of a slice
	slice  bool
	makes  bool // a nil slice here would be encoded
}

type fieldFiller struct {
	index  int
	filler *filler
	omits  bool // a zero value here is left out of the encoding, and must stay zero
}

var marshalerType = reflect.TypeFor[json.Marshaler]()

// newFiller returns nil where nothing below t can be nil.
func newFiller(t reflect.Type) *filler { return fillerOf(t, false) }

func fillerOf(t reflect.Type, omitted bool) *filler {
	if t.Implements(marshalerType) || t == timeType {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		elem := fillerOf(t.Elem(), false)
		if omitted && elem == nil {
			return nil
		}
		return &filler{slice: true, elem: elem, makes: !omitted}
	case reflect.Struct:
		var f filler
		for i := range t.NumField() {
			field := t.Field(i)
			if field.PkgPath != "" {
				continue
			}
			if below := fillerOf(field.Type, omitsZero(field)); below != nil {
				f.fields = append(f.fields, fieldFiller{i, below, omitsZero(field)})
			}
		}
		if len(f.fields) == 0 {
			return nil
		}
		return &f
	}
	return nil
}

func omitsZero(f reflect.StructField) bool {
	tag := f.Tag.Get("json")
	for i := range len(tag) {
		if tag[i] == ',' {
			rest := tag[i+1:]
			return rest == "omitzero" || rest == "omitempty"
		}
	}
	return false
}

func (f *filler) fill(v reflect.Value) {
	if f == nil {
		return
	}
	if f.slice {
		if v.IsNil() {
			if f.makes {
				v.Set(reflect.MakeSlice(v.Type(), 0, 0))
			}
			return
		}
		if f.elem != nil {
			for i := range v.Len() {
				f.elem.fill(v.Index(i))
			}
		}
		return
	}
	for _, field := range f.fields {
		if at := v.Field(field.index); !field.omits || !at.IsZero() {
			field.filler.fill(at)
		}
	}
}

package op

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Truth is yes, no, or not known. In JSON it is true or false; a field of this type carries omitzero, so that
// what is not known is absent.
type Truth uint8

// The truths. The zero Truth is Unknown.
const (
	Unknown Truth = iota
	No
	Yes
)

// Schema is a boolean.
func (Truth) Schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

// MarshalJSON writes true or false, and null for [Unknown].
func (t Truth) MarshalJSON() ([]byte, error) {
	switch t {
	case Yes:
		return []byte("true"), nil
	case No:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Truth) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*t = Yes
	case "false":
		*t = No
	case "null":
		*t = Unknown
	default:
		return fmt.Errorf("not true or false")
	}
	return nil
}

// A Count is a number of things from 0 upwards, or not known: 0 name servers and an unknown number of them differ.
// In JSON it is the number; a field of this type carries omitzero, so that what is not known is absent.
// The zero Count is not known. A signed number, such as the days to a date that may have passed, is an [Integer].
type Count struct {
	n    int
	held bool
}

// CountOf is a known number.
func CountOf(n int) Count { return Count{n, true} }

// Value is the number and whether it is known.
func (c Count) Value() (n int, known bool) { return c.n, c.held }

// Schema is an integer from 0 upwards.
func (Count) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: new(0.0)}
}

// MarshalJSON writes the number, and null when it is not known.
func (c Count) MarshalJSON() ([]byte, error) {
	if !c.held {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(c.n), 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Count) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*c = Count{}
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("not a whole number: %w", err)
	}
	if n < 0 {
		return fmt.Errorf("below 0")
	}
	*c = CountOf(n)
	return nil
}

// An Integer is a whole number, or not known. In JSON it is the number; a field of this type carries omitzero, so
// that what is not known is absent. The zero Integer is not known.
type Integer struct {
	n    int
	held bool
}

// IntegerOf is a known number.
func IntegerOf(n int) Integer { return Integer{n, true} }

// Value is the number and whether it is known.
func (i Integer) Value() (n int, known bool) { return i.n, i.held }

// Schema is an integer.
func (Integer) Schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} }

// MarshalJSON writes the number, and null when it is not known.
func (i Integer) MarshalJSON() ([]byte, error) { return Count(i).MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Integer) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*i = Integer{}
		return nil
	}
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return fmt.Errorf("not a whole number: %w", err)
	}
	*i = IntegerOf(n)
	return nil
}

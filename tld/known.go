package tld

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Answer is yes, no, or not known. In JSON it is true or false; a field of this type carries omitzero, so that
// what is not known is absent.
type Answer uint8

// The answers. The zero Answer is Unknown.
const (
	Unknown Answer = iota
	No
	Yes
)

// Schema is a boolean.
func (Answer) Schema() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }

// MarshalJSON writes true or false, and null for [Unknown].
func (a Answer) MarshalJSON() ([]byte, error) {
	switch a {
	case Yes:
		return []byte("true"), nil
	case No:
		return []byte("false"), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Answer) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*a = Yes
	case "false":
		*a = No
	case "null":
		*a = Unknown
	default:
		return fmt.Errorf("not true or false")
	}
	return nil
}

// A Count is a number of things from 0 upwards, or not known: no name servers and nobody-knows-how-many differ.
// In JSON it is the number; a field of this type carries omitzero, so that what is not known is absent.
// The zero Count is not known.
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
	return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}
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

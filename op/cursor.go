package op

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Cursor is an opaque position in a list, bound to what the list is of: its filters, its order, whose it is.
type Cursor string

const maxCursor = 1024

// Schema is a bounded text.
func (Cursor) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(1), MaxLength: new(maxCursor)}
}

// A NextCursor is the [Cursor] of the next page, or null at the end of the list.
type NextCursor string

// Schema is a text or null.
func (NextCursor) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "null"}}
}

// MarshalJSON writes null for an empty cursor.
func (c NextCursor) MarshalJSON() ([]byte, error) {
	if c == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(c))
}

package op

import "github.com/google/jsonschema-go/jsonschema"

// Bounds of the bodies that hold an input. Every operation takes the lesser, and none more than the greater.
const (
	minBody = 4 << 10
	MaxBody = 1 << 20
)

// What a value may take that its schema does not bound.
const (
	anyText   = 253 // characters
	anyNumber = 24  // digits, a sign, a point, an exponent
	anyObject = 8 << 10
)

// maxBody is how long a request body may be that holds an input of the schema: the least power of two that has room for
// every field at its greatest. What is left of it, at least half where the bound is the lesser one, is for white space
// and escapes.
func maxBody(in *jsonschema.Schema) int64 {
	limit, need := int64(minBody), longest(in)
	for limit < need && limit < MaxBody {
		limit *= 2
	}
	return limit
}

// longest is how many bytes a value of the schema takes as compact JSON without escapes, up to MaxBody.
func longest(s *jsonschema.Schema) int64 {
	if s == nil {
		return anyObject
	}
	var n int64
	switch s.Type {
	case "object":
		if len(s.Properties) == 0 && s.AdditionalProperties == nil {
			return anyObject
		}
		n = 2
		for name, p := range s.Properties {
			n += int64(len(name)) + 4 + longest(p) // quotes, colon and comma
		}
	case "array":
		if s.MaxItems == nil {
			return MaxBody
		}
		n = 2 + int64(*s.MaxItems)*(longest(s.Items)+1)
	case "string":
		n = 2 + longestText(s)
	case "boolean":
		n = int64(len("false"))
	case "integer", "number":
		n = anyNumber
	default:
		n = anyObject
	}
	return min(n, MaxBody)
}

func longestText(s *jsonschema.Schema) (n int64) {
	for _, e := range s.Enum {
		if text, ok := e.(string); ok {
			n = max(n, int64(len(text)))
		}
	}
	switch {
	case n > 0:
		return n
	case s.MaxLength != nil:
		return int64(*s.MaxLength)
	}
	return anyText
}

package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
)

// A checker checks raw JSON against an input schema. Its errors say in plain words what to correct. It is stricter
// than JSON Schema, because encoding/json, which decodes afterwards, is laxer: it refuses repeated keys, keys in
// another case, null, NUL characters, invalid UTF-8, and numbers that are not written as plain digits where an
// integer is asked for.
type checker struct {
	kind      string // object, array, string, integer, number, boolean; empty: anything
	fields    map[string]*checker
	order     []string // field names in the order of the type
	required  []string
	open      bool // fields that are not named are allowed
	items     *checker
	minItems  int
	maxItems  int // -1: no bound
	minLength int // in characters
	maxLength int // -1: no bound
	pattern   *regexp.Regexp
	enum      []string // of strings
	min, max  float64
	doc       string // what the field is, for the error of a missing one
}

// Limits of every input, whatever its schema says.
const (
	maxDepth  = 32
	maxFaults = 8 // fields named in one error
)

// compile makes a checker of a schema and refuses keywords that it would not check.
func compile(s *jsonschema.Schema) (*checker, error) {
	if s.AnyOf != nil || s.OneOf != nil || s.AllOf != nil || s.Not != nil || s.Ref != "" || s.Const != nil ||
		s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil || s.PatternProperties != nil || s.UniqueItems {
		return nil, errors.New("the schema uses a keyword that is not checked on input")
	}
	c := &checker{
		kind: s.Type, doc: s.Description, order: s.PropertyOrder, required: s.Required,
		maxItems: -1, maxLength: -1, min: math.Inf(-1), max: math.Inf(1),
	}
	if s.Type == "object" {
		c.open = s.AdditionalProperties == nil
		c.fields = make(map[string]*checker, len(s.Properties))
		for name, p := range s.Properties {
			below, err := compile(p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.fields[name] = below
		}
	}
	if s.Items != nil {
		below, err := compile(s.Items)
		if err != nil {
			return nil, err
		}
		c.items = below
	}
	for _, e := range s.Enum {
		text, ok := e.(string)
		if !ok {
			return nil, errors.New("an enumeration of other things than strings is not checked on input")
		}
		c.enum = append(c.enum, text)
	}
	set(&c.minItems, s.MinItems)
	set(&c.maxItems, s.MaxItems)
	set(&c.minLength, s.MinLength)
	set(&c.maxLength, s.MaxLength)
	set(&c.min, s.Minimum)
	set(&c.max, s.Maximum)
	if s.Pattern != "" {
		pattern, err := regexp.Compile(s.Pattern)
		if err != nil {
			return nil, err
		}
		c.pattern = pattern
	}
	return c, nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// check returns nil or a *fault.Error that names up to maxFaults fields.
func (c *checker) check(raw []byte) error {
	if !utf8.Valid(raw) {
		return fault.New(fault.Validation, "the input is not valid UTF-8").WithHint("send JSON encoded as UTF-8")
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return fault.New(fault.Validation, "the input is empty").WithHint("send a JSON object")
	}
	if !json.Valid(raw) {
		return malformed(raw)
	}
	w := walk{raw: raw}
	if !w.value(c, 0) {
		return errTooDeep()
	}
	if len(w.faults) == 0 {
		return nil
	}
	first := w.faults[0]
	detail := first.Reason
	if first.Field != "" {
		detail = first.Field + " " + first.Reason
	}
	f := fault.New(fault.Validation, "%s", detail)
	if first.Field != "" {
		f.Fields = w.faults
	}
	return f
}

func errTooDeep() error {
	return fault.New(fault.Validation, "the JSON is nested deeper than %d levels", maxDepth)
}

// malformed says what is wrong with an input that is not one JSON value.
func malformed(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // the size of a number is no syntax error
	for depth, begun := 0, false; depth > 0 || !begun; begun = true {
		if depth > maxDepth && dec.More() {
			return errTooDeep()
		}
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return fault.New(fault.Validation, "the JSON ends too early, at byte %d", dec.InputOffset())
		case err != nil:
			return fault.New(fault.Validation, "the input is not valid JSON near byte %d", dec.InputOffset())
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return fault.New(fault.Validation, "the input has more after its JSON value").WithHint("send one JSON object")
}

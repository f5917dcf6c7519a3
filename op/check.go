package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
)

// A checker holds raw JSON against an input schema and tells a caller in plain words what to mend. It is stricter
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
	doc       string // what the field is, for whoever left it out
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
	c := &checker{kind: s.Type, doc: s.Description, order: s.PropertyOrder, required: s.Required,
		maxItems: -1, maxLength: -1, min: math.Inf(-1), max: math.Inf(1)}
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
	w := walk{dec: json.NewDecoder(bytes.NewReader(raw))}
	w.dec.UseNumber()
	if err := w.value(c, "", 0); err != nil {
		return malformed(err, w.dec.InputOffset())
	}
	if _, err := w.dec.Token(); !errors.Is(err, io.EOF) {
		return fault.New(fault.Validation, "the input has more after its JSON value").WithHint("send one JSON object")
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

func malformed(err error, at int64) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fault.New(fault.Validation, "the JSON ends too early, at byte %d", at)
	}
	return fault.New(fault.Validation, "the input is not valid JSON near byte %d", at)
}

// walk is one pass over the tokens of an input.
type walk struct {
	dec    *json.Decoder
	faults []fault.Field
}

func (w *walk) fault(path, reason string, args ...any) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, fault.Field{Field: path, Reason: fmt.Sprintf(reason, args...)})
	}
}

func (w *walk) value(c *checker, path string, depth int) error {
	if depth > maxDepth {
		return fault.New(fault.Validation, "the JSON is nested deeper than %d levels", maxDepth)
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			return w.object(c, path, depth)
		}
		return w.array(c, path, depth)
	case string:
		w.text(c, path, v)
	case json.Number:
		w.number(c, path, v)
	case bool:
		w.kind(c, path, "boolean", "a boolean")
	case nil:
		switch {
		case c == nil || c.kind == "":
		case path == "":
			w.fault(path, "the input must be a JSON object, not null")
		default:
			w.fault(path, "must not be null; leave it out instead")
		}
	}
	return nil
}

var article = map[string]string{"object": "an object", "array": "an array", "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}

func (w *walk) kind(c *checker, path, got, gotArticle string) bool {
	if c == nil || c.kind == "" || c.kind == got || c.kind == "number" && got == "integer" {
		return true
	}
	if path == "" {
		w.fault(path, "the input must be a JSON object, not %s", gotArticle)
	} else {
		w.fault(path, "must be %s, not %s", article[c.kind], gotArticle)
	}
	return false
}

func (w *walk) object(c *checker, path string, depth int) error {
	fits := w.kind(c, path, "object", "an object")
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		at := join(path, key)
		if seen[key] {
			w.fault(at, "is given twice")
		}
		seen[key] = true
		var below *checker
		if fits && c != nil {
			below = c.fields[key]
			if below == nil && !c.open && c.kind == "object" {
				w.fault(at, "is not a known field%s", c.meant(key))
			}
		}
		if err := w.value(below, at, depth+1); err != nil {
			return err
		}
	}
	if _, err := w.dec.Token(); err != nil {
		return err
	}
	if fits && c != nil {
		for _, name := range c.required {
			if !seen[name] {
				w.fault(join(path, name), "is required%s", c.fields[name].explained())
			}
		}
	}
	return nil
}

func (c *checker) explained() string {
	if c.doc == "" {
		return ""
	}
	return ": " + c.doc
}

// meant suggests the field that was probably meant, or lists the fields there are.
func (c *checker) meant(key string) string {
	for _, name := range c.order {
		if strings.EqualFold(name, key) || strings.EqualFold(strings.ReplaceAll(name, "_", ""), strings.ReplaceAll(strings.ReplaceAll(key, "_", ""), "-", "")) {
			return "; did you mean " + name + "?"
		}
	}
	if len(c.order) == 0 {
		return "; no fields are taken here"
	}
	return "; known are " + strings.Join(c.order, ", ")
}

func (w *walk) array(c *checker, path string, depth int) error {
	fits := w.kind(c, path, "array", "an array")
	n := 0
	for ; w.dec.More(); n++ {
		var below *checker
		if fits && c != nil {
			below = c.items
		}
		if err := w.value(below, path+"["+strconv.Itoa(n)+"]", depth+1); err != nil {
			return err
		}
	}
	if _, err := w.dec.Token(); err != nil {
		return err
	}
	if !fits || c == nil {
		return nil
	}
	switch {
	case n < c.minItems:
		w.fault(path, "must have at least %s", items(c.minItems))
	case c.maxItems >= 0 && n > c.maxItems:
		w.fault(path, "must have at most %s, not %d", items(c.maxItems), n)
	}
	return nil
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return strconv.Itoa(n) + " items"
}

func (w *walk) text(c *checker, path, s string) {
	if !w.kind(c, path, "string", "a string") {
		return
	}
	if strings.ContainsRune(s, 0) {
		w.fault(path, "holds a NUL character")
		return
	}
	if c == nil || c.kind != "string" {
		return
	}
	n := utf8.RuneCountInString(s)
	switch {
	case len(c.enum) > 0 && !slices.Contains(c.enum, s):
		w.fault(path, "must be one of %s", strings.Join(c.enum, ", "))
	case n < c.minLength && n == 0:
		w.fault(path, "must not be empty%s", c.explained())
	case n < c.minLength:
		w.fault(path, "must have at least %d characters", c.minLength)
	case c.maxLength >= 0 && n > c.maxLength:
		w.fault(path, "must have at most %d characters", c.maxLength)
	case c.pattern != nil && !c.pattern.MatchString(s):
		w.fault(path, "has the wrong form%s", c.explained())
	}
}

func (w *walk) number(c *checker, path string, n json.Number) {
	plain := strings.Trim(strings.TrimPrefix(n.String(), "-"), "0123456789") == ""
	got := "number"
	if plain {
		got = "integer"
	}
	if c != nil && c.kind == "integer" && !plain {
		w.fault(path, "must be an integer in plain digits")
		return
	}
	if !w.kind(c, path, got, "a number") || c == nil || c.kind != "integer" && c.kind != "number" {
		return
	}
	v, err := n.Float64()
	if _, tooLong := strconv.ParseInt(n.String(), 10, 64); err != nil || c.kind == "integer" && tooLong != nil {
		w.fault(path, "is out of range")
		return
	}
	switch {
	case v < c.min && c.max < math.Inf(1), v > c.max && c.min > math.Inf(-1):
		w.fault(path, "must be between %s and %s", number(c.min), number(c.max))
	case v < c.min:
		w.fault(path, "must be at least %s", number(c.min))
	case v > c.max:
		w.fault(path, "must be at most %s", number(c.max))
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func join(path, key string) string {
	if path == "" {
		return shown(key)
	}
	return path + "." + shown(key)
}

// shown is a key as far as it may be shown: keys are the caller's bytes, so they are cut and cleaned.
func shown(key string) string {
	key = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, key)
	if runes := []rune(key); len(runes) > 40 {
		key = string(runes[:40]) + "…"
	}
	return key
}

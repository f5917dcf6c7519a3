package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
)

// walk is one pass over an input that is known to be valid JSON in UTF-8. It stops where a value begins or ends, and
// allocates only the faults that it finds.
type walk struct {
	raw    []byte
	at     int
	steps  [maxDepth + 1]step // to where the walk is
	faults []fault.Field
}

// A step is a field or an item of a value.
type step struct {
	key   []byte // of a field; nil for an item
	index int
}

// place is the path of the value at that depth as a caller would write it: operations[0].params; the input itself is "".
func (w *walk) place(depth int) string {
	var b strings.Builder
	for _, s := range w.steps[:depth] {
		if s.key == nil {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(shownKey(string(s.key)))
	}
	return b.String()
}

// shownKey is a key of the caller as it may be shown in an answer.
func shownKey(key string) string {
	const most = 40
	short := Printable(key, most)
	if clean := Printable(key, len(key)); len(clean) > len(short) {
		return short + "…"
	}
	return short
}

// Printable is a text of the caller as an answer may repeat it: without control and formatting characters (Unicode Cc and
// Cf), on which a terminal or a page would act, and cut to a number of characters.
func Printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	return text
}

func (w *walk) fault(depth int, reason string, args ...any) {
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, fault.Field{Field: w.place(depth), Reason: fmt.Sprintf(reason, args...)})
	}
}

// value walks over one value and is false where the input is nested too deep. A nil checker takes anything.
func (w *walk) value(c *checker, depth int) (fine bool) {
	if depth > maxDepth {
		return false
	}
	switch w.peek() {
	case '{':
		return w.object(c, depth)
	case '[':
		return w.array(c, depth)
	case '"':
		w.text(c, depth, w.str())
	case 't', 'f':
		w.word()
		w.kind(c, depth, "boolean", "a boolean")
	case 'n':
		w.word()
		switch {
		case c == nil || c.kind == "":
		case depth == 0:
			w.fault(depth, "the input must be a JSON object, not null")
		default:
			w.fault(depth, "must not be null; leave it out instead")
		}
	default:
		w.number(c, depth, string(w.word()))
	}
	return true
}

// peek is the next byte that is not white space.
func (w *walk) peek() byte {
	for {
		switch b := w.raw[w.at]; b {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return b
		}
	}
}

// more passes a comma, if there is one, and reports whether an item or a field follows; else it passes what closes.
func (w *walk) more() bool {
	switch w.peek() {
	case ',':
		w.at++
		w.peek()
	case ']', '}':
		w.at++
		return false
	}
	return true
}

// word passes a number, true, false or null.
func (w *walk) word() []byte {
	from := w.at
	for w.at < len(w.raw) {
		switch w.raw[w.at] {
		case ' ', '\t', '\n', '\r', ',', ']', '}':
			return w.raw[from:w.at]
		}
		w.at++
	}
	return w.raw[from:]
}

// str passes a string and returns what it says.
func (w *walk) str() []byte {
	from, escaped := w.at, false
	for w.at++; w.raw[w.at] != '"'; w.at++ {
		if w.raw[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	if !escaped {
		return w.raw[from+1 : w.at-1]
	}
	var s string
	_ = json.Unmarshal(w.raw[from:w.at], &s) // a valid string always decodes
	return []byte(s)
}

var article = map[string]string{"object": "an object", "array": "an array", "string": "a string", "integer": "an integer", "number": "a number", "boolean": "true or false"}

func (w *walk) kind(c *checker, depth int, got, gotArticle string) bool {
	if c == nil || c.kind == "" || c.kind == got || c.kind == "number" && got == "integer" {
		return true
	}
	if depth == 0 {
		w.fault(depth, "the input must be a JSON object, not %s", gotArticle)
	} else {
		w.fault(depth, "must be %s, not %s", article[c.kind], gotArticle)
	}
	return false
}

// keys are those of one object.
type keys struct {
	few  [16][]byte
	n    int
	many map[string]bool // takes over where few is full
}

// add reports whether the key is there already.
func (k *keys) add(key []byte) (twice bool) {
	switch {
	case k.has(key):
		return true
	case k.n < len(k.few):
		k.few[k.n] = key
		k.n++
	case k.many == nil:
		k.many = map[string]bool{string(key): true}
	default:
		k.many[string(key)] = true
	}
	return false
}

func (k *keys) has(key []byte) bool {
	for _, one := range k.few[:k.n] {
		if bytes.Equal(one, key) {
			return true
		}
	}
	return k.many[string(key)]
}

func (w *walk) object(c *checker, depth int) (fine bool) {
	fits := w.kind(c, depth, "object", "an object")
	var seen keys
	at := &w.steps[depth]
	w.at++
	for w.more() {
		at.key = w.str()
		w.peek()
		w.at++ // the colon
		if seen.add(at.key) {
			w.fault(depth+1, "is given twice")
		}
		var below *checker
		if fits && c != nil {
			below = c.fields[string(at.key)]
			if below == nil && !c.open && c.kind == "object" {
				w.fault(depth+1, "is not a known field%s", c.meant(string(at.key)))
			}
		}
		if !w.value(below, depth+1) {
			return false
		}
	}
	if fits && c != nil {
		for _, name := range c.required {
			if at.key = []byte(name); !seen.has(at.key) {
				w.fault(depth+1, "is required%s", c.fields[name].explained())
			}
		}
	}
	return true
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

func (w *walk) array(c *checker, depth int) (fine bool) {
	fits := w.kind(c, depth, "array", "an array")
	var below *checker
	if fits && c != nil {
		below = c.items
	}
	at := &w.steps[depth]
	*at = step{}
	w.at++
	for ; w.more(); at.index++ {
		if !w.value(below, depth+1) {
			return false
		}
	}
	n := at.index
	if !fits || c == nil {
		return true
	}
	switch {
	case n < c.minItems:
		w.fault(depth, "must have at least %s", items(c.minItems))
	case c.maxItems >= 0 && n > c.maxItems:
		w.fault(depth, "must have at most %s, not %d", items(c.maxItems), n)
	}
	return true
}

func items(n int) string {
	if n == 1 {
		return "1 item"
	}
	return strconv.Itoa(n) + " items"
}

func (w *walk) text(c *checker, depth int, s []byte) {
	if !w.kind(c, depth, "string", "a string") {
		return
	}
	if bytes.IndexByte(s, 0) >= 0 {
		w.fault(depth, "holds a NUL character")
		return
	}
	if c == nil || c.kind != "string" {
		return
	}
	n := utf8.RuneCount(s)
	switch {
	case len(c.enum) > 0 && !slices.ContainsFunc(c.enum, func(e string) bool { return e == string(s) }):
		w.fault(depth, "must be one of %s", strings.Join(c.enum, ", "))
	case n < c.minLength && n == 0:
		w.fault(depth, "must not be empty%s", c.explained())
	case n < c.minLength:
		w.fault(depth, "must have at least %d characters", c.minLength)
	case c.maxLength >= 0 && n > c.maxLength:
		w.fault(depth, "must have at most %d characters", c.maxLength)
	case c.pattern != nil && !c.pattern.Match(s):
		w.fault(depth, "has the wrong form%s", c.explained())
	}
}

func (w *walk) number(c *checker, depth int, n string) {
	plain := strings.Trim(strings.TrimPrefix(n, "-"), "0123456789") == ""
	got := "number"
	if plain {
		got = "integer"
	}
	if c != nil && c.kind == "integer" && !plain {
		w.fault(depth, "must be an integer in plain digits")
		return
	}
	if !w.kind(c, depth, got, "a number") || c == nil || c.kind != "integer" && c.kind != "number" {
		return
	}
	v, err := strconv.ParseFloat(n, 64)
	if _, tooLong := strconv.ParseInt(n, 10, 64); err != nil || c.kind == "integer" && tooLong != nil {
		w.fault(depth, "is out of range")
		return
	}
	switch {
	case v < c.min && c.max < math.Inf(1), v > c.max && c.min > math.Inf(-1):
		w.fault(depth, "must be between %s and %s", number(c.min), number(c.max))
	case v < c.min:
		w.fault(depth, "must be at least %s", number(c.min))
	case v > c.max:
		w.fault(depth, "must be at most %s", number(c.max))
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

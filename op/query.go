package op

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fault"
)

// Bind writes query parameters and path values as the JSON object that [Op.Begin] takes. A parameter's type is that
// of its field: lists may be repeated or comma-separated, everything else is given once. Errors are
// [fault.Validation] and name the parameter.
func (o *Op) Bind(query url.Values, path map[string]string) ([]byte, error) {
	object := make(map[string]any, len(query)+len(path))
	for name, value := range path {
		object[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(query)) { // so that of several mistakes the same one is named each time
		values, field := query[name], o.check.fields[name]
		if _, taken := path[name]; taken {
			return nil, fault.Invalid(name, "is given twice: in the path and in the query")
		}
		if name == "" {
			return nil, fault.Invalid("query", "has a parameter without a name")
		}
		if field == nil {
			return nil, fault.Invalid(shownKey(name), "is not a known parameter%s", o.check.meant(name))
		}
		if field.kind == "array" {
			list := []any{}
			for _, v := range values {
				for item := range strings.SplitSeq(v, ",") {
					list = append(list, field.items.bind(item))
				}
			}
			object[name] = list
			continue
		}
		if len(values) > 1 {
			return nil, fault.Invalid(name, "is given twice")
		}
		object[name] = field.bind(values[0])
	}
	return json.Marshal(object)
}

// bind turns the text of a parameter into what its field asks for; what does not fit stays text, for the check to
// refuse in the same words as in a body.
func (c *checker) bind(text string) any {
	switch c.kind {
	case "integer":
		digits := strings.TrimPrefix(text, "-")
		if digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0') {
			return json.Number(text)
		}
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}

// Merge adds path values to a JSON object from a body. A value that the body holds too is refused.
func (o *Op) Merge(body []byte, path map[string]string) ([]byte, error) {
	if len(path) == 0 {
		return body, nil
	}
	trimmed := strings.TrimSpace(string(body))
	if !strings.HasPrefix(trimmed, "{") {
		return body, nil // the check says what is wrong with it
	}
	names := make([]string, 0, len(path))
	for name := range path {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(name)
		value, err := json.Marshal(path[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	rest := strings.TrimSpace(trimmed[1:])
	if !strings.HasPrefix(rest, "}") {
		b.WriteByte(',')
	}
	b.WriteString(rest)
	return []byte(b.String()), nil // the check refuses a key that is in both, and is now given twice
}

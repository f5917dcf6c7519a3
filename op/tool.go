package op

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// ToolIn is the schema of the input as a tool: In, with the defaults that hold there alone. It must not be changed.
func (o *Op) ToolIn() *jsonschema.Schema {
	if len(o.toolDefaults) == 0 {
		return o.In
	}
	in := o.In.CloneSchemas()
	for name, value := range o.toolDefaults {
		in.Properties[name].Default = value
	}
	return in
}

// ToolInput is the raw input of a tool call with the defaults that hold there alone, to be given to [Op.Begin]. Input
// that is no JSON object is left as it is, for the check to say so.
func (o *Op) ToolInput(raw []byte) []byte {
	if len(o.toolDefaults) == 0 {
		return raw
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil || given == nil {
		return raw
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range slices.Sorted(maps.Keys(o.toolDefaults)) {
		if _, ok := given[name]; !ok {
			fmt.Fprintf(&b, "%q:%s,", name, o.toolDefaults[name])
		}
	}
	if len(given) == 0 && b.Len() > 1 {
		b.Truncate(b.Len() - 1) // the last comma
	}
	rest := bytes.TrimLeft(raw, " \t\r\n")
	b.Write(rest[1:])
	return b.Bytes()
}

// readToolDefaults holds the defaults against the schema of the input.
func readToolDefaults(defaults Object, in *jsonschema.Schema) (map[string]json.RawMessage, error) {
	if len(defaults) == 0 {
		return nil, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(defaults, &all); err != nil {
		return nil, fmt.Errorf("ToolDefaults: %w", err)
	}
	for name := range all {
		if in.Properties[name] == nil || slices.Contains(in.Required, name) {
			return nil, fmt.Errorf("ToolDefaults: %s is not an optional field of the input", name)
		}
	}
	return all, nil
}

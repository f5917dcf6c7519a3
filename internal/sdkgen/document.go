package sdkgen

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A document is what is read of an OpenAPI 3.1 document. Members keep their order, and so do the fields of what is
// generated.
type document struct {
	Paths      ordered[map[string]json.RawMessage] `json:"paths"`
	Components struct {
		Schemas ordered[*Schema] `json:"schemas"`
	} `json:"components"`
}

// An endpoint is an operation of the document.
type endpoint struct {
	ID          string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Parameters  []parameter           `json:"parameters"`
	RequestBody payload               `json:"requestBody"`
	Responses   map[string]payload    `json:"responses"`
	Security    []map[string][]string `json:"security"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Required    bool    `json:"required"`
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

type payload struct {
	Content map[string]struct {
		Schema *Schema `json:"schema"`
	} `json:"content"`
}

// A Schema is a JSON Schema, as far as types are generated from it.
type Schema struct {
	Ref         string           `json:"$ref"`
	Type        oneOrMore        `json:"type"`
	Description string           `json:"description"`
	Enum        []any            `json:"enum"`
	Const       any              `json:"const"`
	Properties  ordered[*Schema] `json:"properties"`
	Required    []string         `json:"required"`
	Items       *Schema          `json:"items"`
	Additional  additional       `json:"additionalProperties"`
	OneOf       []*Schema        `json:"oneOf"`
	AnyOf       []*Schema        `json:"anyOf"`
	AllOf       []*Schema        `json:"allOf"`
}

// oneOrMore is a type, or several as in ["string", "null"].
type oneOrMore []string

func (t *oneOrMore) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	var one string
	err := json.Unmarshal(text, &one)
	*t = oneOrMore{one}
	return err
}

// additional is the schema of further members, if there may be any that have one.
type additional struct{ *Schema }

func (a *additional) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '{' {
		return json.Unmarshal(text, &a.Schema)
	}
	return nil
}

// ordered is an object whose members keep their order.
type ordered[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

func (o *ordered[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return fmt.Errorf("want an object, got %v, %v", token, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		m := member[T]{Name: name.(string)}
		if err := d.Decode(&m.Value); err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		*o = append(*o, m)
	}
	return nil
}

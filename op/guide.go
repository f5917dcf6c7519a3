package op

import "context"

// A Guide describes a set as a whole. Transports show it beside the operations.
type Guide struct {
	Summary      string // what the operations are about, in one sentence
	Instructions string // for models: what the texts of single operations cannot say; at most 120 words
	Access       string // what a token changes where none is needed, in one sentence

	// Scopes are those of access tokens. The first is the one that a caller is asked for where an answer depends on the
	// caller and no scope is needed.
	Scopes []Scope

	Featured string   // the operation whose example is shown first; empty: none
	Prompts  []Prompt // tasks that a person picks from a menu
}

// A Scope is what an access token may allow.
type Scope struct{ Name, Doc string }

// A Prompt is a task for a model. It is offered where its operations are.
type Prompt struct {
	Name, Title, Doc string
	Operations       []string
	Arguments        []Argument
	Text             func(arguments map[string]string) string
}

// An Argument is a value that a person gives to a [Prompt]. A list is completed value by value, separated by commas.
type Argument struct {
	Name, Doc string
	Required  bool
}

// A Resource is a JSON document that is the same for all callers.
type Resource struct {
	URI              string // one that ends in {name} is a template (RFC 6570): one document for each value
	Name, Title, Doc string

	// Read returns the document, of a template that of the value. A value that is malformed is [fault.Validation], one that
	// is unknown [fault.NotFound].
	Read func(ctx context.Context, value string) ([]byte, error)
}

// Describe sets the guide of the set. It must not be called once requests are served.
func (s *Set) Describe(g Guide) { s.guide = g }

// Guide is what [Set.Describe] was given.
func (s *Set) Guide() *Guide { return &s.guide }

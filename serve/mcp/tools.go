package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// newTool describes an operation as a tool. The value is built by hand: mcp.NewTool sets a schema of its own beside a
// raw one, which then fails to encode, and takes every tool for destructive by default. bare leaves the output schema out.
func newTool(o *op.Op, bare bool) (mcp.Tool, error) {
	in, err := json.Marshal(o.ToolIn())
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("schema of the input of %s: %w", o.Name, err)
	}
	tool := mcp.Tool{
		Name: o.Name, Title: o.Title, Description: o.Doc, RawInputSchema: in,
		Annotations: mcp.ToolAnnotation{
			Title:           o.Title,
			ReadOnlyHint:    new(o.Effect == op.Reads),
			DestructiveHint: new(o.Effect == op.Writes),
			IdempotentHint:  new(o.Effect != op.Writes),
			OpenWorldHint:   new(o.Limit == op.Lookup), // asks other services
		},
	}
	if bare {
		return tool, nil
	}
	if tool.RawOutputSchema, err = outputSchema(o); err != nil {
		return mcp.Tool{}, fmt.Errorf("schema of the output of %s: %w", o.Name, err)
	}
	return tool, nil
}

// outputSchema is the schema of an answer as far as a client validates it. Descriptions stay in the API's reference,
// because every byte here is a byte less of a model's context. It is left open, so that a client which caches a list for
// an hour accepts a field that was added meanwhile.
func outputSchema(o *op.Op) ([]byte, error) {
	schema := o.Out.CloneSchemas()
	slim(schema, 0)
	return json.Marshal(schema)
}

// slim also writes a list of types as alternatives, because some clients take a schema with such a list for broken. What
// is required is said of the answer and of the elements of its lists, which are level 1, not of what is within them.
func slim(s *jsonschema.Schema, level int) {
	if s == nil {
		return
	}
	s.Description, s.Default, s.Format = "", nil, ""
	if level > 1 {
		s.Required = nil
	}
	for _, kind := range s.Types {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: kind})
	}
	s.Types = nil
	if extra := s.AdditionalProperties; extra != nil && extra.Not != nil {
		s.AdditionalProperties = nil
	}
	slim(s.AdditionalProperties, level)
	slim(s.Items, level)
	for _, p := range s.Properties {
		slim(p, level+1)
	}
}

// handle returns what mcp-go calls for tools/call. It never returns an error.
func (s *Server) handle(o *op.Op) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		via := carrierFrom(ctx)
		answer, err := call(ctx, via, o, &request.Params)
		if err == nil {
			answer = s.wording.answer(answer)
			return via.result(answer.JSON, o.Text(answer)), nil
		}
		f := s.wording.failure(via.expose(err))
		switch f.Code {
		case fault.AuthenticationRequired, fault.InsufficientScope, fault.InvalidToken:
			if !via.refuse(f) && s.cfg.SignIn != "" {
				f = f.WithHint("to sign in, %s", s.cfg.SignIn)
			}
		}
		return failed(f, via.requestID()), nil
	}
}

func call(ctx context.Context, via carrier, o *op.Op, params *mcp.CallToolParams) (op.Answer, error) {
	raw := []byte(params.RawArguments)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		raw = []byte("{}")
	}
	if token := progressToken(params.Meta); token != nil {
		ctx = op.WithEmitter(ctx, progress(via, token))
	}
	ctx, err := via.identify(ctx)
	if err != nil {
		return op.Answer{}, err
	}
	c, err := o.Begin(ctx, o.ToolInput(raw))
	if err != nil {
		if over := via.charge(o.Refused()); over != nil {
			return op.Answer{}, over
		}
		return op.Answer{}, err
	}
	if err := via.charge(c.Charges); err != nil {
		return op.Answer{}, err
	}
	answer, err := c.Run(ctx)
	if err == nil {
		via.settle(c.Charges, answer.Unused)
	}
	return answer, err
}

// progressToken is the token under which a client wants to hear of progress: a string or a number; nil for none.
func progressToken(meta *mcp.Meta) any {
	if meta == nil {
		return nil
	}
	switch token := meta.ProgressToken.(type) {
	case string, float64:
		return token
	}
	return nil
}

type progressParams struct {
	Token    any `json:"progressToken"`
	Progress int `json:"progress"`
	Total    int `json:"total,omitempty"`
}

// progress reports events as notifications whose progress grows each time, as the protocol asks; events may come out
// of order.
func progress(via carrier, token any) func(op.Event) {
	var mu sync.Mutex
	reached := 0
	return func(e op.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Done > reached {
			reached = e.Done
			via.notify(string(mcp.MethodNotificationProgress), progressParams{token, e.Done, e.Total})
		}
	}
}

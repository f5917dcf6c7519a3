package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
)

// maxArgument bounds an argument of a prompt, in characters.
const maxArgument = 500

// addPrompts offers the prompts whose operations are all offered as tools.
func (s *Server) addPrompts() {
	for _, p := range s.cfg.Set.Guide().Prompts {
		missing := func(tool string) bool { return s.tools[tool] == nil }
		if slices.ContainsFunc(p.Operations, missing) {
			continue
		}
		arguments := make([]mcp.PromptArgument, len(p.Arguments))
		for i, a := range p.Arguments {
			arguments[i] = mcp.PromptArgument{Name: a.Name, Description: a.Doc, Required: a.Required}
		}
		s.rpc.AddPrompt(mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Doc, Arguments: arguments},
			func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				if err := checkArguments(&p, request.Params.Arguments); err != nil {
					return nil, &handlerError{err, nil}
				}
				text := mcp.TextContent{Type: mcp.ContentTypeText, Text: p.Text(request.Params.Arguments)}
				return &mcp.GetPromptResult{Description: p.Doc, Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: text}}}, nil
			})
	}
}

func checkArguments(p *op.Prompt, arguments map[string]string) error {
	for name, value := range arguments {
		known := func(a op.Argument) bool { return a.Name == name }
		switch {
		case !slices.ContainsFunc(p.Arguments, known):
			return fault.New(fault.Validation, "the prompt %s has no such argument", p.Name)
		case utf8.RuneCountInString(value) > maxArgument:
			return fault.Invalid(name, "must have at most %d characters", maxArgument)
		}
	}
	for _, a := range p.Arguments {
		if a.Required && strings.TrimSpace(arguments[a.Name]) == "" {
			return fault.Invalid(a.Name, fmt.Sprintf("is required: %s", a.Doc))
		}
	}
	return nil
}

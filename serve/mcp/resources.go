package mcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/op"
)

// Resources are the documents that an assistant may read beside calling tools.
type Resources interface {
	// Resources lists the documents.
	Resources() []op.Resource
	// Complete returns at most limit values of an argument, of a resource template or of a prompt, that begin with prefix, and
	// how many there are altogether. It returns none for an argument that it does not know.
	Complete(argument, prefix string, limit int) (values []string, total int)
}

const typeJSON = "application/json"

func (s *Server) addResources() {
	for _, r := range s.cfg.Resources.Resources() {
		prefix, _, template := strings.Cut(r.URI, "{")
		read := read(func(ctx context.Context, uri string) ([]byte, error) {
			value := strings.TrimPrefix(uri, prefix)
			if unescaped, err := url.PathUnescape(value); err == nil {
				value = unescaped
			}
			return r.Read(ctx, value)
		})
		if template {
			s.rpc.AddResourceTemplate(mcp.NewResourceTemplate(r.URI, r.Name,
				mcp.WithTemplateTitle(r.Title), mcp.WithTemplateDescription(r.Doc), mcp.WithTemplateMIMEType(typeJSON),
			), server.ResourceTemplateHandlerFunc(read))
			continue
		}
		s.rpc.AddResource(mcp.Resource{URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Doc, MIMEType: typeJSON}, read)
	}
}

func read(load func(ctx context.Context, uri string) ([]byte, error)) server.ResourceHandlerFunc {
	return func(ctx context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		uri := request.Params.URI
		body, err := load(ctx, uri)
		if err != nil {
			return nil, &handlerError{err, map[string]string{"uri": uri}}
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: typeJSON, Text: string(body)}}, nil
	}
}

// completer completes the arguments of resource templates and of prompts.
type completer struct{ from Resources }

// maxCompletions is the most that the protocol lets an answer hold.
const maxCompletions = 100

// CompleteResourceArgument completes the argument of a resource template.
func (c completer) CompleteResourceArgument(_ context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if c.from != nil && strings.HasSuffix(uri, "{"+argument.Name+"}") {
		for _, r := range c.from.Resources() {
			if r.URI == uri {
				return c.complete(argument.Name, "", argument.Value), nil
			}
		}
	}
	return &mcp.Completion{Values: []string{}}, nil
}

// CompletePromptArgument completes the last value of a comma-separated list.
func (c completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	last := strings.LastIndexByte(argument.Value, ',') + 1
	last += len(argument.Value[last:]) - len(strings.TrimLeft(argument.Value[last:], " "))
	return c.complete(argument.Name, argument.Value[:last], argument.Value[last:]), nil
}

func (c completer) complete(argument, before, prefix string) *mcp.Completion {
	if c.from == nil {
		return &mcp.Completion{Values: []string{}}
	}
	found, total := c.from.Complete(argument, prefix, maxCompletions)
	values := make([]string, len(found))
	for i, value := range found {
		values[i] = before + value
	}
	return &mcp.Completion{Values: values, Total: total, HasMore: total > len(values)}
}

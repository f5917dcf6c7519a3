package mcp

import (
	"context"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Resources is what an assistant may read beside calling tools: JSON documents that are the same for everybody.
type Resources interface {
	// Catalogue lists the operations with their schemas.
	Catalogue(ctx context.Context) ([]byte, error)
	// EPPStatus explains the status codes of registrations.
	EPPStatus(ctx context.Context) ([]byte, error)
	// TLD is what a suffix asks of a registrant and how it works. A suffix that is malformed is
	// [fault.Validation], one that is unknown [fault.NotFound].
	TLD(ctx context.Context, tld string) ([]byte, error)
	// CompleteTLD returns at most limit suffixes that begin with prefix, the most used ones first, and how many
	// there are altogether.
	CompleteTLD(prefix string, limit int) (suffixes []string, total int)
}

// The URIs of the resources.
const (
	uriCatalogue = "domains://catalogue"
	uriEPPStatus = "domains://glossary/epp-status"
	uriTLDs      = "domains://tlds/"
)

const typeJSON = "application/json"

func (s *Server) addResources() {
	from := s.cfg.Resources
	s.rpc.AddResource(mcp.Resource{
		URI: uriCatalogue, Name: "catalogue", Title: "Catalogue of operations", MIMEType: typeJSON,
		Description: "Every operation that a batch may hold, with the JSON Schemas of its parameters and its result.",
	}, read(func(ctx context.Context, _ string) ([]byte, error) { return from.Catalogue(ctx) }))
	s.rpc.AddResource(mcp.Resource{
		URI: uriEPPStatus, Name: "epp-status", Title: "Registration status codes", MIMEType: typeJSON,
		Description: "What the EPP status codes in a WHOIS answer mean, such as clientTransferProhibited.",
	}, read(func(ctx context.Context, _ string) ([]byte, error) { return from.EPPStatus(ctx) }))
	s.rpc.AddResourceTemplate(mcp.NewResourceTemplate(uriTLDs+"{tld}", "tld",
		mcp.WithTemplateTitle("Rules of a suffix"),
		mcp.WithTemplateDescription("What a domain suffix asks of a registrant: terms, eligibility, name servers, life cycle."),
		mcp.WithTemplateMIMEType(typeJSON),
	), server.ResourceTemplateHandlerFunc(read(func(ctx context.Context, uri string) ([]byte, error) {
		suffix := strings.TrimPrefix(uri, uriTLDs)
		if unescaped, err := url.PathUnescape(suffix); err == nil {
			suffix = unescaped
		}
		return from.TLD(ctx, suffix)
	})))
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

// completer completes suffixes in the resource template and in the arguments of prompts.
type completer struct{ from Resources }

// maxCompletions is the most that the protocol lets an answer hold.
const maxCompletions = 100

// CompleteResourceArgument completes the suffix of domains://tlds/{tld}.
func (c completer) CompleteResourceArgument(_ context.Context, uri string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if uri != uriTLDs+"{tld}" || argument.Name != "tld" {
		return &mcp.Completion{Values: []string{}}, nil
	}
	return c.complete("", argument.Value), nil
}

// CompletePromptArgument completes the last suffix of a comma-separated list.
func (c completer) CompletePromptArgument(_ context.Context, _ string, argument mcp.CompleteArgument, _ mcp.CompleteContext) (*mcp.Completion, error) {
	if argument.Name != argumentTLDs {
		return &mcp.Completion{Values: []string{}}, nil
	}
	last := strings.LastIndexByte(argument.Value, ',') + 1
	last += len(argument.Value[last:]) - len(strings.TrimLeft(argument.Value[last:], " "))
	return c.complete(argument.Value[:last], argument.Value[last:]), nil
}

func (c completer) complete(before, prefix string) *mcp.Completion {
	if c.from == nil {
		return &mcp.Completion{Values: []string{}}
	}
	suffixes, total := c.from.CompleteTLD(strings.ToLower(strings.TrimPrefix(prefix, ".")), maxCompletions)
	values := make([]string, len(suffixes))
	for i, suffix := range suffixes {
		values[i] = before + suffix
	}
	return &mcp.Completion{Values: values, Total: total, HasMore: total > len(values)}
}

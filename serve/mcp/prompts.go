package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/namewharf/namewharf/fault"
)

// A prompt is a task that a person picks from a menu. It is offered where its tools are.
type prompt struct {
	name, title, doc string
	tools            []string
	arguments        []mcp.PromptArgument
	text             func(arguments map[string]string) string
}

const argumentTLDs = "tlds"

// maxArgument bounds an argument of a prompt, in characters.
const maxArgument = 500

var prompts = []prompt{
	{
		name: "find_a_domain", title: "Find a domain", tools: []string{"search_domain", "check_domains"},
		doc: "Suggest names for an idea, and keep those that are free or for sale.",
		arguments: []mcp.PromptArgument{
			{Name: "idea", Description: "what the name is for, e.g. a coffee shop in Berlin", Required: true},
			{Name: argumentTLDs, Description: "suffixes to look at, e.g. com, io; leave out for the usual ones"},
		},
		text: func(a map[string]string) string {
			return "Find a domain name for this: " + a["idea"] + ".\n" +
				"Think of twenty short names that are easy to say and spell. Check them all in one call of check_domains" +
				among(a[argumentTLDs]) + "; use search_domain for the best three, to see their other suffixes and what is for sale.\n" +
				"Answer with at most five that are available or for sale: the name, why it fits, and what it costs. " +
				"Say so where a price is masked or a status is not certain."
		},
	},
	{
		name: "vet_domain", title: "Vet a domain", tools: []string{"search_domain", "whois_lookup"},
		doc:       "Look into a domain before buying it or trusting it.",
		arguments: []mcp.PromptArgument{{Name: "domain", Description: "the domain, e.g. example.com", Required: true}},
		text: func(a map[string]string) string {
			return "Vet the domain " + a["domain"] + ".\n" +
				"Call whois_lookup and search_domain for it. Report whether it is registered, since when and until when, by which " +
				"registrar, what its status codes mean for a transfer, whether it is signed with DNSSEC, and whether it is for sale here.\n" +
				"End with what speaks for it, what speaks against it, and what could not be found out."
		},
	},
	{
		name: "compare_tlds", title: "Compare suffixes", tools: []string{"tld_registration_price", "tld_metadata"},
		doc:       "Compare domain suffixes by price and by what they ask of a registrant.",
		arguments: []mcp.PromptArgument{{Name: argumentTLDs, Description: "the suffixes, e.g. com, de, io", Required: true}},
		text: func(a map[string]string) string {
			return "Compare these domain suffixes: " + a[argumentTLDs] + ".\n" +
				"For each, get the prices to register, renew, transfer and restore with tld_registration_price, and its rules with tld_metadata.\n" +
				"Answer with a table: first year, renewal, terms, who may register, what name servers it needs, how it is transferred. " +
				"Leave a cell empty where a fact is not known, and say which suffix suits whom."
		},
	},
}

func among(tlds string) string {
	if tlds == "" {
		return ""
	}
	return " under " + tlds
}

func (s *Server) addPrompts() {
	for _, p := range prompts {
		missing := func(tool string) bool { return s.tools[tool] == nil }
		if slices.ContainsFunc(p.tools, missing) {
			continue
		}
		s.rpc.AddPrompt(mcp.Prompt{Name: p.name, Title: p.title, Description: p.doc, Arguments: p.arguments},
			func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				if err := p.check(request.Params.Arguments); err != nil {
					return nil, &handlerError{err, nil}
				}
				text := mcp.TextContent{Type: mcp.ContentTypeText, Text: p.text(request.Params.Arguments)}
				return &mcp.GetPromptResult{Description: p.doc, Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: text}}}, nil
			})
	}
}

func (p *prompt) check(arguments map[string]string) error {
	for name, value := range arguments {
		known := func(a mcp.PromptArgument) bool { return a.Name == name }
		switch {
		case !slices.ContainsFunc(p.arguments, known):
			return fault.New(fault.Validation, "the prompt %s has no such argument", p.name)
		case utf8.RuneCountInString(value) > maxArgument:
			return fault.Invalid(name, "must have at most %d characters", maxArgument)
		}
	}
	for _, a := range p.arguments {
		if a.Required && strings.TrimSpace(arguments[a.Name]) == "" {
			return fault.Invalid(a.Name, fmt.Sprintf("is required: %s", a.Description))
		}
	}
	return nil
}

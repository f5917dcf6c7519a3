package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func addDocuments(s *server.MCPServer) {
	addResource(s, mcp.TextResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	addResource(s, mcp.BlobResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: png})
	addResource(s, mcp.TextResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "Watched resource content"})
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, request mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(request.Params.URI, "test://template/"), "/data")
			body := fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: request.Params.URI, MIMEType: "application/json", Text: body}}, nil
		})
	addPrompt(s, "test_simple_prompt", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{text("This is a simple prompt for testing.")}
	})
	addPrompt(s, "test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{text(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	addPrompt(s, "test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []mcp.Content {
		return []mcp.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above.")}
	})
	addPrompt(s, "test_prompt_with_image", nil, func(map[string]string) []mcp.Content {
		return []mcp.Content{mcp.NewImageContent(png, "image/png"), text("Please analyze the image above.")}
	})
}

func addResource(s *server.MCPServer, contents mcp.ResourceContents) {
	var r mcp.Resource
	switch c := contents.(type) {
	case mcp.TextResourceContents:
		r = mcp.Resource{URI: c.URI, MIMEType: c.MIMEType}
	case mcp.BlobResourceContents:
		r = mcp.Resource{URI: c.URI, MIMEType: c.MIMEType}
	}
	r.Name = strings.TrimPrefix(r.URI, "test://")
	s.AddResource(r, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{contents}, nil
	})
}

func addPrompt(s *server.MCPServer, name string, arguments []string, content func(map[string]string) []mcp.Content) {
	p := mcp.Prompt{Name: name, Description: "A fixture of the conformance suite."}
	for _, argument := range arguments {
		p.Arguments = append(p.Arguments, mcp.PromptArgument{Name: argument, Description: "A test argument.", Required: true})
	}
	s.AddPrompt(p, func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var messages []mcp.PromptMessage
		for _, c := range content(request.Params.Arguments) {
			messages = append(messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
		}
		return &mcp.GetPromptResult{Messages: messages}, nil
	})
}

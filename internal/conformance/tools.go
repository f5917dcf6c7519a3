package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A pixel and a moment of silence.
const (
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// pause lets mcp-go deliver a notification before whatever comes next; the product has a way that needs none.
const pause = 50 * time.Millisecond

var noArguments = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// schema2020 holds the keywords that a server must hand on as they are.
var schema2020 = json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},
"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`)

func text(s string) mcp.Content { return mcp.TextContent{Type: mcp.ContentTypeText, Text: s} }

func result(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func embedded(uri, kind, body string) mcp.Content {
	return mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: uri, MIMEType: kind, Text: body})
}

// always returns a handler that always gives the same result.
func always(r *mcp.CallToolResult) server.ToolHandlerFunc {
	return func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) { return r, nil }
}

func addTool(s *server.MCPServer, name string, handler server.ToolHandlerFunc) {
	s.AddTool(mcp.Tool{Name: name, Description: "A fixture of the conformance suite.", RawInputSchema: noArguments}, handler)
}

func addTools(s *server.MCPServer) {
	failure := result(text("This tool intentionally returns an error for testing"))
	failure.IsError = true
	for name, r := range map[string]*mcp.CallToolResult{
		"test_simple_text":       result(text("This is a simple text response for testing.")),
		"test_image_content":     result(mcp.NewImageContent(png, "image/png")),
		"test_audio_content":     result(mcp.NewAudioContent(wav, "audio/wav")),
		"test_embedded_resource": result(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
		"test_multiple_content_types": result(text("Multiple content types test:"), mcp.NewImageContent(png, "image/png"),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)),
		"test_error_handling":      failure,
		"json_schema_2020_12_tool": result(text("ok")),
	} {
		addTool(s, name, always(r))
	}
	s.AddTool(mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema with many keywords.", RawInputSchema: schema2020},
		always(result(text("ok"))))
	s.AddTool(mcp.Tool{Name: "test_custom_headers", Description: "Has an argument that travels in a header too (SEP-2243).", RawInputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}`)}, always(result(text("ok"))))
	addTool(s, "test_tool_with_logging", logging(s))
	addTool(s, "test_logging_tool", logging(s))
	addTool(s, "test_tool_with_progress", progress(s))
	addTool(s, "test_missing_capability", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil && info.ClientCapabilities.Sampling != nil {
			return result(text("The client can sample.")), nil
		}
		return nil, mcp.MissingRequiredClientCapabilityError{Capability: "sampling"}
	})
	change := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		addTool(s, "test_added_later", always(result(text("ok"))))
		s.DeleteTools("test_added_later")
		return result(text("The tools have changed.")), nil
	}
	addTool(s, "test_trigger_tool_change", change)
	addTool(s, "test_trigger_prompt_change", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddPrompt(mcp.Prompt{Name: "test_added_later"}, nil)
		s.DeletePrompts("test_added_later")
		return result(text("The prompts have changed.")), nil
	})
}

// logging sends three messages, in the protocol of 2026-07-28 only to a request that asks for them.
func logging(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		info := server.RequestProtocolInfoFromContext(ctx)
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			if info == nil || !info.Modern || info.LogLevel != "" {
				if err := s.SendNotificationToClient(ctx, string(mcp.MethodNotificationMessage), map[string]any{"level": "info", "data": line}); err != nil {
					return nil, err
				}
			}
			time.Sleep(pause)
		}
		return result(text("Tool with logging executed successfully")), nil
	}
}

func progress(s *server.MCPServer) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, done := range []int{0, 50, 100} {
			if meta := request.Params.Meta; meta != nil && meta.ProgressToken != nil {
				if err := s.SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), map[string]any{
					"progressToken": meta.ProgressToken, "progress": done, "total": 100,
				}); err != nil {
					return nil, err
				}
			}
			time.Sleep(pause)
		}
		return result(text("Tool with progress executed successfully")), nil
	}
}

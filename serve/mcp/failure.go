package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
)

// failed is a result that tells a model how to mend its call: first what to do, then the other fields at fault, the
// code, and when to try again. It has no structured content, which would have to fit the output schema.
func failed(f *fault.Error, requestID string) *mcp.CallToolResult {
	var b strings.Builder
	b.WriteString(f.Message())
	for _, field := range f.Fields[min(1, len(f.Fields)):] {
		b.WriteString("\n" + field.Field + " " + field.Reason)
	}
	b.WriteString("\ncode: " + string(f.Code))
	if wait := f.RetrySeconds(); wait > 0 {
		b.WriteString("\nretry after: " + strconv.Itoa(wait) + " s")
	}
	if f.Code == fault.Internal && requestID != "" {
		b.WriteString("\nrequest id: " + requestID)
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: b.String()}},
		IsError: true,
	}
}

// A handlerError is why a resource or a prompt cannot be had, with what the answer says about it beside the reason.
type handlerError struct {
	error
	data any
}

func (e *handlerError) Unwrap() error { return e.error }

// Hooks returns the hooks that give the errors of a server of mcp-go the codes and the data that the protocol has for
// them. By itself mcp-go answers every error of a handler with -32603. They work behind a [Guard] and on stdio.
func Hooks() *server.Hooks {
	hooks := &server.Hooks{}
	hooks.AddOnError(func(ctx context.Context, _ any, method mcp.MCPMethod, message any, err error) {
		via := carrierFrom(ctx)
		if via == nil {
			return
		}
		var ours *handlerError
		var missing mcp.MissingRequiredClientCapabilityError
		var unreadable *server.UnparsableMessageError
		switch {
		case errors.As(err, &ours):
			f := via.expose(ours.error)
			via.fail(responseError{errorCode(ctx, method, f.Code), f.Message(), ours.data})
		case errors.As(err, &unreadable): // whose text is that of encoding/json, with the names of Go types
			via.fail(responseError{Code: mcp.INVALID_REQUEST, Message: misshapen(err)})
		case errors.Is(err, server.ErrResourceNotFound):
			failure := responseError{Code: errorCode(ctx, method, fault.NotFound), Message: "there is no such resource"}
			if request, ok := message.(*mcp.ReadResourceRequest); ok {
				failure.Data = map[string]string{"uri": request.Params.URI}
			}
			via.fail(failure)
		case errors.As(err, &missing):
			via.fail(responseError{
				mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, missing.Error(),
				map[string]any{"requiredCapabilities": map[string]any{missing.Capability: struct{}{}}},
			})
		}
	})
	return hooks
}

// misshapen says which member of a message has a form that the protocol does not give it.
func misshapen(err error) string {
	const hint = "; send the message in the form that the protocol gives it"
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "the message cannot be read" + hint
	}
	var members []string
	for member := range strings.SplitSeq(wrong.Field, ".") {
		if member != "" && (member[0] == '_' || 'a' <= member[0] && member[0] <= 'z') { // else the name of an embedded type
			members = append(members, member)
		}
	}
	if len(members) == 0 {
		return "a member of the message is of the wrong type" + hint
	}
	return strings.Join(members, ".") + " is of the wrong type" + hint
}

// errorCode is the JSON-RPC code of a failure. The protocol of 2026-07-28 changed that of a resource that does not exist.
func errorCode(ctx context.Context, method mcp.MCPMethod, code fault.Code) int {
	switch {
	case code != fault.NotFound && code != fault.Validation:
		return mcp.INTERNAL_ERROR
	case method == mcp.MethodResourcesRead && !server.IsModernRequest(ctx):
		return mcp.RESOURCE_NOT_FOUND
	}
	return mcp.INVALID_PARAMS
}

package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addRounds adds the tools that ask the client for something before they answer. For protocols before 2026-07-28
// mcp-go turns what they ask into requests of the server.
func addRounds(s *server.MCPServer) {
	rounds(s, "test_elicitation", func(a answers) *server.InputRequestBuilder {
		return ask().Elicit("user", a.message(form(`{"username":{"type":"string"},"email":{"type":"string"}}`, "username", "email")))
	}, "user")
	rounds(s, "test_elicitation_sep1034_defaults", func(answers) *server.InputRequestBuilder {
		return ask().Elicit("form", form(`{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
			"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
			"verified":{"type":"boolean","default":true}}`))
	}, "form")
	rounds(s, "test_elicitation_sep1330_enums", func(answers) *server.InputRequestBuilder {
		return ask().Elicit("form", form(`{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
			"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"}]},
			"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["Option One","Option Two"]},
			"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
			"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"}]}}}`))
	}, "form")
	rounds(s, "test_sampling", func(a answers) *server.InputRequestBuilder {
		return ask().Sample("reply", sample(a.argument("prompt")))
	}, "reply")
	name := form(`{"name":{"type":"string"}}`, "name")
	rounds(s, "test_input_required_result_elicitation", func(answers) *server.InputRequestBuilder { return ask().Elicit("user_name", name) }, "user_name")
	rounds(s, "test_streaming_elicitation", func(answers) *server.InputRequestBuilder { return ask().Elicit("user_name", name) }, "user_name")
	rounds(s, "test_input_required_result_sampling", func(answers) *server.InputRequestBuilder {
		return ask().Sample("capital_question", sample("What is the capital of France?"))
	}, "capital_question")
	rounds(s, "test_input_required_result_list_roots", func(answers) *server.InputRequestBuilder { return ask().Roots("client_roots") }, "client_roots")
	rounds(s, "test_input_required_result_multiple_inputs", func(answers) *server.InputRequestBuilder {
		return ask().Elicit("user_name", name).Sample("greeting", sample("Generate a greeting")).Roots("client_roots").RequestState("state")
	}, "user_name", "greeting", "client_roots")
	rounds(s, "test_input_required_result_request_state", func(answers) *server.InputRequestBuilder {
		return ask().Elicit("confirm", form(`{"ok":{"type":"boolean"}}`, "ok")).RequestState("state")
	}, "confirm")
	rounds(s, "test_input_required_result_capabilities", func(a answers) *server.InputRequestBuilder {
		b := ask()
		if a.can.Elicitation != nil {
			b.Elicit("user_name", name)
		}
		if a.can.Sampling != nil {
			b.Sample("greeting", sample("Generate a greeting"))
		}
		return b
	}, "greeting")
	addTool(s, "test_input_required_result_multi_round", multiRound)
	addTool(s, "test_input_required_result_tampered_state", tamperProof())
	s.AddPrompt(mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it answers."},
		func(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			said := server.ElicitationResponse(request.Params.InputResponses, "user_context")
			if said == nil {
				return ask().Elicit("user_context", form(`{"context":{"type":"string"}}`, "context")).PromptResult(), nil
			}
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: text(fmt.Sprint("Context: ", said.Content))}}}, nil
		})
}

func ask() *server.InputRequestBuilder { return server.NewInputRequestBuilder("") }

func form(properties string, required ...string) mcp.ElicitationParams {
	schema := map[string]any{"type": "object", "properties": json.RawMessage(properties)}
	if len(required) > 0 {
		schema["required"] = required
	}
	return mcp.ElicitationParams{Message: "Please answer.", RequestedSchema: schema}
}

func sample(prompt string) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: text(prompt)}}, MaxTokens: 100}
}

// answers is what a call brings along.
type answers struct {
	request mcp.CallToolRequest
	can     mcp.ClientCapabilities
}

func (a answers) argument(name string) string { return a.request.GetString(name, "") }

func (a answers) message(p mcp.ElicitationParams) mcp.ElicitationParams {
	p.Message = a.argument("message")
	return p
}

// rounds adds a tool that asks, and answers once everything that it waits for is there.
func rounds(s *server.MCPServer, name string, question func(answers) *server.InputRequestBuilder, awaited ...string) {
	handler := func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a := answers{request: request}
		if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
			a.can = *info.ClientCapabilities
		}
		var said []string
		for _, id := range awaited {
			answer, ok := server.InputResponse(request.Params.InputResponses, id)
			if !ok {
				return question(a).ToolResult(), nil
			}
			raw, err := json.Marshal(answer)
			if err != nil || raw[0] != '{' || len(raw) == len("{}") {
				return question(a).ToolResult(), nil
			}
			said = append(said, string(raw))
		}
		return result(text("The client said: " + strings.Join(said, ", "))), nil
	}
	s.AddTool(mcp.Tool{Name: name, Description: "Asks before it answers.", RawInputSchema: json.RawMessage(
		`{"type":"object","properties":{"message":{"type":"string"},"prompt":{"type":"string"}}}`)}, handler)
}

func multiRound(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	given := request.Params.InputResponses
	switch {
	case server.ElicitationResponse(given, "step2") != nil:
		return result(text("Both steps are done.")), nil
	case server.ElicitationResponse(given, "step1") != nil:
		return ask().Elicit("step2", form(`{"color":{"type":"string"}}`, "color")).RequestState("after step 1").ToolResult(), nil
	}
	return ask().Elicit("step1", form(`{"name":{"type":"string"}}`, "name")).RequestState("at the start").ToolResult(), nil
}

// tamperProof returns a handler that takes no state but the one it gave out.
func tamperProof() server.ToolHandlerFunc {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("state"))
	state := hex.EncodeToString(mac.Sum(nil))
	return func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		given := request.Params.RequestState
		switch {
		case given == "":
			return ask().Elicit("confirm", form(`{"ok":{"type":"boolean"}}`, "ok")).RequestState(state).ToolResult(), nil
		case !hmac.Equal([]byte(given), []byte(state)):
			return nil, errors.New("the request state is not ours")
		}
		return result(text("The state is ours.")), nil
	}
}

package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// A message is what must be known of a JSON-RPC message before mcp-go sees it. It is read with the package, and into
// the names, that mcp-go uses, so that the two never take one message for different things.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method mcp.MCPMethod   `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// parse reads a message as far as it can be read; what is wrong with it is mcp-go's to say.
func parse(raw []byte) message {
	var m message
	_ = json.Unmarshal(raw, &m) // a member of another type leaves the rest readable
	if bytes.Equal(m.ID, []byte("null")) {
		m.ID = nil
	}
	return m
}

// asks reports whether the message wants an answer.
func (m *message) asks() bool { return m.ID != nil && m.Method != "" }

// cancels reports whether the message takes back a request.
func (m *message) cancels() bool { return m.Method == mcp.MethodNotificationCancelled && !m.asks() }

// isBatch reports whether raw is an array of messages. Only the protocol of 2025-03-26 had batches, and mcp-go does
// not take them.
func isBatch(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '['
}

// A response is a JSON-RPC message of ours: an error, or a notification.
type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Error   *responseError  `json:"error,omitempty"`
}

type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func newNotification(method string, params any) response {
	return response{JSONRPC: mcp.JSONRPC_VERSION, Method: method, Params: params}
}

// newFailure is the error for the request of that id, which may be unknown.
func newFailure(id json.RawMessage, failure responseError) response {
	if id == nil {
		id = json.RawMessage("null")
	}
	return response{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &failure}
}

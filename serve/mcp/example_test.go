package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
)

func ExampleServer_Handler() {
	const base = "https://names.example"
	log := slog.New(slog.DiscardHandler)
	server, err := mcp.New(mcp.Config{
		Set: operations(), Version: "1.0.0", ReadOnly: true, Logger: log,
		Middleware: middleware.New(middleware.Config{BaseURL: base, Tokens: middleware.NoTokens, Logger: log}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler(base+"/mcp", false))
	mux.Handle("/mcp/signed-in", server.Handler(base+"/mcp/signed-in", true))

	r := httptest.NewRequest("POST", base+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_domain","arguments":{"q":"acme","require_real_prices":true}}}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get("WWW-Authenticate"))
	// Output:
	// 401 Bearer resource_metadata="https://names.example/.well-known/oauth-protected-resource/mcp", scope="pricing:read"
}

func ExampleServer_Stdio() {
	server, err := mcp.New(mcp.Config{Set: operations(), Version: "1.0.0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"check_domains","arguments":{"to":3}}}`)
	var out bytes.Buffer
	if err := server.Stdio(context.Background(), in, &out); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out.String())
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"done\":3}"}],"structuredContent":{"done":3}}}
}

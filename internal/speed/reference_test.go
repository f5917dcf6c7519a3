package speed_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/tools"
)

// control is what a plain handler does for the same answer, which the file holds: route, decode, find it in an LRU,
// encode, log.
func control(_ context.Context, _, file string, log *slog.Logger) (http.Handler, func() error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	var answer tools.SearchOut
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, nil, err
	}
	known, err := lru.New[string, tools.SearchOut](1024)
	if err != nil {
		return nil, nil, err
	}
	known.Add(answer.Query, answer)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/domain/search", func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		var in tools.SearchIn
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, ok := known.Get(string(in.Q))
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
		log.Info("request", "method", r.Method, "path", r.URL.Path, "status", http.StatusOK, "elapsed", time.Since(begun))
	})
	return mux, nothing, nil
}

// bare only writes the bytes of the file.
func bare(_ context.Context, _, file string, _ *slog.Logger) (http.Handler, func() error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}), nothing, nil
}

// bareMCP is mcp-go alone with a tool that answers with that many bytes of text.
func bareMCP(_ context.Context, _, size string, _ *slog.Logger) (http.Handler, func() error, error) {
	n, err := strconv.Atoi(size)
	if err != nil {
		return nil, nil, err
	}
	text := strings.Repeat("x", n)
	s := server.NewMCPServer("namewharf", "1")
	s.AddTool(mcp.NewTool("search_domain", mcp.WithString("q")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(text), nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true)), nothing, nil
}

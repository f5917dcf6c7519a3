// Command conformance serves what the MCP conformance suite asks a server for, its fixture tools, prompts and
// resources, behind the HTTP stack of this project. It is for tests alone; the script run beside it shows how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/middleware"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends. It says where on stdout.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("conformance", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	base := "http://" + listener.Addr().String()
	guard := mcp.NewGuard(middleware.New(middleware.Config{
		BaseURL: base, Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler),
	}), nil, nil)
	guard.Sessions = true // the suite wants requests of the server to the client, which the product never makes
	stream := server.NewStreamableHTTPServer(fixture(), server.WithStateful(true))
	mux := http.NewServeMux()
	mux.Handle("/mcp", guard.Handler(stream, base+"/mcp", false))
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	if _, err := fmt.Fprintln(stdout, "listening on", base); err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	err = web.Close()
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func fixture() *server.MCPServer {
	s := server.NewMCPServer("conformance", "1.0.0",
		server.WithToolCapabilities(true), server.WithPromptCapabilities(true), server.WithResourceCapabilities(true, false),
		server.WithHooks(mcp.Hooks()), server.WithCompletions(), server.WithLogging(), server.WithElicitation(),
		server.WithCacheHints(time.Hour.Milliseconds(), mcpgo.CacheScopePublic),
	)
	s.EnableSampling()
	addTools(s)
	addRounds(s)
	addDocuments(s)
	return s
}

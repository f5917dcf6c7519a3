// Package mcp serves operations over MCP, the Model Context Protocol: as tools for AI assistants, over streamable
// HTTP and over stdio, in the stateless protocol of 2026-07-28 and in the older ones side by side.
//
// Names, descriptions, schemas and annotations of the tools come from the operations; nothing is described twice. The
// protocol itself is mcp-go's. [Guard] adds what mcp-go does not have.
package mcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

// Config is what a server is made of. Set, Version and Logger are required; Middleware is needed for [Server.Handler].
type Config struct {
	Set       *op.Set
	Resources Resources // nil: no resources and no completion
	Apps      []App     // pages for hosts that show answers; each tool has one at most
	Icons     []Icon    // of the server, for the lists of clients
	Version   string

	Tools    []string // the tools to offer, by name; none named: all
	Exclude  []string // tools not to offer
	ReadOnly bool     // leave out every tool that changes something

	NoOutputSchemas bool // leave the schemas of answers out of the list of tools, which is half as long then

	Middleware     *middleware.Stack // nil where only stdio is served
	AllowedOrigins []string          // pages that may call besides our own and loopback ones, as scheme://host[:port]
	AllowedHosts   []string          // names besides our own and loopback ones that the Host header may hold, as host[:port]

	Caller func(context.Context) (op.Caller, error) // who asks on stdio, found out for each call; nil: anonymous
	SignIn string                                   // how a person signs in on stdio, as the rest of a sentence: "to sign in, …"; may be empty

	Logger *slog.Logger
}

// A Server answers MCP requests. It is safe for concurrent use and has no state between requests.
type Server struct {
	cfg     Config
	tools   map[string]*op.Op
	wording wording
	rpc     *server.MCPServer
	stream  *server.StreamableHTTPServer
	guard   *Guard
}

// listsLast is how long a client may cache a list or a resource: they change with a release or a day's data.
const listsLast = time.Hour

// New returns a server for the tools of the set that the configuration leaves. A name in Tools or Exclude that is no
// tool is an error.
func New(cfg Config) (*Server, error) {
	offered, err := cfg.offered()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, tools: make(map[string]*op.Op, len(offered))}
	completion, guide := completer{cfg.Resources}, cfg.Set.Guide()
	s.rpc = server.NewMCPServer("namewharf", cfg.Version,
		server.WithTitle("Namewharf"),
		server.WithDescription(guide.Summary),
		server.WithInstructions(guide.Instructions),
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithCacheHints(listsLast.Milliseconds(), mcp.CacheScopePublic),
		server.WithHooks(Hooks()),
		server.WithCompletions(),
		server.WithExtensions(cfg.extensions()),
		server.WithIcons(cfg.icons()...),
		server.WithPromptCompletionProvider(completion),
		server.WithResourceCompletionProvider(completion),
	)
	for _, o := range offered {
		tool, err := newTool(o, cfg.NoOutputSchemas)
		if err != nil {
			return nil, err
		}
		tool.Meta = cfg.appMeta(o.Name)
		s.tools[o.Name] = o
		s.rpc.AddTool(tool, s.handle(o))
	}
	s.wording = newWording(cfg.Set, s.tools)
	s.addPrompts()
	if cfg.Resources != nil {
		s.addResources()
	}
	s.addApps()
	if cfg.Middleware != nil {
		s.stream = server.NewStreamableHTTPServer(s.rpc, server.WithStateLess(true),
			server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))) // it logs clients that hang up
		s.guard = NewGuard(cfg.Middleware, cfg.AllowedOrigins, cfg.AllowedHosts)
	}
	return s, nil
}

// Handler serves MCP over HTTP as the protected resource of that URL. signedIn turns every request without a token
// away with a challenge, so that a client signs in from the start. It panics without a Middleware.
func (s *Server) Handler(resource string, signedIn bool) http.Handler {
	if s.guard == nil {
		panic("mcp: a Handler needs a Middleware")
	}
	return s.guard.handler(s.stream, s.tools, resource, signedIn)
}

// An Icon is an image that a client may show beside the name of the server.
type Icon struct {
	Type string // its media type
	Size string // such as 64x64, or any
	Body []byte
}

// icons are the icons as data URLs, which are the same over HTTP and stdio.
func (cfg *Config) icons() []mcp.Icon {
	icons := make([]mcp.Icon, len(cfg.Icons))
	for i, icon := range cfg.Icons {
		src := "data:" + icon.Type + ";base64," + base64.StdEncoding.EncodeToString(icon.Body)
		icons[i] = mcp.Icon{Src: src, MIMEType: icon.Type, Sizes: []string{icon.Size}}
	}
	return icons
}

// offered returns the operations that become tools, in the order of the set.
func (cfg *Config) offered() ([]*op.Op, error) {
	var names []string
	for _, o := range cfg.Set.All() {
		if o.Tool {
			names = append(names, o.Name)
		}
	}
	for _, name := range slices.Concat(cfg.Tools, cfg.Exclude) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	var offered []*op.Op
	for _, name := range names {
		o := cfg.Set.Named(name)
		named := len(cfg.Tools) == 0 || slices.Contains(cfg.Tools, name)
		if named && !slices.Contains(cfg.Exclude, name) && (o.Effect == op.Reads || !cfg.ReadOnly) {
			offered = append(offered, o)
		}
	}
	if len(offered) == 0 {
		return nil, fmt.Errorf("no tool is left; there are %s", strings.Join(names, ", "))
	}
	return offered, nil
}

// A carrier is the connection of a request, over HTTP or stdio, as its handler sees it.
type carrier interface {
	// result returns what mcp-go is to answer a call with, and sees to it that the client gets the JSON and the text.
	result(json []byte, text string) *mcp.CallToolResult
	// identify adds the caller to ctx, where there is none yet.
	identify(ctx context.Context) (context.Context, error)
	// charge draws what a call costs.
	charge(charges []op.Charge) error
	// settle gives back what of the charges a call did not use.
	settle(charges, unused []op.Charge)
	// expose returns what the caller may see of err, and logs it if it is ours.
	expose(err error) *fault.Error
	// refuse answers with the HTTP status and the challenge of f. It reports false where there is no HTTP, or where a
	// part of the answer is on its way already.
	refuse(f *fault.Error) bool
	// fail answers with a JSON-RPC error.
	fail(responseError)
	// notify sends a notification ahead of the answer.
	notify(method string, params any)
	// requestID is the id that leads to a request in the log; may be empty.
	requestID() string
}

type carrierKey struct{}

func withCarrier(ctx context.Context, c carrier) context.Context {
	return context.WithValue(ctx, carrierKey{}, c)
}

// carrierFrom returns nil outside of our HTTP stack and our stdio.
func carrierFrom(ctx context.Context) carrier {
	c, _ := ctx.Value(carrierKey{}).(carrier)
	return c
}

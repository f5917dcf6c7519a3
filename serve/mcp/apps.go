package mcp

import (
	"context"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// An App is a page that a host shows instead of an answer's text (MCP Apps, SEP-1865). Hosts without the extension ignore it.
type App struct {
	URI              string // ui://…
	Name, Title, Doc string
	HTML             string   // self-contained: it loads nothing
	Tools            []string // whose answers it shows; those that are not offered are left out
}

// The extension, and the media type of its pages.
const (
	appExtension = "io.modelcontextprotocol/ui"
	appType      = "text/html;profile=mcp-app"
)

// appMeta is what a tool says of the page for its answers; nil where there is none.
func (cfg *Config) appMeta(tool string) *mcp.Meta {
	for _, a := range cfg.Apps {
		if slices.Contains(a.Tools, tool) {
			return &mcp.Meta{AdditionalFields: map[string]any{"ui": map[string]any{"resourceUri": a.URI}}}
		}
	}
	return nil
}

// appPage is what a page asks of the host: a border around it, and a content security policy that names no origin, neither
// to load from nor to connect to.
var appPage = map[string]any{"ui": map[string]any{"csp": struct{}{}, "prefersBorder": true}}

// extensions are the extensions of the protocol that the server offers.
func (cfg *Config) extensions() map[string]any {
	if len(cfg.Apps) == 0 {
		return nil
	}
	return map[string]any{appExtension: map[string]any{"mimeTypes": []string{appType}}}
}

// addApps lists the pages as resources, which anybody may read.
func (s *Server) addApps() {
	for _, a := range s.cfg.Apps {
		contents := mcp.TextResourceContents{URI: a.URI, MIMEType: appType, Text: a.HTML, Meta: appPage}
		size := int64(len(a.HTML))
		s.rpc.AddResource(mcp.Resource{
			URI: a.URI, Name: a.Name, Title: a.Title, Description: a.Doc, MIMEType: appType, Size: &size,
			Meta: &mcp.Meta{AdditionalFields: appPage},
		}, func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{contents}, nil
		})
	}
}

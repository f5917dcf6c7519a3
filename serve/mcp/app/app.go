// Package app is what a host with MCP Apps shows of an answer with names: one self-contained page (SEP-1865, 2026-01-26).
//
// The page is put together from three files here, without a build step. It loads nothing, its content security policy allows
// its own style and script by their hashes, and what it shows goes into the document as text alone.
package app

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"

	"github.com/namewharf/namewharf/serve/mcp"
	"github.com/namewharf/namewharf/serve/static"
)

var (
	//go:embed names.html
	frame []byte
	//go:embed names.css
	style []byte
	//go:embed names.js
	script []byte
)

// Names shows the names of an answer as cards with their status and prices.
func Names() mcp.App {
	return mcp.App{
		URI: "ui://namewharf/names.html", Name: "names", Title: "Names",
		Doc:   "Shows names as cards with their status and prices, and checks further TLDs.",
		HTML:  string(page()),
		Tools: []string{"search_domain", "check_domains", "suggest_domains", "market_listings"},
	}
}

// Icons are those of the service.
func Icons() []mcp.Icon {
	return []mcp.Icon{{Type: "image/svg+xml", Size: "any", Body: static.Icon}, {Type: "image/png", Size: "64x64", Body: static.IconPNG}}
}

// page puts style and script into the frame, and their hashes into its policy.
func page() []byte {
	b := frame
	for _, part := range []struct {
		name string
		body []byte
	}{{"STYLE", style}, {"SCRIPT", script}} {
		sum := sha256.Sum256(part.body)
		b = bytes.Replace(b, []byte("{{HASH OF "+part.name+"}}"), []byte("'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'"), 1)
		b = bytes.Replace(b, []byte("{{"+part.name+"}}"), part.body, 1)
	}
	return b
}

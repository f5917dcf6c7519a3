// Package static holds the files that all pages use: the style sheet and the icon.
package static

import (
	_ "embed"
	"net/http"
)

// Paths that every page uses.
const (
	StylePath = "/style.css"
	IconPath  = "/icon.svg"
)

// Style is the style sheet, for light and dark mode, and narrow and wide windows.
//
//go:embed style.css
var Style []byte

// Icon is an SVG image.
//
//go:embed icon.svg
var Icon []byte

// IconPNG is the same image for those who take no SVG, of 64 by 64 pixels.
//
//go:embed icon.png
var IconPNG []byte

// Handler serves both files for programs without the REST transport.
func Handler() http.Handler {
	mux := http.NewServeMux()
	file := func(path, mediaType string, body []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h.Set("Content-Type", mediaType)
			h.Set("Cache-Control", "public, max-age=300")
			h.Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write(body)
		})
	}
	file(StylePath, "text/css; charset=utf-8", Style)
	file(IconPath, "image/svg+xml", Icon)
	return mux
}

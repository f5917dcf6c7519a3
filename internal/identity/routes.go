package identity

import (
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
)

// Routes returns the HTTP handlers of the OAuth endpoints and the pages, by path. A path that ends in a slash includes those below it.
// The pages show the portfolios of names and what partners have for the public, and sell as buying says.
func (svc *Services) Routes(mw *middleware.Stack, signup string, names pages.Portfolios, partners pages.Partners, buying pages.Buying) map[string]http.Handler {
	oauth := mw.Wrap(named("oauth", svc.OAuth.Handler()))
	routes := map[string]http.Handler{
		"/.well-known/oauth-authorization-server": oauth,
		"/.well-known/oauth-protected-resource":   oauth,
		"/.well-known/oauth-protected-resource/":  oauth,
		"/api/oauth/":                             oauth,
	}
	site := pages.New(pages.Config{
		Accounts: svc.Accounts, OAuth: svc.OAuth, Middleware: mw, Signup: account.Mode(signup), Portfolios: names, Partners: partners, Buying: buying,
	})
	for _, pattern := range pages.Patterns() {
		routes[pattern] = site
	}
	return routes
}

// Documents returns the handlers of the metadata documents of resources whose authorization server is another server.
func Documents(mw *middleware.Stack, issuer string, resources []string) (map[string]http.Handler, error) {
	h, err := oauthas.Documents(issuer, resources...)
	if err != nil {
		return nil, err
	}
	h = mw.Wrap(named("oauth", h))
	return map[string]http.Handler{"/.well-known/oauth-protected-resource": h, "/.well-known/oauth-protected-resource/": h}, nil
}

// named sets the operation in the access log for requests to h.
func named(operation string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), operation, "")
		h.ServeHTTP(w, r)
	})
}

// ByPath serves the paths of routes, including all paths below one that ends in a slash, and everything else by other. Unlike
// a ServeMux it does not redirect paths to their clean form: a redirect turns a POST of some clients into a GET.
func ByPath(routes map[string]http.Handler, other http.Handler) http.Handler {
	var trees []string
	for path := range routes {
		if strings.HasSuffix(path, "/") {
			trees = append(trees, path)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := routes[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		for _, tree := range trees {
			if strings.HasPrefix(r.URL.Path, tree) {
				routes[tree].ServeHTTP(w, r)
				return
			}
		}
		other.ServeHTTP(w, r)
	})
}

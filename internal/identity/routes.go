package identity

import (
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/pages"
)

// Routes are the handlers of what programs and persons call to sign in, by path; a path that ends in a slash stands for
// those below it too. Names are the portfolios that the pages show.
func (p *Identity) Routes(d *middleware.Stack, signup string, names pages.Names) map[string]http.Handler {
	programs := d.Wrap(named("oauth", p.OAuth.Handler()))
	doors := map[string]http.Handler{
		"/.well-known/oauth-authorization-server": programs,
		"/.well-known/oauth-protected-resource":   programs,
		"/.well-known/oauth-protected-resource/":  programs,
		"/api/oauth/":                             programs,
	}
	persons := pages.New(pages.Config{Accounts: p.Accounts, OAuth: p.OAuth, Middleware: d, Signup: account.Mode(signup), Names: names})
	for _, pattern := range pages.Patterns() {
		doors[pattern] = persons
	}
	return doors
}

// Documents are the handlers of the metadata documents of resources whose authorization server is elsewhere.
func Documents(d *middleware.Stack, issuer string, resources []string) (map[string]http.Handler, error) {
	h, err := oauthas.Documents(issuer, resources...)
	if err != nil {
		return nil, err
	}
	h = d.Wrap(named("oauth", h))
	return map[string]http.Handler{"/.well-known/oauth-protected-resource": h, "/.well-known/oauth-protected-resource/": h}, nil
}

// named gives what h serves a name in the access log.
func named(operation string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		middleware.Note(r.Context(), operation, "")
		h.ServeHTTP(w, r)
	})
}

// ByPath serves some paths, those below the ones that end in a slash, and everything else by other. A ServeMux would
// redirect paths that have to be cleaned before other sees them, and a redirect turns a POST of some clients into a GET.
func ByPath(doors map[string]http.Handler, other http.Handler) http.Handler {
	var trees []string
	for path := range doors {
		if strings.HasSuffix(path, "/") {
			trees = append(trees, path)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := doors[r.URL.Path]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		for _, tree := range trees {
			if strings.HasPrefix(r.URL.Path, tree) {
				doors[tree].ServeHTTP(w, r)
				return
			}
		}
		other.ServeHTTP(w, r)
	})
}

package oauthas

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Paths below the issuer.
const (
	AuthorizePath = "/oauth/authorize"
	registerPath  = "/api/oauth/register"
	tokenPath     = "/api/oauth/token"
	revokePath    = "/api/oauth/revoke"

	serverDocument   = "/.well-known/oauth-authorization-server"
	resourceDocument = "/.well-known/oauth-protected-resource"
)

// serverMetadata is RFC 8414.
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	Authorization         string   `json:"authorization_endpoint"`
	Token                 string   `json:"token_endpoint"`
	Registration          string   `json:"registration_endpoint"`
	Revocation            string   `json:"revocation_endpoint"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	Scopes                []string `json:"scopes_supported"`
	IssParameter          bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
	ClientDocuments       bool     `json:"client_id_metadata_document_supported"`
}

// resourceMetadata is RFC 9728.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
	Methods  []string `json:"bearer_methods_supported"`
}

// routes returns the handler. The well-known part goes between host and path (RFC 8414, section 3.1; RFC 9728, section 3.1).
// The issuer and the resources do not depend on the Host header.
func (s *Server) routes(issuer *url.URL) http.Handler {
	base := s.cfg.Issuer
	mux := http.NewServeMux()
	serveDocument(mux, serverDocument+issuer.EscapedPath(), serverMetadata{
		Issuer: base, Authorization: base + AuthorizePath, Token: base + tokenPath,
		Registration: base + registerPath, Revocation: base + revokePath,
		ResponseTypes: responseTypes, ResponseModes: []string{"query"}, GrantTypes: grantTypes,
		TokenAuthMethods: authMethods, RevocationAuthMethods: authMethods, ChallengeMethods: []string{"S256"},
		Scopes: scopes, IssParameter: true, ClientDocuments: true,
	})
	for _, resource := range s.audience.given {
		if path, ours := strings.CutPrefix(resource, base); ours && (path == "" || path[0] == '/') {
			serveResourceMetadata(mux, base, resource, issuer.EscapedPath()+path)
		}
	}
	mux.Handle(issuer.EscapedPath()+registerPath, endpoint(s.serveRegister))
	mux.Handle(issuer.EscapedPath()+tokenPath, endpoint(s.limitFailures(s.serveToken)))
	mux.Handle(issuer.EscapedPath()+revokePath, endpoint(s.limitFailures(s.serveRevoke)))
	mux.HandleFunc("/", notFound)
	return mux
}

// notFound answers for unknown paths, with CORS: clients in a browser try several paths for a document, and without CORS
// could not tell a 404 from a server that is down.
func notFound(w http.ResponseWriter, r *http.Request) {
	if !allowCORS(w, r, "GET, HEAD, POST, OPTIONS") {
		newRefusal(http.StatusNotFound, errNotFound, "this path does not exist").write(w)
	}
}

// serveResourceMetadata serves the metadata document of a resource with the path.
func serveResourceMetadata(mux *http.ServeMux, issuer, resource, path string) {
	serveDocument(mux, resourceDocument+path, resourceMetadata{
		Resource: resource, Servers: []string{issuer}, Scopes: scopes[:1], Methods: []string{"header"},
	})
}

// Documents serves the metadata documents of resources that are not below the issuer, on their own server. It fails if one is
// not an absolute URL. Other paths are 404.
func Documents(issuer string, resources ...string) (http.Handler, error) {
	mux := http.NewServeMux()
	for _, resource := range resources {
		u, err := url.Parse(resource)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("oauthas: resource %q is not an absolute http or https URL", resource)
		}
		serveResourceMetadata(mux, issuer, resource, u.EscapedPath())
	}
	mux.HandleFunc("/", notFound)
	return mux, nil
}

// Handler serves the endpoints for programs: metadata of server and resources, registration, token and revocation, with
// CORS for any origin without credentials. Other paths are 404.
func (s *Server) Handler() http.Handler { return s.handler }

// serveDocument serves a constant JSON document with CORS.
func serveDocument(mux *http.ServeMux, path string, v any) {
	text, err := json.Marshal(v)
	if err != nil { // impossible: it consists of strings
		panic(err)
	}
	sum := sha256.Sum256(text)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if allowCORS(w, r, "GET, HEAD, OPTIONS") {
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "public, max-age=3600")
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", "application/json")
		w.Write(text)
	})
}

// endpoint serves POST with CORS.
func endpoint(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowCORS(w, r, "POST, OPTIONS") {
			serve(w, r)
		}
	})
}

// allowCORS lets pages of every origin read the response, without credentials. It answers preflights and other methods itself
// and reports that.
func allowCORS(w http.ResponseWriter, r *http.Request, methods string) (answered bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After")
	h.Set("X-Content-Type-Options", "nosniff")
	allowed := false
	for m := range strings.SplitSeq(methods, ", ") {
		allowed = allowed || m == r.Method
	}
	switch {
	case !allowed:
		h.Set("Allow", methods)
		newRefusal(http.StatusMethodNotAllowed, errInvalidRequest, "the allowed methods are "+methods).write(w)
		return true
	case r.Method == http.MethodOptions:
		h.Set("Allow", methods)
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, MCP-Protocol-Version")
		h.Set("Access-Control-Max-Age", "7200")
		w.WriteHeader(http.StatusNoContent)
		return true
	}
	return false
}

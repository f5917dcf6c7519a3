package oauthas

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestDiscovery(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	a := d.get(serverDocument)
	want := `{"issuer":"https://names.example","authorization_endpoint":"https://names.example/oauth/authorize",` +
		`"token_endpoint":"https://names.example/api/oauth/token","registration_endpoint":"https://names.example/api/oauth/register",` +
		`"revocation_endpoint":"https://names.example/api/oauth/revoke","response_types_supported":["code"],"response_modes_supported":["query"],` +
		`"grant_types_supported":["authorization_code","refresh_token"],"token_endpoint_auth_methods_supported":["none"],` +
		`"revocation_endpoint_auth_methods_supported":["none"],"code_challenge_methods_supported":["S256"],` +
		`"scopes_supported":["pricing:read","domains:write"],"authorization_response_iss_parameter_supported":true,` +
		`"client_id_metadata_document_supported":true}`
	if a.body != want {
		t.Errorf("got  %s\nwant %s", a.body, want)
	}
	for path, resource := range map[string]string{"": issuer, "/api": apiURL, "/mcp": mcpURL, "/mcp/signed-in": signedInURL} {
		a := d.get(resourceDocument + path)
		var got resourceMetadata
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Resource != resource || got.Servers[0] != issuer ||
			len(got.Scopes) != 1 || got.Scopes[0] != "pricing:read" || got.Methods[0] != "header" {
			t.Errorf("%s: got %s, %v", path, a.body, err)
		}
		if a.header.Get("Cache-Control") != "public, max-age=3600" || a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: got headers %v", path, a.header)
		}
		r := httptest.NewRequest(http.MethodGet, resourceDocument+path, nil)
		r.Header.Set("If-None-Match", a.header.Get("ETag"))
		if got := d.do(r); got.status != http.StatusNotModified {
			t.Errorf("%s with its ETag: got %d, want 304", path, got.status)
		}
	}
	if a := d.get(resourceDocument + "/other"); a.status != http.StatusNotFound {
		t.Errorf("another resource: got %d, want 404", a.status)
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	for path, method := range map[string]string{
		serverDocument: "GET", resourceDocument: "GET", registerPath: "POST", tokenPath: "POST", revokePath: "POST",
	} {
		r := httptest.NewRequest(http.MethodOptions, path, nil)
		r.Header.Set("Origin", "https://page.example")
		r.Header.Set("Access-Control-Request-Method", method)
		a := d.do(r)
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(a.header.Get("Access-Control-Allow-Methods"), method) || a.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("preflight of %s: got %d %v", path, a.status, a.header)
		}
		other := httptest.NewRequest("PUT", path, nil)
		if a := d.do(other); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") == "" {
			t.Errorf("PUT %s: got %d %v, want 405 with Allow", path, a.status, a.header)
		}
	}
}

// Clients in a browser try several paths for a document. A 404 had no CORS headers, so it looked like a server that is down.
func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	d := newSQLiteFixture(t)
	for _, path := range []string{"/api/oauth/nosuch", serverDocument + "/mcp", resourceDocument + "/nosuch", "/"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			a := d.do(httptest.NewRequest(method, path, nil))
			if a.status != http.StatusNotFound || a.get("error") != errNotFound || a.header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("%s %s: got %d %v %s, want 404 that every page may read", method, path, a.status, a.header, a.body)
			}
		}
		if a := d.do(httptest.NewRequest(http.MethodOptions, path, nil)); a.status != http.StatusNoContent {
			t.Errorf("preflight of %s: got %d, want 204", path, a.status)
		}
	}
}

func TestIssuersThatAreRefused(t *testing.T) {
	t.Parallel()
	for issuer, want := range map[string]bool{
		"https://names.example": true, "http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true,
		"https://names.example/portal": true,
		"http://names.example":         false, "http://10.0.0.1:8080": false, "http://127.0.0.1.evil.example": false,
		"https://names.example/": false, "https://names.example?x": false, "https://names.example#x": false,
		"https://u@names.example": false, "ftp://names.example": false, "names.example": false, "": false,
	} {
		if _, err := checkIssuer(issuer); (err == nil) != want {
			t.Errorf("%q: got %v, want accepted: %v", issuer, err, want)
		}
	}
}

package clilogin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// object is a JSON object.
type object map[string]any

// A fakeServer is a protected resource and an authorization server with answers of the test, over https.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	answers  map[string]func(http.ResponseWriter) // by path
	requests []string                             // paths
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	s := &fakeServer{answers: map[string]func(http.ResponseWriter){}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.Path)
		answer := s.answers[r.URL.Path]
		s.mu.Unlock()
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		answer(w)
	})
	s.Server = httptest.NewTLSServer(handler)
	t.Cleanup(s.Close)
	s.serveJSON("/.well-known/oauth-protected-resource/api", s.resource(nil))
	s.serveJSON("/.well-known/oauth-authorization-server", s.metadata(nil))
	return s
}

// resource is good metadata of the resource, with changes.
func (s *fakeServer) resource(changes object) object {
	o := object{"resource": s.URL + "/api", "authorization_servers": []string{s.URL}, "scopes_supported": []string{"pricing:read"}}
	maps.Copy(o, changes)
	return o
}

// metadata is good metadata of the authorization server, with changes.
func (s *fakeServer) metadata(changes object) object {
	o := object{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported": []string{"none"},
	}
	maps.Copy(o, changes)
	return o
}

// handle sets what a path answers.
func (s *fakeServer) handle(path string, answer func(http.ResponseWriter)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = answer
}

func (s *fakeServer) serveJSON(path string, v any) {
	s.handle(path, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	})
}

// signIn tries to sign in, with a browser that must not be opened.
func (s *fakeServer) signIn(t *testing.T) error {
	t.Helper()
	l, err := Open(t.TempDir(), s.URL+"/api", Options{Transport: s.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	return l.SignIn(t.Context(), func(url string) error {
		t.Errorf("the browser was sent to %s", url)
		return nil
	}, io.Discard)
}

func TestInvalidMetadata(t *testing.T) {
	t.Parallel()
	const resource, server = "/.well-known/oauth-protected-resource/api", "/.well-known/oauth-authorization-server"
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked of somebody else", r.URL)
	}))
	t.Cleanup(elsewhere.Close)
	huge := func(w http.ResponseWriter) {
		_, _ = w.Write([]byte(`{"resource":"`))
		_, _ = io.Copy(w, io.LimitReader(zeros{}, 1<<20))
	}
	redirect := func(w http.ResponseWriter) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	for _, test := range []struct {
		name string
		lie  func(*fakeServer)
		want string // a part of the error
	}{
		{"no sign-in at all", func(s *fakeServer) { s.handle(resource, nil) }, "there is no sign-in"},
		{"a resource with another address", func(s *fakeServer) {
			s.serveJSON(resource, s.resource(object{"resource": "https://other.example/api"}))
		}, `calls itself "https://other.example/api"`},
		{"the resource above", func(s *fakeServer) { s.serveJSON(resource, s.resource(object{"resource": s.URL})) }, "calls itself"},
		{"a resource without a name", func(s *fakeServer) { s.serveJSON(resource, s.resource(object{"resource": ""})) }, "not about a protected resource"},
		{"a resource with escapes", func(s *fakeServer) { s.serveJSON(resource, s.resource(object{"resource": "https://a/\x1b[2J"})) }, "not about a protected resource"},
		{"no authorization server", func(s *fakeServer) { s.serveJSON(resource, s.resource(object{"authorization_servers": []string{}})) }, "no authorization server"},
		{"an authorization server over http", func(s *fakeServer) {
			s.serveJSON(resource, s.resource(object{"authorization_servers": []string{"http://names.example"}}))
		}, "no https URL"},
		{"an authorization server on this computer", func(s *fakeServer) {
			s.serveJSON(resource, s.resource(object{"authorization_servers": []string{elsewhere.URL}}))
		}, "no https URL"},
		{"an authorization server in a file", func(s *fakeServer) {
			s.serveJSON(resource, s.resource(object{"authorization_servers": []string{"file:///etc/passwd"}}))
		}, "no https URL"},
		{"another issuer", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"issuer": "https://other.example"})) }, "another issuer"},
		{"an issuer with a slash more", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"issuer": s.URL + "/"})) }, "another issuer"},
		{"a script to authorize", func(s *fakeServer) {
			s.serveJSON(server, s.metadata(object{"authorization_endpoint": "javascript:alert(1)"}))
		}, "the authorization endpoint of the authorization server is not"},
		{"a file to authorize", func(s *fakeServer) {
			s.serveJSON(server, s.metadata(object{"authorization_endpoint": "file:///bin/sh"}))
		}, "is not"},
		{"an option to authorize", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"authorization_endpoint": "--help"})) }, "is not"},
		{"a token endpoint over http", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"token_endpoint": elsewhere.URL})) }, "the token endpoint of the authorization server is not an https URL"},
		{"a token endpoint with a user", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"token_endpoint": "https://a@b.example"})) }, "the token endpoint"},
		{"a registration endpoint over http", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"registration_endpoint": elsewhere.URL})) }, "the registration endpoint"},
		{"a revocation endpoint over http", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"revocation_endpoint": elsewhere.URL})) }, "the revocation endpoint"},
		{"no registration", func(s *fakeServer) { s.serveJSON(server, s.metadata(object{"registration_endpoint": ""})) }, "has no registration endpoint"},
		{"no PKCE", func(s *fakeServer) {
			s.serveJSON(server, s.metadata(object{"code_challenge_methods_supported": []string{"plain"}}))
		}, "not support PKCE"},
		{"no codes", func(s *fakeServer) {
			s.serveJSON(server, s.metadata(object{"response_types_supported": []string{"token"}}))
		}, "issues no codes"},
		{"secrets", func(s *fakeServer) {
			s.serveJSON(server, s.metadata(object{"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}}))
		}, "a client secret"},
		{"an endless resource", func(s *fakeServer) { s.handle(resource, huge) }, "over 64 KiB"},
		{"an endless server", func(s *fakeServer) { s.handle(server, huge) }, "over 64 KiB"},
		{"a redirected resource", func(s *fakeServer) { s.handle(resource, redirect) }, "status 307"},
		{"a redirected server", func(s *fakeServer) { s.handle(server, redirect) }, "status 307"},
		{"a redirected registration", func(s *fakeServer) { s.handle("/register", redirect) }, "status 307"},
		{"HTML", func(s *fakeServer) {
			s.handle(resource, func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>hush") })
		}, "not the expected JSON"},
		{"a list", func(s *fakeServer) { s.serveJSON(server, []string{"hush"}) }, "not the expected JSON"},
		{"too many registrations", func(s *fakeServer) { s.handle("/register", func(w http.ResponseWriter) { w.WriteHeader(429) }) }, "too many registrations"},
		{"a refused registration", func(s *fakeServer) {
			s.handle("/register", func(w http.ResponseWriter) {
				w.WriteHeader(400)
				fmt.Fprint(w, `{"error":"invalid_redirect_uri","error_description":"hush"}`)
			})
		}, "status 400 (invalid_redirect_uri)"},
		{"a client without an id", func(s *fakeServer) { s.serveJSON("/register", object{}) }, "no client_id"},
		{"a client with a bandit's id", func(s *fakeServer) { s.serveJSON("/register", object{"client_id": "hush \x1b"}) }, "no client_id"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newFakeServer(t)
			test.lie(s)
			err := s.signIn(t)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, path := range s.requests {
				if path == "/token" || path == "/register" && !strings.Contains(test.name, "registration") && !strings.Contains(test.name, "client") {
					t.Errorf("%s was called", path)
				}
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

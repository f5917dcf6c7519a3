package clilogin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Limits of responses, in bytes.
const (
	maxDocument = 64 << 10
	maxID       = 2 << 10 // of a client
	maxToken    = 8 << 10
)

// wellKnown are the paths that go between host and path (RFC 9728, section 3.1; RFC 8414, section 3.1).
const (
	resourceDocument = "/.well-known/oauth-protected-resource"
	serverDocument   = "/.well-known/oauth-authorization-server"
)

// resourceMetadata is the part of RFC 9728, section 2, that is used.
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// serverMetadata is the part of RFC 8414, section 2, that is used.
type serverMetadata struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	ResponseTypes []string `json:"response_types_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	IssParameter  bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207

	scopes []string // to request
}

// discover returns the authorization server of the resource.
func (l *Login) discover(ctx context.Context) (serverMetadata, error) {
	var r resourceMetadata
	if err := l.get(ctx, l.resource, resourceDocument, &r); err != nil {
		return serverMetadata{}, err
	}
	if u, err := checkURL(r.Resource, l.plainHTTP()); err != nil {
		return serverMetadata{}, errors.New("the resource's metadata is not about a protected resource")
	} else if named := canonical(u).String(); named != l.resource.String() {
		return serverMetadata{}, fmt.Errorf("the server calls itself %q; use the address it gives", named)
	}
	if len(r.Servers) == 0 {
		return serverMetadata{}, errors.New("the resource names no authorization server")
	}
	issuer, err := checkURL(r.Servers[0], l.plainHTTP())
	if err != nil || issuer.RawQuery != "" || issuer.ForceQuery {
		return serverMetadata{}, errors.New("the resource's authorization server has no https URL")
	}
	var s serverMetadata
	if err := l.get(ctx, issuer, serverDocument, &s); err != nil {
		return serverMetadata{}, err
	}
	if s.Issuer != r.Servers[0] { // RFC 8414, section 3.3
		return serverMetadata{}, errors.New("the authorization server's metadata names another issuer")
	}
	if s.scopes = l.options.Scopes; len(s.scopes) == 0 {
		s.scopes = r.Scopes
	}
	return s, s.check(l.plainHTTP())
}

// check reports what a server lacks. Absent lists have the defaults of RFC 8414, but PKCE must be listed.
func (s serverMetadata) check(plainHTTP bool) error {
	for name, endpoint := range map[string]string{
		"authorization": s.Authorization, "token": s.Token, "registration": s.Registration, "revocation": s.Revocation,
	} {
		if endpoint == "" && name == "revocation" {
			continue
		}
		if endpoint == "" {
			return fmt.Errorf("the authorization server has no %s endpoint", name)
		}
		if _, err := checkURL(endpoint, plainHTTP); err != nil {
			return fmt.Errorf("the %s endpoint of the authorization server %w", name, err)
		}
	}
	switch {
	case !slices.Contains(s.Challenges, "S256"):
		return errors.New("the authorization server does not support PKCE (S256)")
	case len(s.ResponseTypes) > 0 && !slices.Contains(s.ResponseTypes, "code"):
		return errors.New("the authorization server issues no codes")
	case len(s.AuthMethods) > 0 && !slices.Contains(s.AuthMethods, "none"):
		return errors.New("the authorization server requires a client secret")
	}
	return nil
}

// register registers this program for one redirect URI and returns its client_id (RFC 7591). Each sign-in registers again:
// servers remove unused clients, and report an unknown client in the browser, not to the program.
func (l *Login) register(ctx context.Context, s serverMetadata, redirect string) (id string, err error) {
	body, err := json.Marshal(map[string]any{
		"client_name": l.options.Name, "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"scope": strings.Join(s.scopes, " "),
	})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Registration, bytes.NewReader(body))
	if err != nil {
		return "", errors.New("the registration endpoint is not a URL")
	}
	request.Header.Set("Content-Type", "application/json")
	var answer struct {
		ClientID string `json:"client_id"`
		Error    string `json:"error"`
	}
	status, err := l.do(request, &answer)
	switch {
	case status == http.StatusTooManyRequests:
		return "", errors.New("there were too many registrations from here; wait a while")
	case status != 0 && status != http.StatusCreated && status != http.StatusOK:
		return "", fmt.Errorf("the server refused with status %d%s", status, codeWord(answer.Error))
	case err != nil:
		return "", err
	case !plainText(answer.ClientID, maxID):
		return "", errors.New("the response has no client_id")
	}
	return answer.ClientID, nil
}

// get reads the metadata document of the resource or the issuer at u.
func (l *Login) get(ctx context.Context, u *url.URL, document string, v any) error {
	at := u.Scheme + "://" + u.Host + document + strings.TrimSuffix(u.EscapedPath(), "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return fmt.Errorf("%s is not the URL of a document", document)
	}
	status, err := l.do(request, v)
	if status != 0 && status != http.StatusOK {
		return fmt.Errorf("%s%s answered with status %d: there is no sign-in", u.Host, document, status)
	}
	if err != nil {
		return fmt.Errorf("%s%s: %w", u.Host, document, err)
	}
	return nil
}

// do sends the request and decodes the JSON object of the response. status is 0 if there was no response.
func (l *Login) do(request *http.Request, v any) (status int, err error) {
	request.Header.Set("Accept", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return 0, withoutDetails(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	if err != nil {
		return response.StatusCode, errors.New("the response broke off")
	}
	if len(body) > maxDocument {
		return response.StatusCode, fmt.Errorf("the response is over %d KiB", maxDocument>>10)
	}
	if err := json.Unmarshal(body, v); err != nil {
		return response.StatusCode, errors.New("the response is not the expected JSON")
	}
	return response.StatusCode, nil
}

// plainHTTP reports whether http on loopback is accepted: only if the resource is there itself. Any other resource could
// make us call programs on this computer.
func (l *Login) plainHTTP() bool { return l.resource.Scheme == "http" }

// checkURL parses an https URL, or with plainHTTP an http one on loopback. Its errors complete a sentence that begins with
// the URL, and do not repeat it.
func checkURL(raw string, plainHTTP bool) (*url.URL, error) {
	if !plainText(raw, maxID) {
		return nil, errors.New("is not a URL")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || strings.Contains(raw, "#"):
		return nil, errors.New("is not a URL of a host")
	case u.Scheme == "https", u.Scheme == "http" && plainHTTP && loopback(u.Hostname()):
		return u, nil
	}
	return nil, errors.New("is not an https URL")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// canonical normalizes a URL: host in lower case, no default port, no slash at the end.
func canonical(u *url.URL) *url.URL {
	c := *u
	c.Host = strings.ToLower(u.Host)
	c.Host = strings.TrimSuffix(c.Host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	c.Path, c.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	return &c
}

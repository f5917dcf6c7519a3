package oauthas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
)

// metadata is the client metadata of a registration or a document (RFC 7591, section 2). Other members are ignored.
type metadata struct {
	Redirects     []string
	Name          string
	AuthMethod    string
	GrantTypes    []string
	ResponseTypes []string

	clientID  string // in a document
	hasSecret bool
}

// registration is the response to a registration (RFC 7591, section 3.2.1).
type registration struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name,omitzero"`
	Redirects     []string `json:"redirect_uris"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

var (
	grantTypes    = []string{"authorization_code", "refresh_token"}
	responseTypes = []string{"code"}
	authMethods   = []string{"none"}
)

// serveRegister is the registration endpoint (RFC 7591, section 3).
func (s *Server) serveRegister(w http.ResponseWriter, r *http.Request) {
	from := s.cfg.ClientIP(r)
	if s.limits != nil {
		if refused := s.limits.register(from); refused != nil {
			refused.write(w)
			return
		}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		newRefusal(http.StatusBadRequest, errInvalidMetadata, "the body must be application/json").write(w)
		return
	}
	body, refused := readBody(w, r)
	if refused != nil {
		if refused.err.code == errInvalidRequest {
			refused.err.code = errInvalidMetadata
		}
		refused.write(w)
		return
	}
	m, refusal := readMetadata(body)
	if refusal == nil {
		refusal = s.checkMetadata(m)
	}
	if refusal != nil {
		newRefusal(http.StatusBadRequest, refusal.code, refusal.description).write(w)
		return
	}
	now := s.cfg.Now()
	c := client{id: store.NewID("client"), name: m.Name, redirects: m.Redirects}
	if err := s.insertClient(r.Context(), c, from, now); err != nil {
		if limited, ok := errors.AsType[*limitError](err); ok {
			limited.write(w)
			return
		}
		s.fail(w, r, fmt.Errorf("register a client: %w", err))
		return
	}
	writeJSON(w, http.StatusCreated, registration{
		ClientID: c.id, IssuedAt: now.Unix(), Name: c.name, Redirects: c.redirects,
		AuthMethod: "none", GrantTypes: grantTypes, ResponseTypes: responseTypes,
	})
}

// insertClient stores a client within the limits over all processes.
func (s *Server) insertClient(ctx context.Context, c client, from netip.Addr, now time.Time) error {
	return s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if s.limits != nil {
			if err := s.limits.registerShared(ctx, tx, from, now); err != nil {
				return err
			}
			if err := s.limits.evictUnused(ctx, tx, now); err != nil {
				return err
			}
		}
		return insertClient(ctx, tx, c, now)
	})
}

// readMetadata reads the known members of a JSON object, by their exact names.
func readMetadata(body []byte) (metadata, *oauthError) {
	var m metadata
	var members map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&members); err != nil || members == nil || d.More() {
		return metadata{}, &oauthError{errInvalidMetadata, "the body must be one JSON object"}
	}
	for name, to := range map[string]any{
		"redirect_uris": &m.Redirects, "client_name": &m.Name, "token_endpoint_auth_method": &m.AuthMethod,
		"grant_types": &m.GrantTypes, "response_types": &m.ResponseTypes, "client_id": &m.clientID,
	} {
		value, ok := members[name]
		if !ok || string(value) == "null" {
			continue
		}
		if err := json.Unmarshal(value, to); err != nil {
			code := errInvalidMetadata
			if name == "redirect_uris" {
				code = errInvalidRedirect
			}
			return metadata{}, &oauthError{code, name + " is of the wrong type"}
		}
	}
	_, m.hasSecret = members["client_secret"]
	return m, nil
}

// checkMetadata checks client metadata against the rules.
func (s *Server) checkMetadata(m metadata) *oauthError {
	if err := s.rules.checkAll(m.Redirects); err != nil {
		return &oauthError{errInvalidRedirect, err.Error()}
	}
	if err := checkName(m.Name, s.ownNames); err != nil {
		return &oauthError{errInvalidMetadata, "client_name " + err.Error()}
	}
	switch {
	case m.AuthMethod != "" && m.AuthMethod != "none":
		return &oauthError{errInvalidMetadata, "token_endpoint_auth_method must be none: clients here are public"}
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return &oauthError{errInvalidMetadata, "grant_types must hold authorization_code"}
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return &oauthError{errInvalidMetadata, "response_types must hold code"}
	}
	return nil
}

// checkDocument reads a client metadata document that was fetched from id.
func (s *Server) checkDocument(id string, body []byte) (client, error) {
	m, refusal := readMetadata(body)
	if refusal != nil {
		return client{}, errors.New("the document is not client metadata in JSON")
	}
	if m.clientID != id {
		return client{}, errors.New("client_id in the document is not the URL of the document")
	}
	if m.hasSecret {
		return client{}, errors.New("the document must not hold a client_secret: it is public")
	}
	if refusal := s.checkMetadata(m); refusal != nil {
		return client{}, errors.New(refusal.description)
	}
	return client{id: id, name: m.Name, redirects: m.Redirects, host: documentHost(id)}, nil
}

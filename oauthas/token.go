package oauthas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// tokens is the response of the token endpoint (RFC 6749, section 5.1).
type tokens struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
}

// serveToken is the token endpoint (RFC 6749, section 3.2). It reports whether the request was good.
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request) (good bool) {
	f, refused := readForm(w, r)
	if refused != nil {
		refused.write(w)
		return false
	}
	if f.client == "" {
		newRefusal(http.StatusBadRequest, errInvalidRequest, "client_id is missing").write(w)
		return false
	}
	answer, refusal, err := s.exchange(r.Context(), f)
	limited, isLimit := errors.AsType[*limitError](err)
	switch {
	case isLimit:
		limited.write(w)
	case err != nil:
		s.fail(w, r, err)
		return true // not the client's failure
	case refusal == nil:
		writeJSON(w, http.StatusOK, answer)
		return true
	case refusal.code == errInvalidGrant && !s.mayExist(r.Context(), f.client):
		newRefusal(http.StatusUnauthorized, errInvalidClient, "client_id is unknown").challenge(f.basic).write(w)
	default:
		newRefusal(http.StatusBadRequest, refusal.code, refusal.description).write(w)
	}
	return false
}

// exchange issues tokens for the code or the refresh token of the form.
func (s *Server) exchange(ctx context.Context, f form) (tokens, *oauthError, error) {
	grant := f.values.Get("grant_type")
	switch grant {
	case "authorization_code", "refresh_token":
	case "":
		return tokens{}, &oauthError{errInvalidRequest, "grant_type is missing"}, nil
	default:
		return tokens{}, &oauthError{errGrantType, "grant_type must be authorization_code or refresh_token"}, nil
	}
	resources, known := s.targets(f)
	if !known {
		return tokens{}, &oauthError{errInvalidTarget, "resource is not one that this server protects"}, nil
	}
	if grant == "authorization_code" {
		code, verifier := f.values.Get("code"), f.values.Get("code_verifier")
		if code == "" || verifier == "" {
			return tokens{}, &oauthError{errInvalidRequest, "code and code_verifier are needed"}, nil
		}
		return s.redeem(ctx, code, redemption{f.client, f.values.Get("redirect_uri"), verifier, resources})
	}
	token := f.values.Get("refresh_token")
	if token == "" {
		return tokens{}, &oauthError{errInvalidRequest, "refresh_token is missing"}, nil
	}
	return s.refresh(ctx, token, renewal{f.client, f.values.Get("scope"), resources})
}

// targets returns the resources that a token request names, none if it names none.
func (s *Server) targets(f form) (resources []string, known bool) {
	asked := present(f.values["resource"])
	if len(asked) == 0 {
		return nil, true
	}
	return s.audience.find(asked)
}

// mayExist reports whether a client of that id may exist. It does not fetch metadata documents.
func (s *Server) mayExist(ctx context.Context, id string) bool {
	if strings.HasPrefix(id, "https://") {
		return true
	}
	_, err := s.client(ctx, id, netip.Addr{})
	return !errors.Is(err, errUnknownClient)
}

// redeem exchanges a code for tokens. Transactions serialize the redemptions of one code: one succeeds.
func (s *Server) redeem(ctx context.Context, code string, r redemption) (answer tokens, refusal *oauthError, err error) {
	unknown := &oauthError{errInvalidGrant, "the code is unknown, used or expired"}
	if !wellFormed(code, codePrefix) {
		return tokens{}, unknown, nil
	}
	hash := digestOf(code)
	var event *Event
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		answer, refusal, event = tokens{}, nil, nil
		now := s.cfg.Now()
		row, err := selectCode(ctx, tx, hash)
		if store.IsNoRows(err) {
			refusal = unknown
			return nil
		}
		if err != nil {
			return err
		}
		var v outcome
		v, refusal = checkCode(row, r, now)
		switch v {
		case countFailure, invalidate:
			return countCodeFailure(ctx, tx, hash)
		case revoke:
			event = &Event{row.account, CodeReplayed, clientLabel(row.clientName, row.client), row.grant}
			return s.endGrant(ctx, tx, row.grant, row.client, now)
		case accept:
			event = &Event{row.account, GrantBegan, clientLabel(row.clientName, row.client), row.grant}
			answer, err = s.startGrant(ctx, tx, hash, row, r.resources, now)
			return err
		}
		return nil
	})
	if err != nil {
		return tokens{}, nil, fmt.Errorf("redeem a code: %w", err)
	}
	s.emit(ctx, event)
	return answer, refusal, nil
}

// startGrant turns a code into a grant with its first tokens.
func (s *Server) startGrant(ctx context.Context, tx store.Tx, hash digest, row codeRow, resources []string, now time.Time) (tokens, error) {
	if err := useCode(ctx, tx, hash, now); err != nil {
		return tokens{}, err
	}
	if err := trimGrants(ctx, tx, row.account, row.client, maxGrants-1); err != nil {
		return tokens{}, err
	}
	if err := insertGrant(ctx, tx, row, now); err != nil {
		return tokens{}, err
	}
	if err := touchClient(ctx, tx, row.client, now); err != nil {
		return tokens{}, err
	}
	next := newSecret(refreshPrefix)
	if err := insertRefresh(ctx, tx, digestOf(next), row.grant, now.Add(RefreshLife)); err != nil {
		return tokens{}, err
	}
	return s.access(ctx, tx, accessParams{row.grant, row.account, row.scope, tokenResources(row.resource, resources), next}, now, now.Add(GrantLife))
}

// refresh exchanges a refresh token for its successor and another access token.
func (s *Server) refresh(ctx context.Context, token string, r renewal) (answer tokens, refusal *oauthError, err error) {
	unknown := &oauthError{errInvalidGrant, "the refresh token is unknown, used, expired or revoked"}
	if !wellFormed(token, refreshPrefix) {
		return tokens{}, unknown, nil
	}
	hash := digestOf(token)
	var event *Event
	var draw onceDrawn
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		answer, refusal, event = tokens{}, nil, nil
		now := s.cfg.Now()
		row, err := selectRefresh(ctx, tx, hash)
		if store.IsNoRows(err) {
			refusal = unknown
			return nil
		}
		if err != nil {
			return err
		}
		unused, err := s.successorUnused(ctx, tx, token, row)
		if err != nil {
			return err
		}
		var v outcome
		v, refusal = checkRefresh(row, r, now, s.cfg.RefreshGrace, unused)
		switch v {
		case revoke:
			event = &Event{row.account, RefreshReplayed, clientLabel(row.clientName, row.client), row.grant}
			return s.endGrant(ctx, tx, row.grant, row.client, now)
		case accept, reissue:
			if err := s.limits.refresh(&draw, row.grant); err != nil {
				return err
			}
			answer, err = s.rotate(ctx, tx, token, row, r, v == reissue, now)
			return err
		}
		return nil
	})
	if err != nil {
		return tokens{}, nil, fmt.Errorf("refresh a token: %w", err)
	}
	s.emit(ctx, event)
	return answer, refusal, nil
}

// successorUnused reports whether the token was used and its successor was not. It is false without a RefreshGrace.
func (s *Server) successorUnused(ctx context.Context, tx store.Tx, token string, row refreshRow) (bool, error) {
	if row.used.IsZero() || len(row.salt) == 0 {
		return false, nil
	}
	next, err := selectRefresh(ctx, tx, digestOf(successor(token, row.salt)))
	if store.IsNoRows(err) {
		return false, nil
	}
	return err == nil && next.used.IsZero(), err
}

// rotate issues the successor of a refresh token, or the same successor again, with an access token.
func (s *Server) rotate(ctx context.Context, tx store.Tx, token string, row refreshRow, r renewal, again bool, now time.Time) (tokens, error) {
	var next string
	if again {
		next = successor(token, row.salt)
	} else {
		salt := []byte{}
		if next = newSecret(refreshPrefix); s.cfg.RefreshGrace > 0 {
			salt = newSalt()
			next = successor(token, salt)
		}
		expires := earlier(now.Add(RefreshLife), row.ends)
		if err := useRefresh(ctx, tx, digestOf(token), now, salt); err != nil {
			return tokens{}, err
		}
		if err := insertRefresh(ctx, tx, digestOf(next), row.grant, expires); err != nil {
			return tokens{}, err
		}
		if err := useGrant(ctx, tx, row.grant, now, expires); err != nil {
			return tokens{}, err
		}
	}
	scope := row.scope
	if narrow := strings.Fields(r.scope); len(narrow) > 0 {
		scope, _ = findScopes(r.scope)
	}
	return s.access(ctx, tx, accessParams{row.grant, row.account, scope, tokenResources(row.resource, r.resources), next}, now, row.ends)
}

// accessParams are the properties of an access token, and the refresh token issued with it.
type accessParams struct{ grant, account, scope, resource, refresh string }

// access issues an access token that expires with the grant at the latest.
func (s *Server) access(ctx context.Context, tx store.Tx, a accessParams, now, ends time.Time) (tokens, error) {
	token := newSecret(accessPrefix)
	expires := earlier(now.Add(AccessLife), ends)
	if err := insertAccess(ctx, tx, digestOf(token), a.grant, a.account, a.scope, a.resource, expires); err != nil {
		return tokens{}, err
	}
	return tokens{Access: token, Type: "Bearer", ExpiresIn: int(expires.Sub(now) / time.Second), Refresh: a.refresh, Scope: a.scope}, nil
}

// tokenResources are the resources of an access token: those requested now, or all that were granted.
func tokenResources(granted string, asked []string) string {
	if len(asked) == 0 {
		return granted
	}
	return strings.Join(asked, " ")
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// endGrant deletes a grant with its tokens. Call emit after the commit.
func (s *Server) endGrant(ctx context.Context, tx store.Tx, grant, client string, now time.Time) error {
	found, err := deleteGrant(ctx, tx, grant)
	if err != nil || !found {
		return err
	}
	return touchClient(ctx, tx, client, now)
}

// emit reports an event after its commit, and flushes the token cache if the grant ended.
func (s *Server) emit(ctx context.Context, e *Event) {
	if e == nil {
		return
	}
	if e.Kind != GrantBegan {
		s.FlushTokenCache()
		s.cfg.Logger.InfoContext(ctx, "grant ended", "grant", e.Grant, "kind", string(e.Kind))
	}
	s.cfg.Record(ctx, *e)
}

// clientLabel is the name of a client, or its id without a name.
func clientLabel(name, id string) string {
	if name != "" {
		return name
	}
	return id
}

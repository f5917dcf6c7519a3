package oauthas

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// serveRevoke is the revocation endpoint (RFC 7009). It answers 200 whether the token was valid or not. It ignores
// token_type_hint: a token's prefix shows its type. Without client_id any holder of a token may revoke it; with client_id a
// client revokes only its own tokens. It reports whether it revoked something.
func (s *Server) serveRevoke(w http.ResponseWriter, r *http.Request) (good bool) {
	f, refused := readForm(w, r)
	if refused != nil {
		refused.write(w)
		return false
	}
	token := f.values.Get("token")
	if token == "" {
		newRefusal(http.StatusBadRequest, errInvalidRequest, "token is missing").write(w)
		return false
	}
	ended, err := s.revokeToken(r.Context(), token, f.client)
	if err != nil {
		s.fail(w, r, err)
		return true // not the client's failure
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return ended
}

// revokeToken revokes an access token, or the grant of a refresh token, used or not. ended says that there was one.
func (s *Server) revokeToken(ctx context.Context, token, client string) (ended bool, err error) {
	hash := digestOf(token)
	var event *Event
	var forget bool
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		event, forget = nil, false
		switch {
		case wellFormed(token, accessPrefix):
			owner, err := accessClient(ctx, tx, hash)
			if store.IsNoRows(err) || err == nil && client != "" && owner != client {
				return nil
			}
			if err != nil {
				return err
			}
			forget = true
			return deleteAccess(ctx, tx, hash)
		case wellFormed(token, refreshPrefix):
			row, err := selectRefresh(ctx, tx, hash)
			if store.IsNoRows(err) || err == nil && client != "" && row.client != client {
				return nil
			}
			if err != nil {
				return err
			}
			event = &Event{row.account, GrantRevoked, clientLabel(row.clientName, row.client), row.grant}
			return s.endGrant(ctx, tx, row.grant, row.client, s.cfg.Now())
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("revoke a token: %w", err)
	}
	if forget {
		s.FlushTokenCache()
	}
	s.emit(ctx, event)
	return forget || event != nil, nil
}

// A Grant is the access that an account has granted to a client.
type Grant struct {
	ID          string
	ClientID    string
	ClientName  string // client_name at that time, unverified; may be empty
	ClientHost  string // of the client metadata document; empty: the client is registered
	RedirectURI string
	Scopes      []string
	Resources   []string
	Created     time.Time
	LastUsed    time.Time // when tokens were last issued
	Expires     time.Time // if it is not used before
}

// Grants returns the valid grants of an account, the last used first.
func (s *Server) Grants(ctx context.Context, accountID string) ([]Grant, error) {
	scan := func(rows *sql.Rows) (g Grant, err error) {
		var scope, resource string
		var created, used, expires int64
		err = rows.Scan(&g.ID, &g.ClientID, &g.ClientName, &g.RedirectURI, &scope, &resource, &created, &used, &expires)
		g.ClientName, g.ClientHost = s.displayName(g.ClientName), documentHost(g.ClientID)
		g.Scopes, g.Resources = strings.Fields(scope), strings.Fields(resource)
		g.Created, g.LastUsed, g.Expires = store.Time(created), store.Time(used), store.Time(expires)
		return g, err
	}
	var list []Grant
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		list, err = store.Collect(ctx, tx, scan, `
			SELECT id, client_id, client_name, redirect_uri, scope, resource, created_at, used_at, expires_at
			FROM oauth_grants WHERE account_id = $1 AND expires_at > $2 ORDER BY used_at DESC, id`,
			accountID, store.Micros(s.cfg.Now()))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return list, nil
}

// RevokeGrant revokes a grant of the account with all its tokens, and forgets the consent to the client. It fails with
// [fault.NotFound] if the account has no such grant.
func (s *Server) RevokeGrant(ctx context.Context, accountID, grantID string) error {
	if !plainID(grantID) {
		return errNoGrant()
	}
	var event *Event
	err := s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		event = nil
		var client, name string
		err := tx.QueryRow(ctx, `SELECT client_id, client_name FROM oauth_grants WHERE id = $1 AND account_id = $2`, grantID, accountID).
			Scan(&client, &name)
		if store.IsNoRows(err) {
			return nil
		}
		if err != nil {
			return err
		}
		event = &Event{accountID, GrantRevoked, clientLabel(name, client), grantID}
		if err := deleteClientState(ctx, tx, accountID, client); err != nil {
			return err
		}
		return s.endGrant(ctx, tx, grantID, client, s.cfg.Now())
	})
	if err != nil {
		return fmt.Errorf("revoke a grant: %w", err)
	}
	if event == nil {
		return errNoGrant()
	}
	s.emit(ctx, event)
	return nil
}

func errNoGrant() error { return fault.New(fault.NotFound, "there is no such grant") }

// RemoveAll is [Server.RevokeAll] for an account that is deleted: it also removes the redeemed codes, which detect reuse.
func (s *Server) RemoveAll(ctx context.Context, tx store.Tx, accountID string) error {
	return RemoveAccount(ctx, tx, accountID, s.cfg.Now())
}

// RemoveAccount is [Server.RemoveAll] for a program without a Server.
func RemoveAccount(ctx context.Context, tx store.Tx, accountID string, now time.Time) error {
	if err := RevokeAccount(ctx, tx, accountID, now); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM oauth_codes WHERE account_id = $1`, accountID); err != nil {
		return fmt.Errorf("remove codes: %w", err)
	}
	return nil
}

// RevokeAll revokes all grants, codes and consents of the account in the caller's transaction, as when the password changes.
// Cached tokens are accepted for up to [Staleness]; to end them at once in this process, call [Server.FlushTokenCache] after
// the commit.
func (s *Server) RevokeAll(ctx context.Context, tx store.Tx, accountID string) error {
	return RevokeAccount(ctx, tx, accountID, s.cfg.Now())
}

// RevokeAccount is [Server.RevokeAll] for a program without a Server.
func RevokeAccount(ctx context.Context, tx store.Tx, accountID string, now time.Time) error {
	if err := deleteAccountState(ctx, tx, accountID, now); err != nil {
		return fmt.Errorf("revoke all grants: %w", err)
	}
	return nil
}

package oauthas

import (
	"context"
	"encoding/json"
	"time"

	"github.com/namewharf/namewharf/store"
)

func insertClient(ctx context.Context, tx store.Tx, c client, now time.Time) error {
	redirects, err := json.Marshal(c.redirects)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO oauth_clients (id, name, redirect_uris, created_at, used_at) VALUES ($1, $2, $3, $4, $4)`,
		c.id, c.name, string(redirects), store.Micros(now))
	return err
}

func selectClient(ctx context.Context, tx store.Tx, id string) (client, error) {
	c := client{id: id}
	var redirects string
	if err := tx.QueryRow(ctx, `SELECT name, redirect_uris FROM oauth_clients WHERE id = $1`, id).Scan(&c.name, &redirects); err != nil {
		return client{}, err
	}
	if err := json.Unmarshal([]byte(redirects), &c.redirects); err != nil {
		return client{}, err
	}
	return c, nil
}

// touchClient marks a registered client as used, so that it is not removed.
func touchClient(ctx context.Context, tx store.Tx, id string, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_clients SET used_at = $2 WHERE id = $1`, id, store.Micros(now))
	return err
}

func insertInteraction(ctx context.Context, tx store.Tx, hash, session digest, account, client, request string, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_interactions (hash, session, account_id, client_id, request, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		hash[:], session[:], account, client, request, store.Micros(expires))
	return err
}

// trimInteractions removes the oldest interactions of a session beyond keep.
func trimInteractions(ctx context.Context, tx store.Tx, session digest, keep int) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM oauth_interactions WHERE session = $1 AND hash NOT IN (
			SELECT hash FROM oauth_interactions WHERE session = $1 ORDER BY expires_at DESC LIMIT $2)`, session[:], keep)
	return err
}

// takeInteraction removes an interaction of the session and returns its request.
func takeInteraction(ctx context.Context, tx store.Tx, hash, session digest, account string, now time.Time) (request string, err error) {
	err = tx.QueryRow(ctx, `
		DELETE FROM oauth_interactions WHERE hash = $1 AND session = $2 AND account_id = $3 AND expires_at > $4 RETURNING request`,
		hash[:], session[:], account, store.Micros(now)).Scan(&request)
	return request, err
}

func hasConsent(ctx context.Context, tx store.Tx, r request, account string, now time.Time) (bool, error) {
	var n int
	err := tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM oauth_consents
		WHERE account_id = $1 AND client_id = $2 AND redirect_uri = $3 AND scope = $4 AND resource = $5 AND expires_at > $6`,
		account, r.ClientID, r.RedirectURI, r.Scope, r.Resource, store.Micros(now)).Scan(&n)
	return n > 0, err
}

func rememberConsent(ctx context.Context, tx store.Tx, r request, account string, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_consents (account_id, client_id, redirect_uri, scope, resource, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (account_id, client_id, redirect_uri, scope, resource) DO UPDATE SET expires_at = excluded.expires_at`,
		account, r.ClientID, r.RedirectURI, r.Scope, r.Resource, store.Micros(expires))
	return err
}

func insertCode(ctx context.Context, tx store.Tx, hash digest, c codeRow) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_codes (hash, grant_id, account_id, client_id, client_name, redirect_uri, challenge, scope, resource,
			expires_at, tries, used_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)`,
		hash[:], c.grant, c.account, c.client, c.clientName, c.redirect, c.challenge, c.scope, c.resource, store.Micros(c.expires))
	return err
}

func selectCode(ctx context.Context, tx store.Tx, hash digest) (c codeRow, err error) {
	var expires, used int64
	err = tx.QueryRow(ctx, `
		SELECT grant_id, account_id, client_id, client_name, redirect_uri, challenge, scope, resource, expires_at, tries, used_at
		FROM oauth_codes WHERE hash = $1`, hash[:]).
		Scan(&c.grant, &c.account, &c.client, &c.clientName, &c.redirect, &c.challenge, &c.scope, &c.resource, &expires, &c.tries, &used)
	c.expires, c.used = store.Time(expires), store.Time(used)
	return c, err
}

func countCodeFailure(ctx context.Context, tx store.Tx, hash digest) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_codes SET tries = tries + 1 WHERE hash = $1`, hash[:])
	return err
}

func useCode(ctx context.Context, tx store.Tx, hash digest, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_codes SET used_at = $2 WHERE hash = $1`, hash[:], store.Micros(now))
	return err
}

func insertGrant(ctx context.Context, tx store.Tx, c codeRow, now time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_grants (id, account_id, client_id, client_name, redirect_uri, scope, resource, created_at, used_at,
			expires_at, ends_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)`,
		c.grant, c.account, c.client, c.clientName, c.redirect, c.scope, c.resource,
		store.Micros(now), store.Micros(now.Add(RefreshLife)), store.Micros(now.Add(GrantLife)))
	return err
}

// trimGrants deletes the least recently used grants of the account to a client beyond keep.
func trimGrants(ctx context.Context, tx store.Tx, account, client string, keep int) error {
	_, err := tx.Exec(ctx, `
		DELETE FROM oauth_grants WHERE account_id = $1 AND client_id = $2 AND id NOT IN (
			SELECT id FROM oauth_grants WHERE account_id = $1 AND client_id = $2 ORDER BY used_at DESC, id DESC LIMIT $3)`,
		account, client, keep)
	return err
}

func useGrant(ctx context.Context, tx store.Tx, id string, now, expires time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_grants SET used_at = $2, expires_at = $3 WHERE id = $1`,
		id, store.Micros(now), store.Micros(expires))
	return err
}

func insertAccess(ctx context.Context, tx store.Tx, hash digest, grant, account, scope, resource string, expires time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO oauth_access (hash, grant_id, account_id, scope, resource, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		hash[:], grant, account, scope, resource, store.Micros(expires))
	return err
}

// selectAccess finds an access token.
func selectAccess(ctx context.Context, tx store.Tx, hash digest) (account, scope, resource string, expires time.Time, err error) {
	var micros int64
	err = tx.QueryRow(ctx, `SELECT account_id, scope, resource, expires_at FROM oauth_access WHERE hash = $1`, hash[:]).
		Scan(&account, &scope, &resource, &micros)
	return account, scope, resource, store.Time(micros), err
}

func insertRefresh(ctx context.Context, tx store.Tx, hash digest, grant string, expires time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO oauth_refresh (hash, grant_id, expires_at, used_at, salt) VALUES ($1, $2, $3, 0, $4)`,
		hash[:], grant, store.Micros(expires), []byte{})
	return err
}

func selectRefresh(ctx context.Context, tx store.Tx, hash digest) (r refreshRow, err error) {
	var expires, used, ends int64
	err = tx.QueryRow(ctx, `
		SELECT g.id, g.account_id, g.client_id, g.client_name, g.scope, g.resource, g.ends_at, r.expires_at, r.used_at, r.salt
		FROM oauth_refresh r JOIN oauth_grants g ON g.id = r.grant_id WHERE r.hash = $1`, hash[:]).
		Scan(&r.grant, &r.account, &r.client, &r.clientName, &r.scope, &r.resource, &ends, &expires, &used, &r.salt)
	r.expires, r.used, r.ends = store.Time(expires), store.Time(used), store.Time(ends)
	return r, err
}

func useRefresh(ctx context.Context, tx store.Tx, hash digest, now time.Time, salt []byte) error {
	_, err := tx.Exec(ctx, `UPDATE oauth_refresh SET used_at = $2, salt = $3 WHERE hash = $1`, hash[:], store.Micros(now), salt)
	return err
}

// deleteGrant deletes a grant with its tokens. found is false if there is none.
func deleteGrant(ctx context.Context, tx store.Tx, id string) (found bool, err error) {
	n, err := tx.Exec(ctx, `DELETE FROM oauth_grants WHERE id = $1`, id)
	return n > 0, err
}

func deleteAccess(ctx context.Context, tx store.Tx, hash digest) error {
	_, err := tx.Exec(ctx, `DELETE FROM oauth_access WHERE hash = $1`, hash[:])
	return err
}

// accessClient finds the client of an access token.
func accessClient(ctx context.Context, tx store.Tx, hash digest) (client string, err error) {
	err = tx.QueryRow(ctx, `SELECT g.client_id FROM oauth_access a JOIN oauth_grants g ON g.id = a.grant_id WHERE a.hash = $1`, hash[:]).
		Scan(&client)
	return client, err
}

// deleteClientState removes the account's remembered consent to a client, its open interactions and unredeemed codes.
func deleteClientState(ctx context.Context, tx store.Tx, account, client string) error {
	for _, query := range []string{
		`DELETE FROM oauth_consents WHERE account_id = $1 AND client_id = $2`,
		`DELETE FROM oauth_interactions WHERE account_id = $1 AND client_id = $2`,
		`DELETE FROM oauth_codes WHERE account_id = $1 AND client_id = $2 AND used_at = 0`,
	} {
		if _, err := tx.Exec(ctx, query, account, client); err != nil {
			return err
		}
	}
	return nil
}

// deleteAccountState removes all grants, consents, interactions and unredeemed codes of the account.
func deleteAccountState(ctx context.Context, tx store.Tx, account string, now time.Time) error {
	if _, err := tx.Exec(ctx, `
		UPDATE oauth_clients SET used_at = $2 WHERE id IN (SELECT client_id FROM oauth_grants WHERE account_id = $1)`,
		account, store.Micros(now)); err != nil {
		return err
	}
	for _, query := range []string{
		`DELETE FROM oauth_consents WHERE account_id = $1`,
		`DELETE FROM oauth_interactions WHERE account_id = $1`,
		`DELETE FROM oauth_codes WHERE account_id = $1 AND used_at = 0`,
		`DELETE FROM oauth_grants WHERE account_id = $1`,
	} {
		if _, err := tx.Exec(ctx, query, account); err != nil {
			return err
		}
	}
	return nil
}

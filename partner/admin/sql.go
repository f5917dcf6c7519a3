package admin

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/store"
)

func insertPartner(ctx context.Context, tx store.Tx, p Partner) error {
	r := p.Terms.Rates
	_, err := tx.Exec(ctx, `
		INSERT INTO partners (id, name, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp, sandbox_ahead,
			created_at, suspended_at, approved_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, 0, 0)`,
		p.ID, p.Name, p.Terms.ReviewLimitCents, r.Service, r.Partner, r.Broker, r.Referral, store.Micros(p.Created))
	return err
}

func updateTerms(ctx context.Context, tx store.Tx, id string, t credential.Terms) (int64, error) {
	return tx.Exec(ctx, `
		UPDATE partners SET review_limit_cents = $1, service_bp = $2, partner_bp = $3, broker_bp = $4, referral_bp = $5 WHERE id = $6`,
		t.ReviewLimitCents, t.Rates.Service, t.Rates.Partner, t.Rates.Broker, t.Rates.Referral, id)
}

func selectPartners(ctx context.Context, tx store.Tx) ([]Partner, error) {
	scan := func(rows *sql.Rows) (p Partner, err error) {
		var created, suspended, approved int64
		r := &p.Terms.Rates
		err = rows.Scan(&p.ID, &p.Name, &p.Terms.ReviewLimitCents, &r.Service, &r.Partner, &r.Broker, &r.Referral, &created, &suspended, &approved)
		p.Created, p.Suspended, p.Approved = store.Time(created), store.Time(suspended), store.Time(approved)
		return p, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT id, name, review_limit_cents, service_bp, partner_bp, broker_bp, referral_bp, created_at, suspended_at, approved_at
		FROM partners WHERE id <> $1 ORDER BY id`, checkout.OwnPartner)
}

func insertCredential(ctx context.Context, tx store.Tx, c Credential) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO partner_credentials (key_id, partner_id, environment, scopes, created_at, revoked_at) VALUES ($1, $2, $3, $4, $5, 0)`,
		c.KeyID, c.Partner, c.Environment, strings.Join(c.Scopes, " "), store.Micros(c.Created))
	return err
}

func insertSecret(ctx context.Context, tx store.Tx, keyID string, number int, sealed []byte, now time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO partner_secrets (key_id, number, sealed, created_at, ends_at) VALUES ($1, $2, $3, $4, 0)`,
		keyID, number, sealed, store.Micros(now))
	return err
}

// endSecrets ends the secrets of a credential that have no end yet.
func endSecrets(ctx context.Context, tx store.Tx, keyID string, at time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE partner_secrets SET ends_at = $1 WHERE key_id = $2 AND ends_at = 0`, store.Micros(at), keyID)
	return err
}

// secretsOf returns the environment of a credential that is not revoked, the number of its last secret, and how many of its
// secrets are valid.
func secretsOf(ctx context.Context, tx store.Tx, keyID string, now time.Time) (env credential.Environment, last, good int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT c.environment, MAX(s.number), SUM(CASE WHEN s.ends_at = 0 OR s.ends_at > $1 THEN 1 ELSE 0 END)
		FROM partner_credentials c JOIN partner_secrets s ON s.key_id = c.key_id
		WHERE c.key_id = $2 AND c.revoked_at = 0 GROUP BY c.environment`, store.Micros(now), keyID).Scan(&env, &last, &good)
	return env, last, good, err
}

func selectCredentials(ctx context.Context, tx store.Tx, partnerID string, now time.Time) ([]Credential, error) {
	scan := func(rows *sql.Rows) (c Credential, err error) {
		var scopes string
		var created, revoked int64
		err = rows.Scan(&c.KeyID, &c.Partner, &c.Environment, &scopes, &created, &revoked, &c.Secrets)
		c.Scopes, c.Created, c.Revoked = strings.Fields(scopes), store.Time(created), store.Time(revoked)
		return c, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT c.key_id, c.partner_id, c.environment, c.scopes, c.created_at, c.revoked_at,
			(SELECT COUNT(*) FROM partner_secrets s WHERE s.key_id = c.key_id AND (s.ends_at = 0 OR s.ends_at > $1))
		FROM partner_credentials c WHERE c.partner_id = $2 OR $2 = '' ORDER BY c.created_at, c.key_id`, store.Micros(now), partnerID)
}

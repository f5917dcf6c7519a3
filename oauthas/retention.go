package oauthas

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// usedCodeLife is how long redeemed codes are stored, to detect their reuse during the life of the grant.
const usedCodeLife = GrantLife + time.Hour

// Retention returns the retention rules of this package's tables.
func Retention() []sweep.Rule {
	return []sweep.Rule{
		{Table: "oauth_grants", Kept: "until they are revoked, left unused for 30 days, or a year old", Plan: planGrants, Age: "expires_at"},
		{Table: "oauth_interactions", Kept: "until they are answered or expire", Key: "hash", Age: "expires_at"},
		{Table: "oauth_codes", Kept: "until they expire; redeemed ones a year", Key: "hash", Age: "expires_at", Where: "used_at = 0"},
		{Table: "oauth_codes", Kept: "until they expire; redeemed ones a year", Keep: usedCodeLife, Key: "hash", Age: "expires_at"},
		{Table: "oauth_access", Kept: "until they expire, or as the grant", Key: "hash", Age: "expires_at"},
		{Table: "oauth_refresh", Kept: "until they expire, or as the grant", Key: "hash", Age: "expires_at"},
		{
			Table: "oauth_consents", Kept: "until they expire",
			Key: "account_id, client_id, redirect_uri, scope, resource", Age: "expires_at",
		},
		{
			Table: "oauth_clients", Kept: "7 days after their last use; those with a grant as long as that", Keep: UnusedLife, Key: "id", Age: "used_at",
			Where: `NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = oauth_clients.id)
				AND NOT EXISTS (SELECT 1 FROM oauth_codes k WHERE k.client_id = oauth_clients.id AND k.used_at = 0)
				AND NOT EXISTS (SELECT 1 FROM oauth_interactions i WHERE i.client_id = oauth_clients.id)`,
		},
	}
}

// planGrants finds expired grants. Their clients count as used until then.
func planGrants(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	var one int
	err := tx.QueryRow(ctx, `SELECT 1 FROM oauth_grants WHERE expires_at <= $1 LIMIT 1`, store.Micros(over)).Scan(&one)
	if store.IsNoRows(err) {
		return nil, nil
	}
	return func(ctx context.Context, tx store.Tx) (int64, error) { return removeGrants(ctx, tx, over, limit) }, err
}

func removeGrants(ctx context.Context, tx store.Tx, over time.Time, limit int) (int64, error) {
	clients, err := store.Collect(ctx, tx, store.ScanOne[string], `
		DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants WHERE expires_at <= $1 LIMIT $2) RETURNING client_id`,
		store.Micros(over), limit)
	if err != nil {
		return 0, err
	}
	for _, id := range clients {
		if err := touchClient(ctx, tx, id, over); err != nil {
			return 0, err
		}
	}
	return int64(len(clients)), nil
}

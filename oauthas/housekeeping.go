package oauthas

import (
	"context"
	"time"

	"github.com/namewharf/namewharf/store"
)

// Housekeeping removes what is over. Nothing depends on it but the size of the database.
const (
	housekeepingEvery = 10 * time.Minute
	housekeepingLease = "oauth housekeeping"
	removedAtOnce     = 500                   // rows a transaction, so that others need not wait
	removalPause      = 50 * time.Millisecond // between transactions
	usedCodeLife      = GrantLife + time.Hour // a redeemed code betrays its second redemption as long as its grant may live
)

// removals delete at most $2 rows that are over at the time $1, or were at the time that before gives.
var removals = []struct {
	before time.Duration
	query  string
}{
	{0, `DELETE FROM oauth_interactions WHERE hash IN (SELECT hash FROM oauth_interactions WHERE expires_at <= $1 LIMIT $2)`},
	{0, `DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes WHERE expires_at <= $1 AND used_at = 0 LIMIT $2)`},
	{usedCodeLife, `DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes WHERE expires_at <= $1 LIMIT $2)`},
	{0, `DELETE FROM oauth_access WHERE hash IN (SELECT hash FROM oauth_access WHERE expires_at <= $1 LIMIT $2)`},
	{0, `DELETE FROM oauth_refresh WHERE hash IN (SELECT hash FROM oauth_refresh WHERE expires_at <= $1 LIMIT $2)`},
	{0, `
		DELETE FROM oauth_consents WHERE (account_id, client_id, redirect_uri, scope, resource) IN (
			SELECT account_id, client_id, redirect_uri, scope, resource FROM oauth_consents WHERE expires_at <= $1 LIMIT $2)`},
	{UnusedLife, `
		DELETE FROM oauth_clients WHERE id IN (
			SELECT id FROM oauth_clients c WHERE used_at <= $1
				AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id)
				AND NOT EXISTS (SELECT 1 FROM oauth_codes k WHERE k.client_id = c.id AND k.used_at = 0)
				AND NOT EXISTS (SELECT 1 FROM oauth_interactions i WHERE i.client_id = c.id)
			LIMIT $2)`},
}

func (s *Server) housekeeping(ctx context.Context) {
	s.cfg.DB.Regularly(ctx, housekeepingLease, housekeepingEvery, s.tidy, func(err error) {
		s.cfg.Logger.ErrorContext(ctx, "oauth housekeeping failed", "error", err.Error())
	})
}

// tidy removes what is over.
func (s *Server) tidy(ctx context.Context) error {
	if err := s.inTurns(ctx, s.removeGrants); err != nil {
		return err
	}
	err := s.inTurns(ctx, func(ctx context.Context, tx store.Tx) (int64, error) {
		return store.RemoveFullBuckets(ctx, tx, s.cfg.Now(), removedAtOnce)
	})
	if err != nil {
		return err
	}
	for _, removal := range removals {
		err := s.inTurns(ctx, func(ctx context.Context, tx store.Tx) (int64, error) {
			return tx.Exec(ctx, removal.query, store.Micros(s.cfg.Now().Add(-removal.before)), removedAtOnce)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeGrants removes grants that were left unused for too long. Their clients count as used until now.
func (s *Server) removeGrants(ctx context.Context, tx store.Tx) (int64, error) {
	now := s.cfg.Now()
	rows, err := tx.Query(ctx, `
		DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants WHERE expires_at <= $1 LIMIT $2) RETURNING client_id`,
		store.Micros(now), removedAtOnce)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var clients []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, err
		}
		clients = append(clients, id)
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, id := range clients {
		if err := touchClient(ctx, tx, id, now); err != nil {
			return 0, err
		}
	}
	return int64(len(clients)), nil
}

// inTurns removes rows in transactions of bounded size until none are left.
func (s *Server) inTurns(ctx context.Context, remove func(context.Context, store.Tx) (int64, error)) error {
	for {
		var n int64
		err := s.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
			n, err = remove(ctx, tx)
			return err
		})
		if err != nil || n < removedAtOnce {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(removalPause):
		}
	}
}

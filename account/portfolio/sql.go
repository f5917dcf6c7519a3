package portfolio

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// chunkSize is how many names one statement takes. SQLite searches the names of all binds for each, so more are slower.
const chunkSize = 50

// inChunks calls f for at most chunkSize items at a time.
func inChunks[T any](all []T, f func(part []T) error) error {
	for at := 0; at < len(all); at += chunkSize {
		if err := f(all[at:min(at+chunkSize, len(all))]); err != nil {
			return err
		}
	}
	return nil
}

func appendNames(args []any, names []fqdn.Name) []any {
	for _, n := range names {
		args = append(args, n.String())
	}
	return args
}

const claimColumns = `domain, status, proof, added_at, verified_at, registrar_id, registrar, registered_at, expires_at, checked_at`

// claimsOf reads the account's claims of the names, in any order.
func claimsOf(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) ([]Claim, error) {
	var all []Claim
	err := inChunks(names, func(part []fqdn.Name) error {
		some, err := store.Collect(ctx, tx, scanClaim, `
			SELECT `+claimColumns+` FROM portfolio
			WHERE account_id = $1 AND domain IN (`+store.Binds(2, len(part))+`)`, appendNames([]any{account}, part)...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// claimsAfter reads a page of the account's claims in the order of their names.
func claimsAfter(ctx context.Context, tx store.Tx, account string, after fqdn.Name, limit int) ([]Claim, error) {
	return store.Collect(ctx, tx, scanClaim, `
		SELECT `+claimColumns+` FROM portfolio
		WHERE account_id = $1 AND domain > $2 ORDER BY domain LIMIT $3`, account, after.String(), limit)
}

func scanClaim(rows *sql.Rows) (Claim, error) {
	var c Claim
	var domain string
	var added, verified, registered, expires, checked int64
	r := &c.Registration
	err := rows.Scan(&domain, &c.Status, &c.Proof, &added, &verified, &r.RegistrarID, &r.Registrar, &registered, &expires, &checked)
	if err != nil {
		return Claim{}, err
	}
	if c.Domain, err = fqdn.Parse(domain); err != nil {
		return Claim{}, fmt.Errorf("a claimed name %w", err)
	}
	c.Added, c.VerifiedAt, c.CheckedAt = store.Time(added), store.Time(verified), store.Time(checked)
	r.Created, r.Expires = store.Time(registered), store.Time(expires)
	return c, nil
}

func count(ctx context.Context, tx store.Tx, account string) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM portfolio WHERE account_id = $1`, account).Scan(&n)
	return n, err
}

func insertClaim(ctx context.Context, tx store.Tx, account string, c Claim) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO portfolio (account_id, domain, status, proof, added_at, verified_at,
			registrar_id, registrar, registered_at, expires_at, checked_at, due_at)
		VALUES ($1, $2, $3, $4, $5, 0, '', '', 0, 0, 0, 0)`, account, c.Domain.String(), c.Status, c.Proof, store.Micros(c.Added))
	return err
}

func deleteClaims(ctx context.Context, tx store.Tx, account string, names []fqdn.Name) error {
	return inChunks(names, func(part []fqdn.Name) error {
		_, err := tx.Exec(ctx, `DELETE FROM portfolio WHERE account_id = $1 AND domain IN (`+store.Binds(2, len(part))+`)`, appendNames([]any{account}, part)...)
		return err
	})
}

// setVerified makes the account the owner of the names, whose registry check is due at once.
func setVerified(ctx context.Context, tx store.Tx, account string, names []fqdn.Name, now time.Time) error {
	return inChunks(names, func(part []fqdn.Name) error {
		_, err := tx.Exec(ctx, `
			UPDATE portfolio SET status = 'verified', verified_at = $1, due_at = $1
			WHERE account_id = $2 AND domain IN (`+store.Binds(3, len(part))+`)`, appendNames([]any{store.Micros(now), account}, part)...)
		return err
	})
}

// unverify ends a claim's ownership and gives it another proof value.
func unverify(ctx context.Context, tx store.Tx, account string, name fqdn.Name, to Status) error {
	_, err := tx.Exec(ctx, `UPDATE portfolio SET status = $1, proof = $2 WHERE account_id = $3 AND domain = $4`,
		to, newProof(), account, name.String())
	return err
}

// An owner is a name with the account that has proven it.
type owner struct {
	account string
	domain  fqdn.Name
}

// ownersOf reads who owns the names.
func ownersOf(ctx context.Context, tx store.Tx, names []fqdn.Name) ([]owner, error) {
	var all []owner
	err := inChunks(names, func(part []fqdn.Name) error {
		some, err := owners(ctx, tx, `domain IN (`+store.Binds(1, len(part))+`)`, appendNames(nil, part)...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// due reads the names whose registry check is due, the longest due first.
func due(ctx context.Context, tx store.Tx, now time.Time, limit int) ([]owner, error) {
	return owners(ctx, tx, `due_at <= $1 ORDER BY due_at, domain LIMIT $2`, store.Micros(now), limit)
}

func owners(ctx context.Context, tx store.Tx, where string, args ...any) ([]owner, error) {
	scan := func(rows *sql.Rows) (o owner, err error) {
		var domain string
		if err := rows.Scan(&o.account, &domain); err != nil {
			return owner{}, err
		}
		if o.domain, err = fqdn.Parse(domain); err != nil {
			return owner{}, fmt.Errorf("an owned name %w", err)
		}
		return o, nil
	}
	return store.Collect(ctx, tx, scan, `SELECT account_id, domain FROM portfolio WHERE status = 'verified' AND `+where, args...)
}

// setRegistration stores what the registry said, and the time of the next check.
func setRegistration(ctx context.Context, tx store.Tx, account string, name fqdn.Name, r Registration, now, again time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE portfolio SET registrar_id = $1, registrar = $2, registered_at = $3, expires_at = $4, checked_at = $5, due_at = $6
		WHERE account_id = $7 AND domain = $8`,
		r.RegistrarID, r.Registrar, store.Micros(r.Created), store.Micros(r.Expires), store.Micros(now), store.Micros(again),
		account, name.String())
	return err
}

// postpone sets the time of a name's next check.
func postpone(ctx context.Context, tx store.Tx, o owner, again time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE portfolio SET due_at = $1 WHERE account_id = $2 AND domain = $3`,
		store.Micros(again), o.account, o.domain.String())
	return err
}

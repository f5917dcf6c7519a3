package account

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Filter selects accounts for the operator. Zero fields select all.
type Filter struct {
	Email    string // a part of the address, in any case
	Active   bool   // only those that are not disabled
	Disabled bool   // only those that are
	Limit    int    // 1 to [MaxListed]
}

// MaxListed is how many accounts [Accounts.List] returns at most.
const MaxListed = 1000

// escapeLike escapes the wildcards of LIKE.
var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// List returns accounts, the newest first. It fails with [fault.Validation].
func (a *Accounts) List(ctx context.Context, f Filter) ([]Account, error) {
	if f.Limit < 1 || f.Limit > MaxListed {
		return nil, fault.Invalid("limit", "must be from 1 to %d", MaxListed)
	}
	if !plainText(f.Email) {
		return nil, fault.Invalid("email", "must be text")
	}
	where := `email LIKE $1 ESCAPE '\'`
	if f.Active {
		where += ` AND disabled = 0`
	}
	if f.Disabled {
		where += ` AND disabled <> 0`
	}
	var all []Account
	scan := func(rows *sql.Rows) (Account, error) {
		row, err := scanAccount(rows)
		return row.Account, err
	}
	err := a.db.Read(ctx, func(tx store.Tx) (err error) {
		all, err = store.Collect(ctx, tx, scan, `SELECT `+accountColumns+` FROM accounts WHERE `+where+` ORDER BY created DESC, id DESC LIMIT $2`,
			"%"+escapeLike.Replace(strings.ToLower(f.Email))+"%", f.Limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list accounts: %w", err)
	}
	return all, nil
}

// Disable ends all sessions, links and grants of an account and refuses its sign-ins with the answer for wrong credentials.
// It is idempotent. It fails with [fault.NotFound].
func (a *Accounts) Disable(ctx context.Context, id string) error {
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		row, err := a.mustFind(ctx, tx, id)
		if err != nil || !row.Disabled.IsZero() {
			return err
		}
		if err := setDisabled(ctx, tx, id, store.Micros(a.now())); err != nil {
			return err
		}
		if err := a.revokeAll(ctx, tx, id); err != nil {
			return err
		}
		if err := addEntry(ctx, tx, Entry{AccountID: id, At: a.now(), What: Disabled}); err != nil {
			return err
		}
		return a.audit(ctx, tx, "account.disable", id)
	})
	if err != nil {
		return fmt.Errorf("disable an account: %w", err)
	}
	return nil
}

// Enable lets an account sign in again. It fails with [fault.NotFound].
func (a *Accounts) Enable(ctx context.Context, id string) error {
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		row, err := a.mustFind(ctx, tx, id)
		if err != nil || row.Disabled.IsZero() {
			return err
		}
		if err := setDisabled(ctx, tx, id, 0); err != nil {
			return err
		}
		if err := addEntry(ctx, tx, Entry{AccountID: id, At: a.now(), What: Enabled}); err != nil {
			return err
		}
		return a.audit(ctx, tx, "account.enable", id)
	})
	if err != nil {
		return fmt.Errorf("enable an account: %w", err)
	}
	return nil
}

// Remove is [Accounts.Delete] by the operator, without a session and without a mail. It fails with [fault.NotFound], and
// with [fault.Conflict] if something in progress needs the account.
func (a *Accounts) Remove(ctx context.Context, id string) error {
	err := a.db.Tx(ctx, func(tx store.Tx) error {
		if _, err := a.mustFind(ctx, tx, id); err != nil {
			return err
		}
		if err := a.remove(ctx, tx, id); err != nil {
			return err
		}
		return a.audit(ctx, tx, "account.delete", id)
	})
	if err != nil {
		return fmt.Errorf("delete an account: %w", err)
	}
	return nil
}

func setDisabled(ctx context.Context, tx store.Tx, id string, at int64) error {
	_, err := tx.Exec(ctx, `UPDATE accounts SET disabled = $2 WHERE id = $1`, id, at)
	return err
}

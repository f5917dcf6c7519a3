package account

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// An accountRow is an account with its secret columns.
type accountRow struct {
	Account
	password string // PHC string, or empty
	handle   []byte
}

const accountColumns = `id, email, verified, password, handle, created, disabled`

func (r *accountRow) scan(row scanner) error {
	var verified, created, disabled int64
	err := row.Scan(&r.ID, &r.Email, &verified, &r.password, &r.handle, &created, &disabled)
	r.Verified, r.Created, r.Disabled = verified != 0, store.Time(created), store.Time(disabled)
	return err
}

func scanAccount(rows *sql.Rows) (row accountRow, err error) {
	err = row.scan(rows)
	return row, err
}

// findTx reads the account whose column (id, email or handle) has the value; found is false when there is none.
func findTx(ctx context.Context, tx store.Tx, column string, value any) (row accountRow, found bool, err error) {
	err = row.scan(tx.QueryRow(ctx, `SELECT `+accountColumns+` FROM accounts WHERE `+column+` = $1`, value))
	if store.IsNoRows(err) {
		return accountRow{}, false, nil
	}
	if err != nil {
		return accountRow{}, false, fmt.Errorf("read an account: %w", err)
	}
	return row, true, nil
}

// lookup is findTx in a transaction of its own.
func (a *Accounts) lookup(ctx context.Context, column string, value any) (row accountRow, found bool, err error) {
	err = a.db.Read(ctx, func(tx store.Tx) (err error) {
		row, found, err = findTx(ctx, tx, column, value)
		return err
	})
	return row, found, err
}

// find is lookup that fails with [fault.NotFound].
func (a *Accounts) find(ctx context.Context, column, value string) (accountRow, error) {
	row, found, err := a.lookup(ctx, column, value)
	if err != nil {
		return accountRow{}, err
	}
	if !found {
		return accountRow{}, errNoAccount()
	}
	return row, nil
}

func errNoAccount() error { return fault.New(fault.NotFound, "there is no such account") }

// insertAccount stores a new account and reports whether the address was free.
func insertAccount(ctx context.Context, tx store.Tx, r accountRow, now time.Time) (fresh bool, err error) {
	var verified int64
	if r.Verified {
		verified = store.Micros(now)
	}
	n, err := tx.Exec(ctx, `INSERT INTO accounts (`+accountColumns+`) VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT (email) DO NOTHING`,
		r.ID, r.Email, verified, r.password, r.handle, store.Micros(r.Created))
	if err != nil {
		return false, fmt.Errorf("store an account: %w", err)
	}
	return n == 1, nil
}

func setPassword(ctx context.Context, tx store.Tx, accountID, hash string) error {
	_, err := tx.Exec(ctx, `UPDATE accounts SET password = $2 WHERE id = $1`, accountID, hash)
	if err != nil {
		return fmt.Errorf("store a password: %w", err)
	}
	return nil
}

// setVerified records that the address is confirmed.
func setVerified(ctx context.Context, tx store.Tx, accountID string, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE accounts SET verified = $2 WHERE id = $1 AND verified = 0`, accountID, store.Micros(now))
	if err != nil {
		return fmt.Errorf("verify an account: %w", err)
	}
	return nil
}

// each runs statements that take one account.
func each(ctx context.Context, tx store.Tx, accountID string, statements ...string) error {
	for _, s := range statements {
		if _, err := tx.Exec(ctx, s, accountID); err != nil {
			return err
		}
	}
	return nil
}

// addEntry adds an entry to the security log, or increments the count of an equal one within the last hour, so that
// repetition does not fill the log.
func addEntry(ctx context.Context, tx store.Tx, e Entry) error {
	n, err := tx.Exec(ctx, `UPDATE account_log SET times = times + 1, at = $3
		WHERE id = (SELECT MAX(id) FROM account_log WHERE account_id = $1 AND what = $2 AND at > $4 AND detail = $5 AND address = $6)`,
		e.AccountID, e.What, store.Micros(e.At), store.Micros(e.At.Add(-time.Hour)), clean(e.Detail, maxDetail), addressText(e.From))
	if err != nil {
		return fmt.Errorf("log %s: %w", e.What, err)
	}
	if n > 0 {
		return nil
	}
	return insertEntry(ctx, tx, e)
}

func insertEntry(ctx context.Context, tx store.Tx, e Entry) error {
	_, err := tx.Exec(ctx, `INSERT INTO account_log (id, account_id, at, what, detail, address, times) VALUES ($1, $2, $3, $4, $5, $6, 1)`,
		store.NewID("log"), e.AccountID, store.Micros(e.At), e.What, clean(e.Detail, maxDetail), addressText(e.From))
	if err != nil {
		return fmt.Errorf("log %s: %w", e.What, err)
	}
	return nil
}

// addFailureEntry is addEntry for failed attempts on an account: it counts the same event from all addresses in one entry.
func addFailureEntry(ctx context.Context, tx store.Tx, e Entry) error {
	n, err := tx.Exec(ctx, `UPDATE account_log SET times = times + 1, at = $3, address = $5
		WHERE id = (SELECT MAX(id) FROM account_log WHERE account_id = $1 AND what = $2 AND at > $4)`,
		e.AccountID, e.What, store.Micros(e.At), store.Micros(e.At.Add(-time.Hour)), addressText(e.From))
	if err != nil {
		return fmt.Errorf("log %s: %w", e.What, err)
	}
	if n == 0 {
		return insertEntry(ctx, tx, e)
	}
	return nil
}

func readLog(ctx context.Context, tx store.Tx, accountID string, limit int) ([]Entry, error) {
	return scanLog(ctx, tx, accountID, `ORDER BY at DESC, id DESC LIMIT $2`, limit)
}

// scanLog reads entries of an account. The rest of the query selects and orders them, with the binds from $2 on.
func scanLog(ctx context.Context, tx store.Tx, accountID, rest string, args ...any) ([]Entry, error) {
	scan := func(rows *sql.Rows) (Entry, error) {
		e := Entry{AccountID: accountID}
		var at int64
		var address string
		err := rows.Scan(&e.ID, &at, &e.What, &e.Detail, &address, &e.Times)
		e.At = store.Time(at)
		e.From, _ = netip.ParseAddr(address)
		return e, err
	}
	return store.Collect(ctx, tx, scan, `SELECT id, at, what, detail, address, times FROM account_log WHERE account_id = $1 `+rest,
		append([]any{accountID}, args...)...)
}

// useNonce marks a flow as used. It fails with [fault.InvalidToken] when it was used before.
func useNonce(ctx context.Context, tx store.Tx, nonce []byte, expires time.Time) error {
	n, err := tx.Exec(ctx, `INSERT INTO account_spent (nonce, expires) VALUES ($1, $2) ON CONFLICT (nonce) DO NOTHING`, nonce, store.Micros(expires))
	if err != nil {
		return fmt.Errorf("mark a flow as used: %w", err)
	}
	if n == 0 {
		return fault.New(fault.InvalidToken, "this attempt was completed before").WithHint("begin again")
	}
	return nil
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().String()
}

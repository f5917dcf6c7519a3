package ledger

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// Balance is the sum of what is posted to an owner's account in a currency.
func Balance(ctx context.Context, tx store.Tx, owner Owner, account Account, currency string) (money.Amount, error) {
	sum := money.Amount{Currency: currency}
	err := tx.QueryRow(ctx, `
		SELECT CAST(COALESCE(SUM(cents), 0) AS BIGINT) FROM postings
		WHERE partner = $1 AND environment = $2 AND account = $3 AND currency = $4`,
		owner.Partner, owner.Environment, account, currency).Scan(&sum.Cents)
	if err != nil {
		return money.Amount{}, fmt.Errorf("sum an account: %w", err)
	}
	return sum, nil
}

// Balances are the sums of an owner's accounts, in the order of account and currency. Accounts without postings are left
// out; those that are even are not.
func Balances(ctx context.Context, tx store.Tx, owner Owner) ([]Posting, error) {
	rows, err := tx.Query(ctx, `
		SELECT account, currency, CAST(SUM(cents) AS BIGINT) FROM postings
		WHERE partner = $1 AND environment = $2 GROUP BY account, currency ORDER BY account, currency`,
		owner.Partner, owner.Environment)
	if err != nil {
		return nil, fmt.Errorf("sum accounts: %w", err)
	}
	defer rows.Close()
	var all []Posting
	for rows.Next() {
		var p Posting
		if err := rows.Scan(&p.Account, &p.Amount.Currency, &p.Amount.Cents); err != nil {
			return nil, fmt.Errorf("sum accounts: %w", err)
		}
		all = append(all, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("sum accounts: %w", err)
	}
	return all, nil
}

package portfolio

import (
	"context"
	"fmt"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// shownSelling is how many names a refusal lists.
const shownSelling = 5

// RemoveAll ends all offers of an account and removes its names and events in the caller's transaction, for the deletion of
// the account; afterwards call [Portfolio.Refresh]. Ended offers stay, under the account's ID. It fails with
// [fault.Conflict] while a name of the account is being sold.
func (p *Portfolio) RemoveAll(ctx context.Context, tx store.Tx, account string) error {
	return RemoveAll(ctx, tx, p.cfg.Market, account)
}

// RemoveAll is [Portfolio.RemoveAll] for a program without a Portfolio.
func RemoveAll(ctx context.Context, tx store.Tx, m Market, account string) error {
	if err := m.WithdrawAll(ctx, tx, account); err != nil { // first, so that none is sold from here on
		return fault.Wrap("withdraw all offers", err)
	}
	selling, err := m.Selling(ctx, tx, account)
	if err != nil {
		return fault.Wrap("look for sales in progress", err)
	}
	if len(selling) > 0 {
		return errSelling(selling)
	}
	for _, query := range []string{`DELETE FROM portfolio WHERE account_id = $1`, `DELETE FROM portfolio_events WHERE account_id = $1`} {
		if _, err := tx.Exec(ctx, query, account); err != nil {
			return fmt.Errorf("remove a portfolio: %w", err)
		}
	}
	return nil
}

func errSelling(names []fqdn.Name) error {
	var shown []string
	for _, n := range names[:min(len(names), shownSelling)] {
		shown = append(shown, n.String())
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("%d more", more))
	}
	return fault.New(fault.Conflict, "the sale of %s is in progress", strings.Join(shown, ", ")).
		WithHint("wait until the sale is complete, then try again")
}

// Holds reports whether the account claims a name, or sells one at this moment.
func (p *Portfolio) Holds(ctx context.Context, tx store.Tx, account string) (bool, error) {
	n, err := count(ctx, tx, account)
	if err != nil || n > 0 {
		return n > 0, err
	}
	selling, err := p.cfg.Market.Selling(ctx, tx, account)
	return len(selling) > 0, err
}

// Refresh makes removals visible in this process.
func (p *Portfolio) Refresh(ctx context.Context) error { return p.cfg.Market.Refresh(ctx) }

// Listings returns up to limit of the account's offers in every state that follow after, ordered by name and ID. The zero
// Listing starts at the first.
func (p *Portfolio) Listings(ctx context.Context, account string, after Listing, limit int) (all []Listing, err error) {
	err = p.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = p.cfg.Market.Listings(ctx, tx, account, after, limit)
		return err
	})
	if err != nil {
		return nil, fault.Wrap("list the offers of an account", err)
	}
	return all, nil
}

// Events returns up to limit events of the account's names that follow after, the earliest first. The zero Event starts at
// the first.
func (p *Portfolio) Events(ctx context.Context, account string, after Event, limit int) (all []Event, err error) {
	err = p.cfg.DB.Read(ctx, func(tx store.Tx) error {
		all, err = readEvents(ctx, tx, account, `AND (at, id) > ($2, $3) ORDER BY at, id LIMIT $4`, store.Micros(after.At), after.ID, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what happened to a portfolio: %w", err)
	}
	return all, nil
}

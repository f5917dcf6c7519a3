package payment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Filter says which payments to list. Empty fields do not filter.
type Filter struct {
	Order       string
	Purchase    string
	Partner     string
	Environment string
	State       State
	Limit       int    // 1 to MaxPage; 0: DefaultPage
	After       string // id of the last payment of the page before
}

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// List returns payments, the newest first, losers' voids included, and the id to go on after; that is empty at the end. It fails
// with [fault.Validation] for a filter that does not hold.
func (s *Service) List(ctx context.Context, f Filter) (page []Payment, next string, err error) {
	if f.Limit < 0 || f.Limit > MaxPage {
		return nil, "", fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	}
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	if f.State != "" && !slices.Contains(States(), f.State) {
		return nil, "", fault.Invalid("state", "is not a state of a payment")
	}
	for field, text := range map[string]string{
		"order": f.Order, "purchase": f.Purchase, "partner": f.Partner, "environment": f.Environment, "after": f.After,
	} {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, "", fault.Invalid(field, "is no text")
		}
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		page, err = selectPayments(ctx, tx, f)
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list payments: %w", err)
	}
	if len(page) > f.Limit {
		page = page[:f.Limit]
		next = page[f.Limit-1].ID
	}
	return page, next, nil
}

// A Backlog is what is to be done about payments, for metrics.
type Backlog struct {
	Waiting int           // for their buyers, or for the provider to open a page for them
	Due     int           // something else is to be done
	Failing int           // and failed at least once
	Oldest  time.Duration // for how long something else has been to be done, at most
}

// Backlog counts.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var oldest int64
		err := tx.QueryRow(ctx, `
			SELECT COALESCE(SUM(CASE WHEN todo IN ('start', 'await') THEN 1 ELSE 0 END), 0),
				COALESCE(SUM(CASE WHEN todo NOT IN ('start', 'await') THEN 1 ELSE 0 END), 0),
				COALESCE(SUM(CASE WHEN attempts > 0 THEN 1 ELSE 0 END), 0),
				COALESCE(MIN(CASE WHEN todo NOT IN ('start', 'await') THEN updated_at END), 0)
			FROM payments WHERE todo <> ''`).Scan(&b.Waiting, &b.Due, &b.Failing, &oldest)
		if oldest > 0 {
			b.Oldest = max(0, s.cfg.Now().Sub(store.Time(oldest)))
		}
		return err
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("count what is to be done about payments: %w", err)
	}
	return b, nil
}

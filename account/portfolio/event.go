package portfolio

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// An Event is something that happened to a name of an account.
type Event struct {
	ID      string
	Account string
	Domain  fqdn.Name
	Kind    Kind
	Detail  string // a sentence for the owner; may be empty
	At      time.Time
}

// A Kind says what happened.
type Kind string

// The kinds of events.
const (
	Added     Kind = "added"
	Proven    Kind = "verified"
	Displaced Kind = "displaced"  // another account has proven the name
	Paused    Kind = "suspended"  // the registry says that the name changed hands
	Unlisted  Kind = "not_listed" // the name is proven, and cannot be for sale
	Removed   Kind = "removed"
)

// Log returns what happened to the account's names, the latest first, at most limit events.
func (p *Portfolio) Log(ctx context.Context, account string, limit int) ([]Event, error) {
	var all []Event
	err := p.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		all, err = readEvents(ctx, tx, account, `ORDER BY at DESC, id DESC LIMIT $2`, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read what happened to a portfolio: %w", err)
	}
	return all, nil
}

// readEvents reads events of an account. The rest of the query selects and orders them, with the binds from $2 on.
func readEvents(ctx context.Context, tx store.Tx, account, rest string, args ...any) ([]Event, error) {
	scan := func(rows *sql.Rows) (Event, error) {
		e := Event{Account: account}
		var domain string
		var at int64
		err := rows.Scan(&e.ID, &domain, &e.Kind, &e.Detail, &at)
		if err != nil {
			return Event{}, err
		}
		if e.Domain, err = fqdn.Parse(domain); err != nil {
			return Event{}, fmt.Errorf("the name of an event %w", err)
		}
		e.At = store.Time(at)
		return e, nil
	}
	return store.Collect(ctx, tx, scan, `SELECT id, domain, kind, detail, at FROM portfolio_events WHERE account_id = $1 `+rest,
		append([]any{account}, args...)...)
}

// insertEvents stores events with the current time.
func (p *Portfolio) insertEvents(ctx context.Context, tx store.Tx, events ...Event) error {
	now := store.Micros(p.cfg.DB.Now())
	return inChunks(events, func(part []Event) error {
		const own = 5 // binds of a row; the time is shared
		args := []any{now}
		var values strings.Builder
		for i, e := range part {
			if i > 0 {
				values.WriteString(", ")
			}
			n := len(args)
			fmt.Fprintf(&values, "($%d, $%d, $%d, $%d, $%d, $1)", n+1, n+2, n+3, n+4, n+own)
			args = append(args, store.NewID("evt"), e.Account, e.Domain.String(), e.Kind, e.Detail)
		}
		_, err := tx.Exec(ctx, `INSERT INTO portfolio_events (id, account_id, domain, kind, detail, at) VALUES `+values.String(), args...)
		return err
	})
}

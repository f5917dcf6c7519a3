package market

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market/index"
	"github.com/namewharf/namewharf/store"
)

// takeChange gives the transaction its number, under which it writes listings, and holds the environment's counter until
// it ends: numbers become visible in their order. It comes before every other statement on listings, so that transactions
// wait for one another here and nowhere else.
func takeChange(ctx context.Context, tx store.Tx, env Environment) (change int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE listing_changes SET change = change + 1 WHERE environment = $1 RETURNING change`, env).Scan(&change)
	if err != nil {
		return 0, fmt.Errorf("number the change: %w", err)
	}
	return change, nil
}

// Find returns the listing of a domain that is for sale. It fails with [fault.NotFound].
func Find(ctx context.Context, db *store.DB, env Environment, domain fqdn.Name) (Listing, error) {
	var found Listing
	err := db.Read(ctx, func(tx store.Tx) (err error) {
		found, err = FindIn(ctx, tx, env, domain)
		return err
	})
	return found, err
}

// FindIn is [Find] within a transaction of the caller.
func FindIn(ctx context.Context, tx store.Tx, env Environment, domain fqdn.Name) (Listing, error) {
	found, err := readListed(ctx, tx, env, []string{domain.String()})
	if err != nil {
		return Listing{}, fmt.Errorf("find a listing: %w", err)
	}
	if len(found) == 0 {
		return Listing{}, fault.New(fault.NotFound, "the domain is not listed for sale")
	}
	return found[0], nil
}

// IsListed reports whether a domain is for sale.
func IsListed(ctx context.Context, tx store.Tx, env Environment, domain fqdn.Name) (bool, error) {
	found, err := readListed(ctx, tx, env, []string{domain.String()})
	return len(found) > 0, err
}

// details reads the listings of entries, in their order. It leaves out those that are gone.
func (m *Market) details(ctx context.Context, env Environment, entries []index.Entry) ([]Listing, error) {
	if len(entries) == 0 {
		return []Listing{}, nil
	}
	domains := make([]string, len(entries))
	places := make(map[string]int, len(entries))
	for i, e := range entries {
		domains[i] = e.Domain
		places[e.Domain] = i
	}
	var found []Listing
	err := m.db.Read(ctx, func(tx store.Tx) (err error) {
		found, err = readListed(ctx, tx, env, domains)
		return err
	})
	if err != nil {
		return nil, err
	}
	ordered := make([]Listing, len(entries))
	for _, l := range found {
		ordered[places[l.Domain.String()]] = l
	}
	listings := ordered[:0]
	for _, l := range ordered {
		if !l.Domain.IsZero() {
			listings = append(listings, l)
		}
	}
	return listings, nil
}

// readListed reads the listed ones of the domains, in any order.
func readListed(ctx context.Context, tx store.Tx, env Environment, domains []string) ([]Listing, error) {
	args := make([]any, 1, 1+len(domains))
	args[0] = env
	for _, d := range domains {
		args = append(args, d)
	}
	return store.Collect(ctx, tx, scanListing(env), `
		SELECT `+listingColumns+` FROM listings
		WHERE environment = $1 AND status = 'listed' AND domain IN (`+store.Binds(2, len(domains))+`)`, args...)
}

// listingColumns are the columns that scanListing reads.
const listingColumns = `id, domain, price_cents, floor_price_cents, currency, description, keywords, seller_id, status, listed_at, updated_at`

// scanListing reads rows of the environment.
func scanListing(env Environment) func(*sql.Rows) (Listing, error) {
	return func(rows *sql.Rows) (Listing, error) {
		l := Listing{Environment: env}
		var domain, keywords string
		var listed, updated int64
		err := rows.Scan(&l.ID, &domain, &l.PriceCents, &l.FloorPriceCents, &l.Currency, &l.Description, &keywords,
			&l.SellerID, &l.Status, &listed, &updated)
		if err != nil {
			return Listing{}, err
		}
		if l.Domain, err = fqdn.Parse(domain); err != nil {
			return Listing{}, fmt.Errorf("listing %s: domain %w", l.ID, err)
		}
		l.Keywords = splitKeywords(keywords)
		l.ListedAt, l.UpdatedAt = store.Time(listed), store.Time(updated)
		return l, nil
	}
}

// Keywords are stored in one column, separated by a character that none holds.
const keywordSeparator = "\n"

func joinKeywords(keywords []string) string { return strings.Join(keywords, keywordSeparator) }

func splitKeywords(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, keywordSeparator)
}

// changesOf returns the number of the last change in the environment, and how many names are for sale.
func changesOf(ctx context.Context, tx store.Tx, env Environment) (change int64, listed int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT change, (SELECT COUNT(*) FROM listings WHERE environment = $1 AND status = 'listed')
		FROM listing_changes WHERE environment = $2`, env, env).Scan(&change, &listed)
	return change, listed, err
}

// visible reads every entry that is for sale in the environment.
func visible(ctx context.Context, tx store.Tx, env Environment, add func(index.Entry)) error {
	var domain, currency, keywords sql.RawBytes
	var last string // most listings have the currency of the one before
	read := func(rows *sql.Rows) error {
		var e index.Entry
		if err := rows.Scan(&domain, &e.PriceCents, &currency, &e.ListedAt, &keywords); err != nil {
			return err
		}
		if last != string(currency) {
			last = string(currency)
		}
		e.Domain, e.Currency, e.Keywords = string(domain), last, splitKeywords(string(keywords))
		add(e)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT domain, price_cents, currency, listed_at, keywords FROM listings
		WHERE environment = $1 AND status = 'listed'`, env)
}

// place is where following the changes goes on: with this change, behind this id.
type place struct {
	change int64
	id     string
}

// changesAtOnce is how many changed rows are read and applied at a time: searches wait while they are applied, some
// hundredths of a second in an index of a million.
const changesAtOnce = 2000

// changesLimit is that number in SQL, where SQLite compiles a statement with a bound limit anew each time.
var changesLimit = strconv.Itoa(changesAtOnce)

// changedSince reads up to changesAtOnce changes from the place on, and the place behind them. Each says how the domain
// is now.
func changedSince(ctx context.Context, tx store.Tx, env Environment, from place) ([]index.Change, place, error) {
	last := from
	scan := func(rows *sql.Rows) (c index.Change, err error) {
		var price, listed sql.NullInt64
		var currency, keywords sql.NullString
		err = rows.Scan(&last.change, &last.id, &c.Domain, &price, &currency, &listed, &keywords)
		c.Gone = !price.Valid
		c.PriceCents, c.Currency, c.ListedAt = price.Int64, currency.String, listed.Int64
		c.Keywords = splitKeywords(keywords.String)
		return c, err
	}
	changes, err := store.Collect(ctx, tx, scan, `
		SELECT c.change, c.id, c.domain, l.price_cents, l.currency, l.listed_at, l.keywords
		FROM listings c
		LEFT JOIN listings l ON l.environment = c.environment AND l.domain = c.domain AND l.status = 'listed'
		WHERE c.environment = $1 AND (c.change, c.id) > ($2, $3)
		ORDER BY c.change, c.id LIMIT `+changesLimit, env, from.change, from.id)
	if err != nil {
		return nil, from, err
	}
	if len(changes) < changesAtOnce && last.id != "" {
		last = place{change: last.change + 1} // numbers become visible in their order: nothing more has this one
	}
	return changes, last, nil
}

// countChanges is how many changes follow the place.
func countChanges(ctx context.Context, tx store.Tx, env Environment, from place) (n int, err error) {
	err = tx.QueryRow(ctx, `
		SELECT COUNT(*) FROM listings WHERE environment = $1 AND (change, id) > ($2, $3)`, env, from.change, from.id).Scan(&n)
	return n, err
}

// Move takes the listing of a domain in one state to another, within a transaction of the caller, such as one that records
// its sale; afterwards call [Market.Refresh]. It returns the listing as it is then. It fails with [fault.Conflict] when
// the domain has no listing in that state (another took it first), and when it is to be listed but is already.
func Move(ctx context.Context, tx store.Tx, env Environment, domain fqdn.Name, from, to Status, now time.Time) (Listing, error) {
	change, err := takeChange(ctx, tx, env)
	if err != nil {
		return Listing{}, err
	}
	if to == Listed {
		listed, err := readListed(ctx, tx, env, []string{domain.String()})
		if err != nil {
			return Listing{}, err
		}
		if len(listed) > 0 {
			return Listing{}, fault.New(fault.Conflict, "the domain is listed already")
		}
	}
	if !from.known() {
		return Listing{}, fmt.Errorf("move a listing from an unknown state")
	}
	// Of several listings in the state, such as two sales of a name, the last is meant. The state is written out: SQLite
	// would compile the statement anew each time to see whether the index of the state serves the value bound.
	moved, err := store.Collect(ctx, tx, scanListing(env), `
		UPDATE listings SET status = $1, updated_at = $2, change = $3 WHERE id = (
			SELECT id FROM listings WHERE environment = $4 AND domain = $5 AND status = '`+string(from)+`'
			ORDER BY change DESC, id DESC LIMIT 1)
		RETURNING `+listingColumns, to, store.Micros(now), change, env, domain.String())
	if err != nil {
		return Listing{}, fmt.Errorf("move a listing from %s to %s: %w", from, to, err)
	}
	if len(moved) == 0 {
		return Listing{}, fault.New(fault.Conflict, "the domain is not %s", from)
	}
	return moved[0], nil
}

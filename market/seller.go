package market

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Seller is an account that offers names of its own in an environment, in transactions of the caller: afterwards call
// [Market.Refresh]. Its ID is not empty: the operator's own inventory comes by [Import].
//
// A seller has at most one open listing of a domain: pending, listed or suspended.
type Seller struct {
	Environment Environment
	ID          string
}

// Open returns the seller's open listings of the domains, in any order; a domain without one is left out.
func (s Seller) Open(ctx context.Context, tx store.Tx, domains []fqdn.Name) ([]Listing, error) {
	var all []Listing
	err := inParts(domains, func(part []fqdn.Name) error {
		some, err := s.read(ctx, tx, part, open)
		all = append(all, some...)
		return err
	})
	return all, err
}

// Put offers the domains at one price, which is the floor price too. What the seller has not offered gets a listing in the
// state to, which is [Pending] or [Listed]; what it has gets the price, and the state as far as that makes it listed.
// A name whose listing is refused, with a [fault.Conflict] error, stays as it is: one that is listed by another seller, and
// one that the seller has sold here.
func (s Seller) Put(ctx context.Context, tx store.Tx, domains []fqdn.Name, price money.Amount, to Status, now time.Time) (refused map[fqdn.Name]error, err error) {
	return s.change(ctx, tx, domains, func(change int64, part []fqdn.Name, refused map[fqdn.Name]error) error {
		had, err := s.read(ctx, tx, part, open)
		if err != nil {
			return err
		}
		sold, err := s.read(ctx, tx, part, []Status{Sold})
		if err != nil {
			return err
		}
		for _, l := range sold {
			refused[l.Domain] = fault.New(fault.Conflict, "the domain was sold here")
		}
		if err := s.refuseTaken(ctx, tx, part, refused); err != nil {
			return err
		}
		known := make(map[fqdn.Name]bool, len(had))
		var update []Listing
		for _, l := range had {
			known[l.Domain] = true
			if refused[l.Domain] == nil {
				update = append(update, l)
			}
		}
		var create []fqdn.Name
		for _, d := range part {
			if !known[d] && refused[d] == nil {
				create = append(create, d)
			}
		}
		if err := reprice(ctx, tx, update, price, to, now, change); err != nil {
			return err
		}
		return s.insert(ctx, tx, create, price, to, now, change)
	})
}

// Turn takes the seller's open listings of the domains to a state: [Listed], [Suspended] or [Withdrawn]; a domain without
// one is passed over. A name is refused, with a [fault.Conflict] error, when it is to be listed but is listed by another seller.
func (s Seller) Turn(ctx context.Context, tx store.Tx, domains []fqdn.Name, to Status, now time.Time) (refused map[fqdn.Name]error, err error) {
	return s.change(ctx, tx, domains, func(change int64, part []fqdn.Name, refused map[fqdn.Name]error) error {
		had, err := s.read(ctx, tx, part, open)
		if err != nil {
			return err
		}
		if to == Listed {
			if err := s.refuseTaken(ctx, tx, part, refused); err != nil {
				return err
			}
		}
		var turn []Listing
		for _, l := range had {
			if l.Status != to && refused[l.Domain] == nil {
				turn = append(turn, l)
			}
		}
		if len(turn) == 0 {
			return nil
		}
		args := []any{to, store.Micros(now), change}
		_, err = tx.Exec(ctx, `
			UPDATE listings SET status = $1, updated_at = $2, change = $3,
				listed_at = CASE WHEN status = 'pending' THEN $2 ELSE listed_at END
			WHERE id IN (`+store.Binds(4, len(turn))+`)`, append(args, ids(turn)...)...)
		return err
	})
}

// open are the states of a listing that its seller may still change.
var open = []Status{Pending, Listed, Suspended}

// change runs f for the domains, part by part, under one number. Nothing is numbered where there is nothing to change.
func (s Seller) change(ctx context.Context, tx store.Tx, domains []fqdn.Name, f func(change int64, part []fqdn.Name, refused map[fqdn.Name]error) error) (map[fqdn.Name]error, error) {
	if s.Environment.ordinal() < 0 {
		return nil, errEnvironment()
	}
	if s.ID == "" {
		return nil, fmt.Errorf("offer names: the seller is not named")
	}
	refused := map[fqdn.Name]error{}
	if len(domains) == 0 {
		return refused, nil
	}
	number, err := takeChange(ctx, tx, s.Environment)
	if err != nil {
		return nil, err
	}
	err = inParts(domains, func(part []fqdn.Name) error { return f(number, part, refused) })
	if err != nil {
		return nil, fmt.Errorf("change a seller's listings: %w", err)
	}
	return refused, nil
}

// inParts calls f for rowsAtOnce domains at a time.
func inParts(domains []fqdn.Name, f func([]fqdn.Name) error) error {
	for at := 0; at < len(domains); at += rowsAtOnce {
		if err := f(domains[at:min(at+rowsAtOnce, len(domains))]); err != nil {
			return err
		}
	}
	return nil
}

// read reads the seller's listings of at most rowsAtOnce domains in the states.
func (s Seller) read(ctx context.Context, tx store.Tx, domains []fqdn.Name, states []Status) ([]Listing, error) {
	args := []any{s.Environment, s.ID}
	for _, d := range domains {
		args = append(args, d.String())
	}
	for _, state := range states {
		args = append(args, state)
	}
	// The empty seller is named because its listings are not in the index.
	return store.Collect(ctx, tx, scanListing(s.Environment), `
		SELECT `+listingColumns+` FROM listings
		WHERE environment = $1 AND seller_id = $2 AND seller_id <> ''
			AND domain IN (`+store.Binds(3, len(domains))+`) AND status IN (`+store.Binds(3+len(domains), len(states))+`)`, args...)
}

// refuseTaken refuses the domains that are listed by another seller.
func (s Seller) refuseTaken(ctx context.Context, tx store.Tx, domains []fqdn.Name, refused map[fqdn.Name]error) error {
	names := make([]string, len(domains))
	for i, d := range domains {
		names[i] = d.String()
	}
	listed, err := readListed(ctx, tx, s.Environment, names)
	for _, l := range listed {
		if l.SellerID != s.ID {
			refused[l.Domain] = errTaken(l)
		}
	}
	return err
}

// errTaken says who lists a name, and what its owner can do.
func errTaken(l Listing) error {
	if l.SellerID == "" {
		return fault.New(fault.Conflict, "the domain is for sale here already, by the operator of this service").
			WithHint("if it is yours, prove that with the op verify, and ask the operator to end the listing")
	}
	return fault.New(fault.Conflict, "the domain is for sale here already, by another seller").
		WithHint("if it is yours, prove that with the op verify, which ends the other listing, and list it then")
}

// reprice gives the listings the price, and lists them where that is asked for.
func reprice(ctx context.Context, tx store.Tx, listings []Listing, price money.Amount, to Status, now time.Time, change int64) error {
	if len(listings) == 0 {
		return nil
	}
	args := []any{price.Cents, price.Currency, to, store.Micros(now), change}
	_, err := tx.Exec(ctx, `
		UPDATE listings SET price_cents = $1, floor_price_cents = $1, currency = $2, updated_at = $4, change = $5,
			listed_at = CASE WHEN status = 'pending' THEN $4 ELSE listed_at END,
			status = CASE WHEN $3 = 'listed' THEN 'listed' ELSE status END
		WHERE id IN (`+store.Binds(6, len(listings))+`)`, append(args, ids(listings)...)...)
	return err
}

// insert makes listings of the domains.
func (s Seller) insert(ctx context.Context, tx store.Tx, domains []fqdn.Name, price money.Amount, to Status, now time.Time, change int64) error {
	if len(domains) == 0 {
		return nil
	}
	args := []any{s.Environment, price.Cents, price.Currency, s.ID, to, store.Micros(now), change}
	var values strings.Builder
	for i, d := range domains {
		if i > 0 {
			values.WriteString(", ")
		}
		fmt.Fprintf(&values, "($%d, $1, $%d, $2, $2, $3, '', '', $4, $5, $6, $6, $7)", len(args)+1, len(args)+2)
		args = append(args, store.NewID("lst"), d.String())
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO listings (id, environment, domain, price_cents, floor_price_cents, currency, description, keywords,
			seller_id, status, listed_at, updated_at, change)
		VALUES `+values.String(), args...)
	return err
}

func ids(listings []Listing) []any {
	all := make([]any, len(listings))
	for i, l := range listings {
		all[i] = l.ID
	}
	return all
}

// All returns the seller's listings in every state that follow the one given, by domain and id, at most limit of them. It
// starts at the first one after the zero Listing.
func (s Seller) All(ctx context.Context, tx store.Tx, after Listing, limit int) ([]Listing, error) {
	all, err := store.Collect(ctx, tx, scanListing(s.Environment), `
		SELECT `+listingColumns+` FROM listings
		WHERE environment = $1 AND seller_id = $2 AND seller_id <> '' AND (domain, id) > ($3, $4)
		ORDER BY domain, id LIMIT $5`, s.Environment, s.ID, after.Domain.String(), after.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("read a seller's listings: %w", err)
	}
	return all, nil
}

// WithdrawAll withdraws every open listing of the seller.
func (s Seller) WithdrawAll(ctx context.Context, tx store.Tx, now time.Time) error {
	number, err := takeChange(ctx, tx, s.Environment)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE listings SET status = 'withdrawn', updated_at = $1, change = $2,
			listed_at = CASE WHEN status = 'pending' THEN $1 ELSE listed_at END
		WHERE environment = $3 AND seller_id = $4 AND seller_id <> '' AND status IN ('pending', 'listed', 'suspended')`,
		store.Micros(now), number, s.Environment, s.ID)
	if err != nil {
		return fmt.Errorf("withdraw a seller's listings: %w", err)
	}
	return nil
}

// Sold returns the seller's listings that were sold, at most limit of them that follow the one given, as in [Seller.All].
func (s Seller) Sold(ctx context.Context, tx store.Tx, after Listing, limit int) ([]Listing, error) {
	all, err := store.Collect(ctx, tx, scanListing(s.Environment), `
		SELECT `+listingColumns+` FROM listings
		WHERE environment = $1 AND seller_id = $2 AND seller_id <> '' AND status = 'sold' AND (domain, id) > ($3, $4)
		ORDER BY domain, id LIMIT $5`, s.Environment, s.ID, after.Domain.String(), after.ID, limit)
	if err != nil {
		return nil, fmt.Errorf("read what a seller sold: %w", err)
	}
	return all, nil
}

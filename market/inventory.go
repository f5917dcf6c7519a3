package market

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// An InventoryFilter chooses listings for the operator. Fields that are empty choose all.
type InventoryFilter struct {
	Environment Environment
	Status      Status
	Domain      string // A-label form
	TLD         string // A-label form, without a dot in front; may have several labels
	Limit       int    // at most so many; 1 to [MaxInventory]
}

// MaxInventory is how many listings [Inventory] returns at most.
const MaxInventory = 1000

// Inventory returns listings in every state, by domain, those of a domain the latest first. It reads the database: for pages
// there is [Market.List]. It fails with [fault.Validation].
func Inventory(ctx context.Context, db *store.DB, f InventoryFilter) ([]Listing, error) {
	switch {
	case f.Environment != "" && f.Environment.ordinal() < 0:
		return nil, errEnvironment()
	case f.Status != "" && !f.Status.known():
		return nil, fault.Invalid("status", "must be pending, listed, suspended, sold or withdrawn")
	case f.Limit < 1 || f.Limit > MaxInventory:
		return nil, fault.Invalid("limit", "must be from 1 to %d", MaxInventory)
	}
	all := []Listing{}
	err := db.Read(ctx, func(tx store.Tx) error {
		for _, env := range environments {
			if f.Environment != "" && f.Environment != env {
				continue
			}
			found, err := store.Collect(ctx, tx, scanListing(env), `
				SELECT `+listingColumns+` FROM listings
				WHERE environment = $1 AND (status = $2 OR $2 = '') AND (domain = $3 OR $3 = '') AND domain LIKE $4
				ORDER BY domain, change DESC, id DESC LIMIT $5`,
				env, string(f.Status), f.Domain, "%"+strings.TrimSuffix("."+f.TLD, "."), f.Limit)
			if err != nil {
				return err
			}
			all = append(all, found...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Listing) int { return cmp.Compare(a.Domain.String(), b.Domain.String()) })
	return all[:min(len(all), f.Limit)], nil
}

// Withdraw takes a domain off sale, of any seller, within a transaction of the caller. It returns the listing as it is
// then. It fails with [fault.NotFound] where the domain is not for sale; one that is suspended counts as for sale.
func Withdraw(ctx context.Context, tx store.Tx, env Environment, domain fqdn.Name, now time.Time) (Listing, error) {
	for _, from := range []Status{Listed, Suspended} {
		l, err := Move(ctx, tx, env, domain, from, Withdrawn, now)
		if !fault.Is(err, fault.Conflict) {
			return l, err
		}
	}
	return Listing{}, fault.New(fault.NotFound, "%s is not for sale", domain)
}

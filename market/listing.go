// Package market is what is for sale: the inventory, and the search through it.
//
// The database holds the listings. A [Market] follows it with an index in memory, which finds a name, words or a page in
// microseconds. Prices are the real ones: whether a caller may see them is not decided here.
package market

import (
	"time"

	"github.com/namewharf/namewharf/fqdn"
)

// An Environment separates the sandbox of partners from real sales.
type Environment string

// The environments.
const (
	Live    Environment = "LIVE"
	Sandbox Environment = "SANDBOX"
)

var environments = [...]Environment{Live, Sandbox}

// ordinal is the environment's place in environments; -1 if it is none.
func (e Environment) ordinal() int {
	for i, known := range environments {
		if e == known {
			return i
		}
	}
	return -1
}

// A Status is the state of a listing. Only listed ones are visible and can be bought.
type Status string

// The states of a listing. A domain has at most one listing that is listed in an environment, and any number of others.
const (
	Pending   Status = "pending"   // ownership is not proven yet
	Listed    Status = "listed"    // for sale
	Suspended Status = "suspended" // the registry says that the name changed hands
	Sold      Status = "sold"
	Withdrawn Status = "withdrawn"
)

func (s Status) known() bool {
	switch s {
	case Pending, Listed, Suspended, Sold, Withdrawn:
		return true
	}
	return false
}

// An Offer is what the index knows of a listed name: enough to show and price it.
type Offer struct {
	Domain     fqdn.Name
	PriceCents int64 // buy-now price
	Currency   string
	ListedAt   time.Time
}

// A Listing is a name in the inventory, with what its seller says about it.
type Listing struct {
	Offer
	ID              string
	Environment     Environment
	FloorPriceCents int64 // the least that the seller takes; at most PriceCents
	Description     string
	Keywords        []string
	SellerID        string // empty: the operator
	Status          Status
	UpdatedAt       time.Time
}

// Limits of a listing.
const (
	MaxDescription = 1 << 10 // bytes
	MaxKeywords    = 20
	MaxKeyword     = 64 // bytes
)

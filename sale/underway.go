package sale

import (
	"context"
	"fmt"

	"github.com/namewharf/namewharf/store"
)

// maxUnderWay is how many listings [UnderWay] takes.
const maxUnderWay = 50

// UnderWay returns the ids of the listings of the domains, in A-label form, that are in an order under way:
// neither settled, nor refunded or cancelled. It takes at most 50 domains, in an environment of the market.
func UnderWay(ctx context.Context, tx store.Tx, environment string, domains []string) (listings []string, err error) {
	if len(domains) == 0 {
		return nil, nil
	}
	args := []any{environment, Settled, Refunded, Cancelled}
	domains = domains[:min(len(domains), maxUnderWay)]
	first := len(args) + 1
	for _, d := range domains {
		args = append(args, d)
	}
	listings, err = store.Collect(ctx, tx, store.ScanOne[string], `
		SELECT DISTINCT listing_id FROM orders
		WHERE environment = $1 AND status NOT IN ($2, $3, $4) AND domain IN (`+store.Binds(first, len(domains))+`)`, args...)
	if err != nil {
		return nil, fmt.Errorf("look for orders under way: %w", err)
	}
	return listings, nil
}

package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Violation is something that a right ledger does not have.
type Violation struct {
	Entry    string `json:"entry,omitzero"`
	Order    string `json:"order,omitzero"`
	Currency string `json:"currency,omitzero"`
	Problem  string `json:"problem"`
}

// String is the violation in one line.
func (v Violation) String() string {
	var b strings.Builder
	for _, part := range []struct{ what, which string }{{"entry", v.Entry}, {"order", v.Order}, {"currency", v.Currency}} {
		if part.which != "" {
			fmt.Fprintf(&b, "%s %s: ", part.what, part.which)
		}
	}
	return b.String() + v.Problem
}

// A Report is what [Check] found.
type Report struct {
	Entries    int         `json:"entries"`
	Postings   int         `json:"postings"`
	Orders     int         `json:"orders"`     // that were held against their postings
	Violations []Violation `json:"violations"` // all of them; empty: the ledger is right

	Commissions int `json:"commissions"`
	Payouts     int `json:"payouts"`
	Statements  int `json:"statements"`
}

// String is the report in lines for a terminal.
func (r Report) String() string {
	all := []string{fmt.Sprintf("ledger: %d entries, %d postings, %d orders, %d commissions, %d payouts, %d statements: %d violations",
		r.Entries, r.Postings, r.Orders, r.Commissions, r.Payouts, r.Statements, len(r.Violations))}
	for _, v := range r.Violations {
		all = append(all, "violation: "+v.String())
	}
	return strings.Join(all, "\n")
}

// A Claim is what an order says about money, to be held against its postings.
type Claim struct {
	Order    string
	Owner    Owner
	Price    money.Amount
	Reversed bool // it was refunded, cancelled or charged back

	Collected  bool  // by the service, not by the partner
	Commission int64 // in cents: the service's, or if the service collected the price the partner's
}

// Claims returns up to limit claims with an order greater than after, in the order of their ids, within the snapshot.
type Claims func(ctx context.Context, tx store.Tx, after string, limit int) ([]Claim, error)

// claimsAtOnce is how many orders are held against their postings at a time.
const claimsAtOnce = 1000

// Check looks at one snapshot of the whole ledger for entries that do not balance or hold together, for currencies that do
// not sum to zero, for commissions, payouts and statements that are not what is posted, and, where claims is not nil, for
// orders without the postings that they should have and for postings of orders that do not exist. More are checks of the
// same snapshot that others do. What is wrong is in the report; the error is for a check that could not be done.
func Check(ctx context.Context, db *store.DB, claims Claims, more ...func(context.Context, store.Tx) ([]Violation, error)) (Report, error) {
	var r Report
	err := db.Read(ctx, func(tx store.Tx) error {
		r = Report{Violations: []Violation{}}
		for _, check := range []func(context.Context, store.Tx) error{r.count, r.entries, r.inconsistent, r.currencies, r.derived} {
			if err := check(ctx, tx); err != nil {
				return err
			}
		}
		for _, check := range more {
			found, err := check(ctx, tx)
			if err != nil {
				return err
			}
			r.Violations = append(r.Violations, found...)
		}
		if claims == nil {
			return nil
		}
		return r.orders(ctx, tx, claims)
	})
	if err != nil {
		return Report{}, fmt.Errorf("check the ledger: %w", err)
	}
	return r, nil
}

func (r *Report) found(v Violation) { r.Violations = append(r.Violations, v) }

func (r *Report) count(ctx context.Context, tx store.Tx) error {
	return tx.QueryRow(ctx, `SELECT COUNT(DISTINCT entry_id), COUNT(*) FROM postings`).Scan(&r.Entries, &r.Postings)
}

// entries finds those that do not balance.
func (r *Report) entries(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		var v Violation
		var left int64
		if err := rows.Scan(&v.Entry, &v.Order, &v.Currency, &left); err != nil {
			return err
		}
		v.Problem = "the postings do not sum to zero: " + money.Amount{Cents: left, Currency: v.Currency}.String() + " is left over"
		r.found(v)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT entry_id, MIN(order_id), currency, CAST(SUM(cents) AS BIGINT) FROM postings
		GROUP BY entry_id, currency HAVING SUM(cents) <> 0 ORDER BY entry_id, currency`)
}

// inconsistent finds entries whose postings do not say the same about what they share, or that miss a line.
func (r *Report) inconsistent(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		v := Violation{Problem: "the postings do not belong together"}
		if err := rows.Scan(&v.Entry, &v.Order); err != nil {
			return err
		}
		r.found(v)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT entry_id, MIN(order_id) FROM postings GROUP BY entry_id
		HAVING MIN(kind) <> MAX(kind) OR MIN(partner) <> MAX(partner) OR MIN(environment) <> MAX(environment)
			OR MIN(order_id) <> MAX(order_id) OR MIN(at) <> MAX(at) OR MIN(line) <> 1 OR MAX(line) <> COUNT(*)
		ORDER BY entry_id`)
}

// currencies finds owners whose postings do not sum to zero in a currency.
func (r *Report) currencies(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		var v Violation
		var owner Owner
		var left int64
		if err := rows.Scan(&owner.Partner, &owner.Environment, &v.Currency, &left); err != nil {
			return err
		}
		v.Problem = fmt.Sprintf("all postings of partner %s in %s do not sum to zero: %s is left over",
			owner.Partner, owner.Environment, money.Amount{Cents: left, Currency: v.Currency})
		r.found(v)
		return nil
	}
	return store.Each(ctx, tx, read, `
		SELECT partner, environment, currency, CAST(SUM(cents) AS BIGINT) FROM postings
		GROUP BY partner, environment, currency HAVING SUM(cents) <> 0 ORDER BY partner, environment, currency`)
}

// orders compares all orders with their postings, page by page in the order of their ids.
func (r *Report) orders(ctx context.Context, tx store.Tx, claims Claims) error {
	for after := ""; ; {
		part, err := claims(ctx, tx, after, claimsAtOnce)
		if err != nil {
			return err
		}
		last := ""
		if len(part) > 0 {
			last = part[len(part)-1].Order
		}
		posted, err := postedOf(ctx, tx, after, last)
		if err != nil {
			return err
		}
		for _, c := range part {
			r.compare(c, posted[c.Order])
			delete(posted, c.Order)
		}
		for _, order := range slices.Sorted(maps.Keys(posted)) {
			r.found(Violation{Order: order, Problem: "there are postings, but no such order"})
		}
		r.Orders += len(part)
		if last == "" {
			return nil
		}
		after = last
	}
}

// posted is what is posted for an order.
type posted struct {
	owner    Owner
	sums     map[Account]money.Amount // of its sale
	reversed bool                     // it has an entry that reverses the sale
	left     bool                     // something is left of the sale and its reversal together
}

// postedOf reads what is posted for the orders after one, up to another if that is not empty.
func postedOf(ctx context.Context, tx store.Tx, after, last string) (map[string]*posted, error) {
	upTo, args := "", []any{after}
	if last != "" {
		upTo, args = "AND order_id <= $2", append(args, last)
	}
	all := map[string]*posted{}
	read := func(rows *sql.Rows) error {
		var order string
		var owner Owner
		var account Account
		var sale money.Amount
		var left, reversals int64
		err := rows.Scan(&order, &owner.Partner, &owner.Environment, &account, &sale.Currency, &sale.Cents, &left, &reversals)
		if err != nil {
			return err
		}
		p := all[order]
		if p == nil {
			p = &posted{owner: owner, sums: map[Account]money.Amount{}}
			all[order] = p
		}
		p.sums[account] = sale
		p.reversed = p.reversed || reversals > 0
		p.left = p.left || left != 0
		return nil
	}
	err := store.Each(ctx, tx, read, `
		SELECT order_id, partner, environment, account, currency,
			CAST(SUM(CASE WHEN kind = 'sale' THEN cents ELSE 0 END) AS BIGINT),
			CAST(SUM(cents) AS BIGINT), SUM(CASE WHEN kind IN ('refund', 'cancellation', 'chargeback') THEN 1 ELSE 0 END)
		FROM postings WHERE order_id > $1 AND order_id <> '' `+upTo+`
		GROUP BY order_id, partner, environment, account, currency`, args...)
	return all, err
}

// compare compares an order with its postings.
func (r *Report) compare(c Claim, p *posted) {
	problem := ""
	switch {
	case p == nil:
		problem = "the order has no postings"
	case p.owner != c.Owner:
		problem = "the postings are another party's"
	case p.sums[SalesProceeds] != money.Amount{Cents: -c.Price.Cents, Currency: c.Price.Currency}:
		problem = "the postings are not those of its price, " + c.Price.String()
	case p.sums[RetainedCommission].Cents != c.retained() || p.sums[Cash].Cents != c.collected():
		problem = "the postings are not those of its commission and of who collected its price"
	case c.Reversed && !p.reversed:
		problem = "the order was given back, but its sale is not reversed"
	case !c.Reversed && p.reversed:
		problem = "the sale is reversed, but the order is not"
	case c.Reversed && p.left:
		problem = "the reversal is not the opposite of the sale"
	default:
		return
	}
	r.found(Violation{Order: c.Order, Currency: c.Price.Currency, Problem: problem})
}

// retained is what the service keeps back of the price that the partner collected.
func (c Claim) retained() int64 {
	if c.Collected {
		return 0
	}
	return c.Commission
}

// collected is what the service has taken.
func (c Claim) collected() int64 {
	if c.Collected {
		return c.Price.Cents
	}
	return 0
}

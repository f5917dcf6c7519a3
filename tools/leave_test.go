package tools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// order puts an order for a name of the seller into the books, in the state, and takes its listing from sale.
func (o *office) order(t *testing.T, domain, status string) {
	t.Helper()
	ctx := t.Context()
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		var listing string
		err := tx.QueryRow(ctx, `UPDATE listings SET status = 'sold' WHERE domain = $1 AND status = 'listed' RETURNING id`, domain).Scan(&listing)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			INSERT INTO orders (id, partner, environment, domain, listing_id, status, review, payment_model, price_cents, currency, quote,
				external_payment_ref, buyer_email, buyer_name, buyer_country, return_url, cancel_url, created_at, updated_at, completed_at, version)
			VALUES ($1, 'p', 'LIVE', $2, $3, $4, '', 'partner_collected', 100, 'USD', '', '', 'buyer@names.example', '', '', '', '', 1, 1, 0, 1)`,
			store.NewID("ord"), domain, listing, status)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (o *office) leave(t *testing.T, account string) error {
	t.Helper()
	err := o.db.Tx(t.Context(), func(tx store.Tx) error { return o.portfolio.RemoveAll(t.Context(), tx, account) })
	if err == nil {
		err = o.portfolio.Refresh(t.Context())
	}
	return err
}

func (o *office) holds(t *testing.T, account string) (held bool) {
	t.Helper()
	err := o.db.Read(t.Context(), func(tx store.Tx) (err error) {
		held, err = o.portfolio.Holds(t.Context(), tx, account)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// An account that is deleted takes its names and offers along, but not in the middle of a sale.
func TestPortfoliosAreRemovedWhole(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ctx, other := as(t.Context(), "acc_a"), as(t.Context(), "acc_b")
		o.mustOwn(ctx, t, "brewhaven.com", "cobaltpine.com", "emberlane.com")
		o.mustOwn(other, t, "driftkite.com")
		o.add(ctx, t, "driftkite.com") // claimed, not proven, and offered
		o.bulk(ctx, t, `{"op":"list","domains":["brewhaven.com","cobaltpine.com","emberlane.com","driftkite.com"],"params":{"priceCents":100}}`)
		o.bulk(other, t, `{"op":"list","domains":["driftkite.com"],"params":{"priceCents":100}}`)
		o.order(t, "cobaltpine.com", "TRANSFER_IN_PROGRESS")
		o.order(t, "emberlane.com", "SETTLED")

		err := o.leave(t, "acc_a")
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "cobaltpine.com") || strings.Contains(err.Error(), "emberlane.com") {
			t.Fatalf("while a sale is under way: got %v, want a conflict about it", err)
		}
		claims, _, err := o.portfolio.List(ctx, "acc_a", fqdn.Name{}, 10)
		if err != nil || len(claims) != 4 || claims[0].Price.Cents != 100 {
			t.Errorf("after the refusal: got %v, %v; want all as it was", claims, err)
		}
		for _, end := range []string{"SETTLED", "REFUNDED", "CANCELLED"} {
			rolled := errors.New("rolled back")
			err := db.Tx(ctx, func(tx store.Tx) error {
				if _, err := tx.Exec(ctx, `UPDATE orders SET status = $1 WHERE domain = 'cobaltpine.com'`, end); err != nil {
					return err
				}
				if err := o.portfolio.RemoveAll(ctx, tx, "acc_a"); err != nil {
					t.Errorf("%s: %v", end, err)
				}
				return rolled
			})
			if !errors.Is(err, rolled) {
				t.Fatal(err)
			}
		}
		if err := db.Tx(ctx, func(tx store.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE orders SET status = 'SETTLED'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !o.holds(t, "acc_a") {
			t.Error("the account holds nothing before")
		}
		if err := o.leave(t, "acc_a"); err != nil {
			t.Fatal(err)
		}
		if o.holds(t, "acc_a") || !o.holds(t, "acc_b") {
			t.Error("the account still holds something, or the other one nothing")
		}
		events, err := o.portfolio.Events(ctx, "acc_a", portfolio.Event{}, 100)
		if err != nil || len(events) != 0 {
			t.Errorf("what happened: got %v, %v; want nothing", events, err)
		}
		for domain, want := range map[string]bool{"brewhaven.com": false, "cobaltpine.com": false, "driftkite.com": true} {
			_, err := market.Find(ctx, db, market.Live, fqdn.MustParse(domain))
			if (err == nil) != want {
				t.Errorf("%s for sale: got %v, want %v", domain, err, want)
			}
		}
		var kept []string
		for last := (portfolio.Listing{}); ; {
			part, err := o.portfolio.Listings(ctx, "acc_a", last, 2)
			if err != nil {
				t.Fatal(err)
			}
			if len(part) == 0 {
				break
			}
			for _, l := range part {
				kept = append(kept, l.Domain.String()+" "+l.Status)
			}
			last = part[len(part)-1]
		}
		if got, want := strings.Join(kept, ", "), "brewhaven.com withdrawn, cobaltpine.com sold, driftkite.com withdrawn, emberlane.com sold"; got != want {
			t.Errorf("offers that are kept: got %s, want %s", got, want)
		}
	})
}

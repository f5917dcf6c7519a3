package sale_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// The order on the wire, at the beginning and at the end of its way.
func TestAnOrderOnTheWire(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		o, err := s.place(party, sale.Request{
			QuoteID: s.quote(party, ember).QuoteID, Buyer: sale.Buyer{Email: "b@example.com", Name: "Bea", Country: "DE"},
			ReturnURL: "https://shop.example/back", CancelURL: "http://127.0.0.1:8080/no?x=1", ExternalPaymentRef: "pay 1",
		})
		if err != nil {
			t.Fatal(err)
		}
		s.clock.move(1500 * time.Millisecond)
		done := s.mustAct(o.PublicID, sale.StartTransfer)
		for _, c := range []struct {
			what string
			o    sale.Order
			want string
		}{
			{"at the beginning", o, `{"public_id":"ORDER","domain":"ember.example","status":"EXTERNALLY_PAID","sale_price_cents":125000,
				"currency":"USD","payment_model":"partner_collected","external_payment_ref":"pay 1",
				"buyer":{"email":"b@example.com","name":"Bea","country":"DE"},"return_url":"https://shop.example/back",
				"cancel_url":"http://127.0.0.1:8080/no?x=1","created_at":"2026-11-01T12:00:00Z","updated_at":"2026-11-01T12:00:00Z",
				"timeline":[{"at":"2026-11-01T12:00:00Z","type":"order.recorded","status":"EXTERNALLY_PAID"}]}`},
			{"under way", done, `{"public_id":"ORDER","domain":"ember.example","status":"TRANSFER_IN_PROGRESS","sale_price_cents":125000,
				"currency":"USD","payment_model":"partner_collected","external_payment_ref":"pay 1",
				"buyer":{"email":"b@example.com","name":"Bea","country":"DE"},"return_url":"https://shop.example/back",
				"cancel_url":"http://127.0.0.1:8080/no?x=1","created_at":"2026-11-01T12:00:00Z","updated_at":"2026-11-01T12:00:01.5Z",
				"timeline":[{"at":"2026-11-01T12:00:00Z","type":"order.recorded","status":"EXTERNALLY_PAID"},
				{"at":"2026-11-01T12:00:01.5Z","type":"order.transfer_started","status":"TRANSFER_IN_PROGRESS"}]}`},
		} {
			got, err := json.Marshal(c.o)
			want := strings.NewReplacer("\n", "", "\t", "", "ORDER", o.PublicID).Replace(c.want)
			if err != nil || string(got) != want {
				t.Errorf("%s: got %s, %v\nwant %s", c.what, got, err, want)
			}
		}
		bare := s.mustPlace(party, s.names(1)[0])
		got, err := json.Marshal(bare)
		for _, absent := range []string{"null", "buyer", "return_url", "cancel_url", "review", "external_payment_ref"} {
			if err != nil || strings.Contains(string(got), absent) {
				t.Errorf("an order of little: got %s, %v, want no %s", got, err, absent)
			}
		}
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		sold, unlisted := fqdn.MustParse("sold.example"), "never.example"
		s.list(sold)
		s.mustPlace(other, sold)
		good := func() sale.Request { return sale.Request{Domain: "Ember.example.", ExpectedPrice: price} }
		quoted := func() sale.Request { return sale.Request{QuoteID: s.quote(party, ember).QuoteID} }
		with := func(r sale.Request, change func(*sale.Request)) sale.Request {
			change(&r)
			return r
		}
		for _, c := range []struct {
			what    string
			request sale.Request
			want    fault.Code // empty: accepted
			field   string     // at fault
		}{
			{"a domain and its price", good(), "", ""},
			{"the price by its other name", sale.Request{Domain: "ember.example", SalePriceCents: price}, "", ""},
			{"the price by both names", sale.Request{Domain: "ember.example", SalePriceCents: price, ExpectedPrice: price}, "", ""},
			{"a quote", quoted(), "", ""},
			{"a quote and all that it says", with(quoted(), func(r *sale.Request) {
				r.Domain, r.ExpectedPrice, r.Currency = "EMBER.example", price, "USD"
			}), "", ""},
			{"nothing", sale.Request{}, fault.Validation, "domain"},
			{"a domain alone", sale.Request{Domain: "ember.example"}, fault.Validation, "expected_price"},
			{"a price alone", sale.Request{ExpectedPrice: price}, fault.Validation, "domain"},
			{"what is no domain", sale.Request{Domain: "a b", ExpectedPrice: price}, fault.Validation, "domain"},
			{"a quote of another domain", with(quoted(), func(r *sale.Request) { r.Domain = sold.String() }), fault.Validation, "domain"},
			{"two prices", sale.Request{Domain: "ember.example", ExpectedPrice: price, SalePriceCents: price + 1}, fault.Validation, "sale_price_cents"},
			{"a price below zero", sale.Request{Domain: "ember.example", ExpectedPrice: -1}, fault.Validation, "expected_price"},
			{"a price beyond all", sale.Request{Domain: "ember.example", SalePriceCents: money.MaxCents + 1}, fault.Validation, "sale_price_cents"},
			{"too low a price", with(good(), func(r *sale.Request) { r.ExpectedPrice-- }), fault.PriceMismatch, "expected_price"},
			{"too high a price by its other name", sale.Request{Domain: "ember.example", SalePriceCents: price + 1}, fault.PriceMismatch, "sale_price_cents"},
			{"a quote and another price", with(quoted(), func(r *sale.Request) { r.ExpectedPrice = 1 }), fault.PriceMismatch, "expected_price"},
			{"another currency", with(good(), func(r *sale.Request) { r.Currency = "EUR" }), fault.PriceMismatch, "currency"},
			{"a quote and another currency", with(quoted(), func(r *sale.Request) { r.Currency = "EUR" }), fault.PriceMismatch, "currency"},
			{"what is no currency", with(good(), func(r *sale.Request) { r.Currency = "usd" }), fault.Validation, "currency"},
			{"a name that is sold", sale.Request{Domain: sold.String(), ExpectedPrice: price}, fault.Conflict, ""},
			{"a name that was never listed", sale.Request{Domain: unlisted, ExpectedPrice: price}, fault.NotFound, ""},
			{"what is no quote", sale.Request{QuoteID: "qt_x"}, fault.Validation, "quote_id"},

			{"a buyer by e-mail", with(good(), func(r *sale.Request) { r.Buyer.Email = "b+1@example.com" }), "", ""},
			{"a buyer without e-mail", with(good(), func(r *sale.Request) { r.Buyer.Name = "Bea" }), fault.Validation, "buyer.email"},
			{"what is no e-mail", with(good(), func(r *sale.Request) { r.Buyer.Email = "Bea <b@example.com>" }), fault.Validation, "buyer.email"},
			{"an e-mail with a line feed", with(good(), func(r *sale.Request) { r.Buyer.Email = "b@example.com\n" }), fault.Validation, "buyer.email"},
			{"too long an e-mail", with(good(), func(r *sale.Request) { r.Buyer.Email = strings.Repeat("b", 250) + "@example.com" }), fault.Validation, "buyer.email"},
			{"a name with control characters", with(good(), func(r *sale.Request) { r.Buyer = sale.Buyer{Email: "b@example.com", Name: "B\x00"} }), fault.Validation, "buyer.name"},
			{"a country in small letters", with(good(), func(r *sale.Request) { r.Buyer = sale.Buyer{Email: "b@example.com", Country: "de"} }), fault.Validation, "buyer.country"},
			{"a country of three letters", with(good(), func(r *sale.Request) { r.Buyer = sale.Buyer{Email: "b@example.com", Country: "DEU"} }), fault.Validation, "buyer.country"},
			{"no URL to return to", with(good(), func(r *sale.Request) { r.ReturnURL = "/back" }), fault.Validation, "return_url"},
			{"a script to return to", with(good(), func(r *sale.Request) { r.ReturnURL = "javascript:alert(1)" }), fault.Validation, "return_url"},
			{"a URL without a host", with(good(), func(r *sale.Request) { r.CancelURL = "https:///x" }), fault.Validation, "cancel_url"},
			{"a URL with a password", with(good(), func(r *sale.Request) { r.CancelURL = "https://u:p@shop.example/" }), fault.Validation, "cancel_url"},
			{"a URL with a line feed", with(good(), func(r *sale.Request) { r.CancelURL = "https://shop.example/\n" }), fault.Validation, "cancel_url"},
			{"a URL with backslashes", with(good(), func(r *sale.Request) { r.CancelURL = `https://shop.example\@evil.example/` }), fault.Validation, "cancel_url"},
			{"too long a URL", with(good(), func(r *sale.Request) { r.CancelURL = "https://shop.example/" + strings.Repeat("x", 2048) }), fault.Validation, "cancel_url"},
			{"too long a reference", with(good(), func(r *sale.Request) { r.ExternalPaymentRef = strings.Repeat("x", 256) }), fault.Validation, "external_payment_ref"},
			{"a reference with a line feed", with(good(), func(r *sale.Request) { r.ExternalPaymentRef = "a\nb" }), fault.Validation, "external_payment_ref"},
		} {
			before := s.dump()
			o, tried := s.Try(t.Context(), party, c.request, s.clock.now())
			s.wantFault("try "+c.what, tried, c.want, c.field)
			if tried == nil && (o.PublicID != "" || o.SalePriceCents != price || o.Status != sale.ExternallyPaid) {
				t.Errorf("try %s: got %+v", c.what, o)
			}
			if after := s.dump(); after != before {
				t.Errorf("try %s: changed\n%s\nto\n%s", c.what, before, after)
			}
			o, err := s.place(party, c.request)
			s.wantFault(c.what, err, c.want, c.field)
			switch after := s.dump(); {
			case err == nil:
				s.mustAct(o.PublicID, sale.RefundBuyer) // for the next
			case after != before:
				t.Errorf("%s: refused, but changed\n%s\nto\n%s", c.what, before, after)
			}
		}
		s.wantRight()
	})
}

// wantFault checks code and field of a failure, and that the current price is in the details of a mismatch.
func (s *fixture) wantFault(what string, err error, code fault.Code, field string) {
	s.Helper()
	s.wantCode(what, err, code)
	var f *fault.Error
	if !errors.As(err, &f) {
		return
	}
	fields := make([]string, len(f.Fields))
	for i, at := range f.Fields {
		fields[i] = at.Field
	}
	if field == "" && len(fields) > 0 || field != "" && !slices.Equal(fields, []string{field}) {
		s.Errorf("%s: got fields %v at fault, want %q", what, fields, field)
	}
	if f.Code == fault.PriceMismatch && !strings.Contains(f.Fields[0].Reason, fmt.Sprint(price)) {
		s.Errorf("%s: got details %v, want the current price in them", what, f.Fields)
	}
}

func TestAReferenceIsUsedOnce(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, d *fixture) {
		names := d.names(3)
		request := func(name fqdn.Name) sale.Request {
			return sale.Request{Domain: name.String(), ExpectedPrice: price, ExternalPaymentRef: "ref-1"}
		}
		o, err := d.place(party, request(names[0]))
		d.wantCode("the first", err, "")
		_, err = d.place(party, request(names[1]))
		d.wantFault("the second", err, fault.Conflict, "external_payment_ref")
		if s := d.status(names[1]); s != "listed" {
			t.Errorf("the name of the refused order is %s, want listed", s)
		}
		d.mustAct(o.PublicID, sale.RefundBuyer)
		_, err = d.place(party, request(names[1]))
		d.wantFault("after a refund", err, fault.Conflict, "external_payment_ref")
		_, err = d.place(other, request(names[1]))
		d.wantCode("another partner's", err, "")
	})
}

// Of fifty parties that sell one name at once, one does.
func TestOneNameIsSoldOnce(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var orders []string
		for i := range 50 {
			wg.Go(func() {
				p := party
				p.Partner = fmt.Sprint("prt_", i)
				o, err := s.place(p, sale.Request{Domain: ember.String(), ExpectedPrice: price})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					s.wantCode("a loser", err, fault.Conflict)
					return
				}
				orders = append(orders, o.PublicID)
			})
		}
		wg.Wait()
		if len(orders) != 1 || s.count(`SELECT COUNT(*) FROM orders`) != 1 || s.count(`SELECT COUNT(*) FROM test_events`) != 1 {
			t.Errorf("got orders %v, want one, with one event", orders)
		}
		s.wantRight()
	})
}

// Two processes on one database refuse one another on PostgreSQL; the transactions are run again until all went well.
func TestOrdersOfTwoProcesses(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		second := sale.New(sale.Config{DB: s.db, Inventory: inventory{}, Books: books{}, Events: events{}, Keys: labeller{}, Audit: auditor{s.clock.now}})
		names := s.names(40)
		var wg sync.WaitGroup
		for i, name := range names {
			wg.Go(func() {
				process := []*sale.Service{s.Service, second}[i%2]
				err := process.Tx(context.Background(), party.Environment, func(tx store.Tx) error {
					_, err := process.Place(context.Background(), tx, party, sale.Request{Domain: name.String(), ExpectedPrice: price}, s.clock.now())
					return err
				})
				if err != nil {
					t.Errorf("sell %s: %v", name, err)
				}
			})
		}
		wg.Wait()
		if n := s.count(`SELECT COUNT(*) FROM orders`); n != len(names) {
			t.Errorf("got %d orders, want %d", n, len(names))
		}
		if n := s.count(`SELECT MAX(number) FROM test_events`); n != len(names) {
			t.Errorf("got %d as number of the last event, want %d", n, len(names))
		}
		s.wantRight()
	})
}

func TestReviewRules(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(6)
		limited := func(cents int64) sale.Party {
			p := party
			p.Terms.ReviewLimitCents = cents
			return p
		}
		setFlag := func(f func(context.Context, store.Tx, fqdn.Name, sale.Actor) error, name fqdn.Name) {
			t.Helper()
			if err := s.tx(func(tx store.Tx) error { return f(t.Context(), tx, name, staff) }); err != nil {
				t.Fatal(err)
			}
		}
		setFlag(s.Flag, names[3])
		setFlag(s.Flag, names[3]) // is flagged
		setFlag(s.Flag, names[4])
		setFlag(s.Unflag, names[4])
		if got, err := s.Flagged(t.Context()); err != nil || !slices.Equal(got, names[3:4]) {
			t.Errorf("flagged: got %v, %v, want %v", got, err, names[3:4])
		}
		if n := s.count(`SELECT COUNT(*) FROM audit_log`); n != 3 {
			t.Errorf("audit log: got %d lines, want 3", n)
		}
		for i, c := range []struct {
			what  string
			party sale.Party
			want  sale.Review
		}{
			{"no limit", party, ""},
			{"at the limit", limited(price), ""},
			{"over the limit", limited(price - 1), sale.Held},
			{"a flagged name", party, sale.Held},
			{"a name that is not flagged any more", party, ""},
		} {
			o := s.mustPlace(c.party, names[i])
			if o.Review != c.want || c.want == sale.Held && o.Timeline[1].Type != "order.manual_review_held" {
				t.Errorf("%s: got review %q, timeline %v, want %q", c.what, o.Review, o.Timeline, c.want)
			}
			if stored, err := s.Order(t.Context(), party, o.PublicID); err != nil || stored.Review != c.want {
				t.Errorf("%s: stored is %q, %v, want %q", c.what, stored.Review, err, c.want)
			}
			_, err := s.act(o.PublicID, sale.StartTransfer, staff)
			if c.want != sale.Held {
				s.wantCode(c.what+": start", err, "")
				continue
			}
			s.wantCode(c.what+": start", err, fault.Conflict)
			s.mustAct(o.PublicID, sale.Clear, sale.StartTransfer)
		}
	})
}

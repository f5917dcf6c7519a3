package sale_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestAQuoteHoldsTenMinutes(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		q := s.quote(party, ember)
		if q.Domain != "ember.example" || q.PriceCents != price || q.Currency != "USD" || q.ExpiresAt != s.clock.now().Add(10*time.Minute) ||
			len(q.QuoteID) > sale.MaxQuoteID {
			t.Errorf("got %+v", q)
		}
		s.exec(`UPDATE listings SET price_cents = price_cents * 2`)
		s.clock.move(10*time.Minute - time.Microsecond)
		_, err := s.Try(t.Context(), party, sale.Request{QuoteID: q.QuoteID}, s.clock.now())
		s.wantCode("a moment before", err, "")
		s.clock.move(time.Microsecond)
		_, err = s.place(party, sale.Request{QuoteID: q.QuoteID})
		s.wantCode("in time", err, fault.QuoteExpired)
		s.clock.move(20 * 24 * time.Hour)
		s.quote(party, ember) // which another key signs
		_, err = s.place(party, sale.Request{QuoteID: q.QuoteID})
		s.wantCode("weeks later", err, fault.QuoteExpired)
		s.clock.move(20 * 24 * time.Hour)
		s.quote(party, ember) // which removes the key of the first
		_, err = s.place(party, sale.Request{QuoteID: q.QuoteID})
		s.wantFault("after its key has gone", err, fault.Validation, "quote_id")
	})
}

// The price of the quote holds, whatever the listing says by then.
func TestAQuoteLocksThePrice(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		q := s.quote(party, ember)
		s.exec(`UPDATE listings SET price_cents = price_cents * 2`)
		o, err := s.place(party, sale.Request{QuoteID: q.QuoteID})
		if err != nil || o.SalePriceCents != price {
			t.Errorf("got %d, %v, want %d", o.SalePriceCents, err, price)
		}
		s.wantRight()
	})
}

func TestQuotesOfWhatIsNotForSale(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		s.mustPlace(party, ember)
		_, err := s.Quote(t.Context(), party, ember, s.clock.now())
		s.wantCode("a name that is sold", err, fault.Conflict)
		_, err = s.Quote(t.Context(), party, fqdn.MustParse("never.example"), s.clock.now())
		s.wantCode("a name that was never listed", err, fault.NotFound)
		live := sale.Party{Partner: party.Partner, Environment: "LIVE"}
		_, err = s.Quote(t.Context(), live, ember, s.clock.now())
		s.wantCode("a name of the other environment", err, fault.NotFound)
	})
}

// Whatever is wrong with a quote, the answer is the same.
func TestForgedQuotes(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		id := s.quote(party, ember).QuoteID
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(id, "qt_"))
		if err != nil {
			t.Fatal(err)
		}
		forged := map[string]string{
			"empty but for the prefix": "qt_", "another prefix": "qx_" + id[3:], "without its prefix": id[3:],
			"a space behind": id + " ", "a line feed inside": id[:20] + "\n" + id[20:], "padding": id + "=", "twice": id + id,
			"cut short": id[:len(id)-1], "too long": id + strings.Repeat("A", sale.MaxQuoteID),
			"random": "qt_" + strings.Repeat("A", 200),
		}
		for i := range raw {
			changed := bytes.Clone(raw)
			changed[i] ^= 1
			forged[fmt.Sprintf("byte %d changed", i)] = "qt_" + base64.RawURLEncoding.EncodeToString(changed)
		}
		const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		for i := 3; i < len(id); i++ {
			for _, digit := range []byte{digits[(strings.IndexByte(digits, id[i])+1)%64], digits[strings.IndexByte(digits, id[i])^32]} {
				forged[fmt.Sprintf("character %d as %c", i, digit)] = id[:i] + string(digit) + id[i+1:]
			}
		}
		live := sale.Party{Partner: party.Partner, Environment: "LIVE", Terms: party.Terms}
		_, want := s.place(other, sale.Request{QuoteID: id})
		s.wantFault("another partner's", want, fault.Validation, "quote_id")
		_, err = s.place(live, sale.Request{QuoteID: id})
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("of the other environment: got %v, want %v", err, want)
		}
		err = s.tx(func(tx store.Tx) error {
			for what, id := range forged {
				if _, err := s.Place(t.Context(), tx, party, sale.Request{QuoteID: id}, s.clock.now()); fmt.Sprint(err) != fmt.Sprint(want) {
					t.Errorf("%s: got %v, want %v", what, err, want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.clock.move(sale.QuoteLife)
		_, err = s.place(other, sale.Request{QuoteID: id})
		if fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("another's that has expired: got %v, want %v", err, want)
		}
	})
}

func TestAQuoteIsGoodForOneOrder(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		q := s.quote(party, ember)
		var done atomic.Int32
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				_, err := s.place(party, sale.Request{QuoteID: q.QuoteID})
				if err == nil {
					done.Add(1)
					return
				}
				s.wantCode("at the same time", err, fault.Conflict)
			})
		}
		wg.Wait()
		if n := done.Load(); n != 1 {
			t.Fatalf("got %d orders, want 1", n)
		}
		page, err := s.List(t.Context(), party, sale.Filter{})
		if err != nil || len(page.Orders) != 1 {
			t.Fatalf("got %v, %v, want one order", page, err)
		}
		s.mustAct(page.Orders[0].PublicID, sale.RefundBuyer) // the name is for sale again
		before := s.dump()
		_, err = s.Try(t.Context(), party, sale.Request{QuoteID: q.QuoteID}, s.clock.now())
		s.wantCode("try it after a refund", err, fault.Conflict)
		_, err = s.place(party, sale.Request{QuoteID: q.QuoteID})
		s.wantCode("after a refund", err, fault.Conflict)
		if after := s.dump(); after != before {
			t.Errorf("refused, but changed\n%s\nto\n%s", before, after)
		}
	})
}

// A labeller seals by adding a label.
type labeller struct{}

func (labeller) Seal(plain, context []byte) []byte {
	return slices.Concat([]byte("sealed"), context, plain)
}

func (labeller) Open(sealed, context []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(sealed, append([]byte("sealed"), context...))
	if !ok {
		return nil, errors.New("not sealed")
	}
	return plain, nil
}

// Keys are replaced, quotes that were issued stay valid, and all processes accept them.
func TestKeysOfQuotesChange(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		c := &clock{at: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
		cfg.Now = c.now
		db := storetest.Open(t, cfg)
		first := newFixture(t, db, c)
		process := func() *fixture {
			return &fixture{sale.New(sale.Config{DB: db, Inventory: inventory{}, Books: books{}, Events: events{}, Keys: labeller{}, Audit: auditor{c.now}}), t, db, c}
		}
		first.Service = process().Service
		second := process()
		accepts := func(what string, by *fixture, id string) {
			t.Helper()
			if _, err := by.Try(t.Context(), party, sale.Request{QuoteID: id}, c.now()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		keys := func(want int) {
			t.Helper()
			if n := first.count(`SELECT COUNT(*) FROM quote_keys`); n != want {
				t.Errorf("got %d keys, want %d", n, want)
			}
		}
		q1, q2 := first.quote(party, ember), second.quote(party, ember)
		keys(1)
		accepts("the second the first's", second, q1.QuoteID)
		accepts("the first the second's", first, q2.QuoteID)

		if err := second.RotateKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys(2)
		q3 := second.quote(party, ember)
		accepts("another key, at once", first, q3.QuoteID)
		accepts("the old key", second, q1.QuoteID)

		c.move(sale.KeyLife - 5*time.Minute)
		q4 := first.quote(party, ember)
		c.move(5 * time.Minute)
		var wg sync.WaitGroup
		for _, s := range []*fixture{first, second, process(), process()} {
			wg.Go(func() {
				if _, err := s.Quote(t.Context(), party, ember, c.now()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		keys(3)
		accepts("the key that has had its time", second, q4.QuoteID)

		_, err := sale.New(sale.Config{DB: db, Inventory: inventory{}, Books: books{}, Events: events{}, Keys: otherKey{}, Audit: auditor{c.now}}).Quote(t.Context(), party, ember, c.now())
		if err == nil || errors.As(err, new(*fault.Error)) {
			t.Errorf("keys that cannot be opened: got %v, want a failure of ours", err)
		}
	})
}

// A otherKey opens nothing.
type otherKey struct{ labeller }

func (otherKey) Open(_, _ []byte) ([]byte, error) { return nil, errors.New("another key") }

package testprovider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var at = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func newProvider(t testing.TB, db *store.DB, now func() time.Time) *testprovider.Provider {
	t.Helper()
	p, err := testprovider.New(t.Context(), testprovider.Config{
		DB: db, Keys: seal.Random(), PageURL: func(id string) string { return "/pay/" + id }, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func start(t testing.TB, p *testprovider.Provider, now time.Time) (id string) {
	t.Helper()
	id = store.NewID("pmt")
	for range 2 { // which is no other attempt
		_, err := p.Start(t.Context(), payment.Opening{
			ID: id, Amount: money.USD(1250_00), Title: "ember.example", ReturnURL: "/back", CancelURL: "/no", ExpiresAt: now.Add(payment.AttemptLife),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func card(number string) testprovider.Card {
	return testprovider.Card{Number: number, Expiry: "12/34", CVC: "123"}
}

const (
	good       = "4242 4242 4242 4242"
	declined   = "4000 0000 0000 0002"
	challenged = "4000 0025 0000 3155"
	disputable = "4000-0000-0000-0259"
)

// TestCards: what the page shows and what the provider reports after each card, and each further step.
func TestCards(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		now := at
		p := newProvider(t, db, func() time.Time { return now })
		type step func(id string) (testprovider.View, error)
		pay := func(number string) step {
			return func(id string) (testprovider.View, error) { return p.Pay(t.Context(), id, card(number)) }
		}
		approve := func(id string) (testprovider.View, error) { return p.Approve(t.Context(), id) }
		refuse := func(id string) (testprovider.View, error) { return p.Refuse(t.Context(), id) }
		leave := func(id string) (testprovider.View, error) { return p.Leave(t.Context(), id) }
		expire := func(id string) (testprovider.View, error) {
			now = now.Add(payment.AttemptLife)
			return p.View(t.Context(), id)
		}
		for name, c := range map[string]struct {
			steps    []step
			step     testprovider.Step
			declined bool
			status   payment.Status
		}{
			"nothing yet":                     {nil, testprovider.AskCard, false, payment.Open},
			"a good card":                     {[]step{pay(good)}, testprovider.Done, false, payment.Held},
			"a good card, twice":              {[]step{pay(good), pay(good)}, testprovider.Done, false, payment.Held},
			"a good card, and then cancelled": {[]step{pay(good), leave}, testprovider.Done, false, payment.Held},
			"a declined card":                 {[]step{pay(declined)}, testprovider.AskCard, true, payment.Open},
			"another card after it":           {[]step{pay(declined), pay(good)}, testprovider.Done, true, payment.Held},
			"a further step":                  {[]step{pay(challenged)}, testprovider.AskApprove, false, payment.Open},
			"approved":                        {[]step{pay(challenged), approve}, testprovider.Done, false, payment.Held},
			"approved twice":                  {[]step{pay(challenged), approve, approve}, testprovider.Done, false, payment.Held},
			"refused":                         {[]step{pay(challenged), refuse}, testprovider.AskCard, true, payment.Open},
			"refused, another card":           {[]step{pay(challenged), refuse, pay(good)}, testprovider.Done, true, payment.Held},
			"approved without being asked":    {[]step{approve}, testprovider.AskCard, false, payment.Open},
			"a card that disputes":            {[]step{pay(disputable)}, testprovider.Done, false, payment.Held},
			"cancelled":                       {[]step{leave}, testprovider.Over, false, payment.Void},
			"cancelled, and then paid":        {[]step{leave, pay(good)}, testprovider.Over, false, payment.Void},
			"expired":                         {[]step{expire}, testprovider.Over, false, payment.Void},
			"expired, and then paid":          {[]step{expire, pay(good)}, testprovider.Over, false, payment.Void},
			"expired while it was approved":   {[]step{pay(challenged), expire, approve}, testprovider.Over, false, payment.Void},
		} {
			id := start(t, p, now)
			for _, s := range c.steps {
				if _, err := s(id); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			v, err := p.View(t.Context(), id)
			if err != nil || v.Step != c.step || v.Declined != c.declined || v.Amount != money.USD(1250_00) || v.ReturnURL != "/back" {
				t.Errorf("%s: the page shows %+v, %v; want %s, declined %v", name, v, err, c.step, c.declined)
			}
			r, err := p.Status(t.Context(), payment.Payment{ID: id})
			if err != nil || r.Status != c.status || (r.Amount != money.Amount{}) != (c.status == payment.Held) {
				t.Errorf("%s: it reports %+v, %v; want %s", name, r, err, c.status)
			}
		}
	})
}

func TestCardsAreChecked(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	p := newProvider(t, db, func() time.Time { return at })
	id := start(t, p, at)
	for name, c := range map[string]struct {
		number, expiry, cvc string
		want                string // fields at fault
	}{
		"good":                               {good, "12/34", "123", ""},
		"this month, long year, four digits": {good, " 11 / 2026 ", "1234", ""},
		"last month":                         {good, "10/26", "123", "expiry"},
		"month 13":                           {good, "13/30", "123", "expiry"},
		"month 0":                            {good, "0/30", "123", "expiry"},
		"no month":                           {good, "2030", "123", "expiry"},
		"in thirty years":                    {good, "12/56", "123", "expiry"},
		"another century":                    {good, "12/9999", "123", "expiry"},
		"letters":                            {good, "ab/cd", "123", "expiry"},
		"short cvc":                          {good, "12/34", "12", "cvc"},
		"long cvc":                           {good, "12/34", "12345", "cvc"},
		"cvc of other digits":                {good, "12/34", "１２３", "cvc"},
		"a typing error":                     {"4242 4242 4242 4241", "12/34", "123", "number"},
		"too short":                          {"4242", "12/34", "123", "number"},
		"letters in the number":              {"4242 4242 4242 424x", "12/34", "123", "number"},
		"a number that may be real":          {"5555 5555 5555 4444", "12/34", "123", "number"},
		"nothing":                            {"", "", "", "number,expiry,cvc"},
	} {
		fresh := id
		if c.want == "" {
			fresh = start(t, p, at)
		}
		_, err := p.Pay(t.Context(), fresh, testprovider.Card{Number: c.number, Expiry: c.expiry, CVC: c.cvc})
		var f *fault.Error
		var fields []string
		if errors.As(err, &f) {
			for _, field := range f.Fields {
				fields = append(fields, field.Field)
			}
		}
		if got := strings.Join(fields, ","); got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v on %q, want %q", name, err, got, c.want)
		}
		if err != nil && c.number != "" && strings.Contains(err.Error(), c.number) && c.number != good {
			t.Errorf("%s: the failure repeats the number: %v", name, err)
		}
	}
	for _, none := range []string{store.NewID("pmt"), "pmt_none", "\x00", "\xff", ""} {
		if _, err := p.Pay(t.Context(), none, card(good)); !fault.Is(err, fault.NotFound) {
			t.Errorf("a payment that is not there, %q: %v", none, err)
		}
	}
}

// TestNoCardIsKept pays with every card and looks for their numbers in all that is stored, printed and logged.
func TestNoCardIsKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		p := newProvider(t, db, func() time.Time { return at })
		var out bytes.Buffer
		log := slog.New(slog.NewJSONHandler(&out, nil))
		for _, number := range []string{good, declined, challenged, disputable, "5555 5555 5555 4444"} {
			c := testprovider.Card{Number: number, Expiry: "08/31", CVC: "737"}
			v, err := p.Pay(t.Context(), start(t, p, at), c)
			text, _ := json.Marshal(c)
			log.Info("paid", "card", c, "view", v, "error", err, "text", string(text))
			fmt.Fprintf(&out, "%v %+v %#v %s %q %v\n", c, c, c, c, c, []testprovider.Card{c})
		}
		err := db.Read(t.Context(), func(tx store.Tx) error {
			for _, table := range []string{"test_payments", "test_payment_notices"} {
				rows, err := tx.Query(t.Context(), `SELECT * FROM `+table)
				if err != nil {
					return err
				}
				columns, err := rows.Columns()
				if err != nil {
					return err
				}
				for rows.Next() {
					values := make([]any, len(columns))
					for i := range values {
						values[i] = new(any)
					}
					if err := rows.Scan(values...); err != nil {
						return err
					}
					for i, v := range values {
						fmt.Fprintf(&out, "%s=%v ", columns[i], *v.(*any))
					}
				}
				if err := rows.Close(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(out.String(), "use "+good, "") // what a refusal advises
		text = strings.NewReplacer(" ", "", "-", "").Replace(text)
		for _, secret := range []string{"424242", "00003155", "00000259", "00000002", "555555", "08/31"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q of a card is kept", secret)
			}
		}
	})
}

func TestDisputes(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	p := newProvider(t, db, func() time.Time { return at })
	ctx := t.Context()
	taken := func(number string) payment.Payment {
		of := payment.Payment{ID: start(t, p, at)}
		if _, err := p.Pay(ctx, of.ID, card(number)); err != nil {
			t.Fatal(err)
		}
		if err := p.Dispute(ctx, of); !errors.Is(err, payment.ErrFinal) {
			t.Errorf("disputed before it was captured: %v", err)
		}
		for range 2 {
			if r, err := p.Capture(ctx, of); err != nil || r.Status != payment.Taken || r.Amount != money.USD(1250_00) {
				t.Fatalf("capture: %+v, %v", r, err)
			}
		}
		return of
	}
	if err := p.Dispute(ctx, taken(good)); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("a dispute from a card that does not: %v", err)
	}
	of := taken(disputable)
	if err := p.EndDispute(ctx, of.ID, true); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("the end of no dispute: %v", err)
	}
	for range 2 {
		if err := p.Dispute(ctx, of); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Refund(ctx, of); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("a refund of what is disputed: %v", err)
	}
	if r, err := p.Void(ctx, of); err != nil || r.Status != payment.InDispute {
		t.Errorf("void of what is disputed: %+v, %v", r, err)
	}
	if _, err := p.Capture(ctx, payment.Payment{ID: "pmt_none"}); !errors.Is(err, payment.ErrFinal) {
		t.Errorf("capture of nothing: %v", err)
	}
}

// TestNoticesAreSent: each change is told soon, and again after a longer wait each time while nobody takes it.
func TestNoticesAreSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(at))
		db, err := store.Open(t.Context(), store.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		p := newProvider(t, db, nil)
		var taken []string
		refusals, refused := 3, []time.Duration{}
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.Run(ctx, func(_ context.Context, provider string, h http.Header, body []byte) error {
				n, err := p.Notice(h, body)
				if err != nil || provider != testprovider.Name {
					t.Errorf("a notice of %s: %v", provider, err)
				}
				if refusals--; refusals >= 0 {
					refused = append(refused, time.Since(began).Round(time.Second))
					return errors.New("no")
				}
				taken = append(taken, n.Payment)
				return nil
			})
		}()
		id := start(t, p, time.Now())
		if _, err := p.Pay(ctx, id, card(good)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		stop()
		<-done
		if len(taken) != 1 || taken[0] != id {
			t.Errorf("taken: %v, want that of %s once", taken, id)
		}
		for i, want := range []time.Duration{0, 30 * time.Second, 90 * time.Second} {
			if i >= len(refused) || refused[i] < want || refused[i] > want+3*time.Second {
				t.Errorf("sent at %v; want waits that double", refused)
				break
			}
		}
	})
}

func FuzzNotice(f *testing.F) {
	db := storetest.Open(f, store.Config{Temporary: true})
	p := newProvider(f, db, func() time.Time { return at })
	id := start(f, p, at)
	if _, err := p.Pay(f.Context(), id, card(good)); err != nil {
		f.Fatal(err)
	}
	all, err := p.Notices(f.Context(), id)
	if err != nil || len(all) != 1 {
		f.Fatal(all, err)
	}
	header, body := all[0].Header.Get(testprovider.SignatureHeader), all[0].Body
	f.Add(header, body)
	f.Add("t=1,v1=", []byte("{}"))
	f.Add(strings.Repeat("t=,v1=", 50), []byte{})
	f.Fuzz(func(t *testing.T, h string, b []byte) {
		n, err := p.Notice(http.Header{testprovider.SignatureHeader: {h}}, b)
		same := strings.EqualFold(h, header) && bytes.Equal(b, body)
		if (err == nil) != same || err == nil && n.Payment != id || err != nil && !errors.Is(err, payment.ErrSignature) {
			t.Errorf("%q %q: %+v, %v", h, b, n, err)
		}
	})
}

package sale

import (
	"testing"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

func FuzzQuoteID(f *testing.F) {
	key := quoteKey{number: 7, key: []byte("0123456789abcdef0123456789abcdef")}
	q := quote{
		number: "quo_1", partner: "prt_1", environment: "LIVE", domain: fqdn.MustParse("ember.example"), price: money.USD(125000),
		expires: time.Date(2026, 11, 1, 12, 10, 0, 0, time.UTC),
	}
	f.Add(key.sign(q))
	q.number, q.partner, q.price.Currency, q.price.Cents = "", "", "", 0
	f.Add(key.sign(q))
	f.Add("qt_")
	f.Add("qt_AAAA")
	f.Fuzz(func(t *testing.T, id string) {
		s, ok := parseQuote(id)
		if !ok {
			return
		}
		if string(s.append(nil, s.key)) != string(s.signed) {
			t.Fatalf("%q: read as %+v, which is written in another way", id, s.quote)
		}
		again := (quoteKey{number: s.key, key: key.key}).sign(s.quote)
		back, ok := parseQuote(again)
		if !ok || back.quote != s.quote || back.key != s.key {
			t.Fatalf("%q: read as %+v, signed and read again as %+v, %t", id, s.quote, back.quote, ok)
		}
	})
}

func TestAQuoteIsReadAsItWasSigned(t *testing.T) {
	t.Parallel()
	key := quoteKey{number: 1 << 40, key: []byte("key")}
	q := quote{
		number: store.NewID("quo"), partner: store.NewID("prt"), environment: "SANDBOX", domain: fqdn.MustParse("münchen.example"),
		price: money.Amount{Cents: money.MaxCents, Currency: "EUR"}, expires: store.Time(1),
	}
	got, ok := parseQuote(key.sign(q))
	if !ok || got.quote != q || got.key != key.number || string(got.mac) != string(key.mac(got.signed)) {
		t.Errorf("signed %+v, got %+v, %t", q, got.quote, ok)
	}
}

package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	price := func(suffix, action string) tools.PriceOut {
		p, err := call[tools.PriceOut](t.Context(), t, s, "tld_registration_price", `{"tld":"`+suffix+`","op":"`+action+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, test := range []struct {
		in    string
		years int
	}{
		{`{"tlds":["io","com","net","xyz","co.uk"]}`, 1},
		{`{"tlds":["io","com","net","xyz","co.uk"],"years":1}`, 1},
		{`{"tlds":["io","com","net","xyz","co.uk"],"years":2}`, 2},
		{`{"tlds":["io","com","net","xyz","co.uk"],"years":10}`, 10},
	} {
		out, err := call[tools.CompareOut](t.Context(), t, s, "compare_tld_prices", test.in)
		if err != nil || out.Years != test.years || len(out.Results) != 5 || len(out.Unknown) != 0 {
			t.Fatalf("%s: %+v, %v", test.in, out, err)
		}
		for i, row := range out.Results {
			register, renew := price(row.TLD, "register"), price(row.TLD, "renew")
			want := register.PriceCents + int64(test.years-register.TermYears)*renew.PriceCents
			if register.TermYears != 1 || renew.TermYears != 1 || row.Total.PriceCents != want || row.Total.Currency != "USD" ||
				row.Register.PriceCents != register.PriceCents || row.Renew.PriceCents != renew.PriceCents || row.AsOf == "" {
				t.Errorf("%s: %+v; want a total of %d", test.in, row, want)
			}
			if i > 0 && row.Total.PriceCents < out.Results[i-1].Total.PriceCents {
				t.Errorf("%s: %s is cheaper than %s before it", test.in, row.TLD, out.Results[i-1].TLD)
			}
		}
	}
}

// A TLD that is asked for twice is answered once, and one without a price is named.
func TestCompareNamesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	out, err := call[tools.CompareOut](t.Context(), t, s, "compare_tld_prices", `{"tlds":["nosuchsuffix",".COM","com","arpa"],"years":3}`)
	if err != nil || len(out.Results) != 1 || out.Results[0].TLD != "com" || !slices.Equal(out.Unknown, []string{"nosuchsuffix", "arpa"}) {
		t.Errorf("got %+v, %v", out, err)
	}
	answer, err := s.set.Named("compare_tld_prices").Call(t.Context(), []byte(`{"tlds":["co.uk"]}`))
	if err != nil || strings.Contains(string(answer.JSON), `"restore"`) || !strings.Contains(string(answer.JSON), `"unknown":[]`) || !answer.Public || answer.ETag == "" {
		t.Errorf("co.uk has no price to restore: %s, %v", answer.JSON, err)
	}
	none, err := s.set.Named("compare_tld_prices").Call(t.Context(), []byte(`{"tlds":["nosuchsuffix"]}`))
	if err != nil || !strings.Contains(string(none.JSON), `"results":[]`) {
		t.Errorf("got %s, %v", none.JSON, err)
	}
	c, err := s.set.Named("compare_tld_prices").Begin(t.Context(), []byte(`{"tlds":["com","net"],"years":4}`))
	if err != nil || !slices.Equal(c.Charges, []op.Charge{{Class: op.Read, Count: 1}}) {
		t.Errorf("a comparison draws %v, %v", c.Charges, err)
	}
}

func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for in, field := range map[string]string{
		`{}`:                     "tlds",
		`{"years":2}`:            "tlds",
		`{"tlds":[]}`:            "tlds",
		`{"tlds":"com"}`:         "tlds",
		`{"tlds":["com","a b"]}`: "tlds[1]",
		`{"tlds":["com"` + strings.Repeat(`,"net"`, 30) + `]}`: "tlds",
		`{"tlds":["com"],"years":0}`:                           "years",
		`{"tlds":["com"],"years":11}`:                          "years",
		`{"tlds":["com"],"years":1.5}`:                         "years",
		`{"tlds":["com"],"years":"2"}`:                         "years",
		`{"tlds":["com"],"year":2}`:                            "year",
	} {
		_, err := call[tools.CompareOut](t.Context(), t, s, "compare_tld_prices", in)
		if f := fault.From(err); f == nil || f.Code != fault.Validation || len(f.Fields) == 0 || f.Fields[0].Field != field {
			t.Errorf("%s: %+v; want a validation error of %s", in, f, field)
		}
	}
}

// The first year alone misleads: what is free has its renewal beside its registration.
func TestResultsCarryTheRenewal(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	renew, err := call[tools.PriceOut](t.Context(), t, s, "tld_registration_price", `{"tld":"io","op":"renew"}`)
	if err != nil {
		t.Fatal(err)
	}
	search, err := call[tools.SearchOut](t.Context(), t, s, "search_domain", `{"q":"quietmeadow.io","tlds":["io"]}`)
	if err != nil {
		t.Fatal(err)
	}
	check, err := call[tools.CheckOut](t.Context(), t, s, "check_domains", `{"domains":["quietmeadow.io","cobaltpine.com"]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []tools.Result{search.Results[0], check.Results[0]} {
		if r.Renewal != (tools.Registration{PriceCents: renew.PriceCents, Currency: renew.Currency, TermYears: 1}) || r.Registration.PriceCents == 0 {
			t.Errorf("got %+v; want a renewal of %d", r, renew.PriceCents)
		}
	}
	if r := check.Results[1]; r.Renewal != (tools.Registration{}) || r.Registration != (tools.Registration{}) {
		t.Errorf("registered: %+v; want no prices", r)
	}
}

// A term of several years is paid as a whole, and what it covers beyond the years asked for is not renewed.
func TestCompareCountsTerms(t *testing.T) {
	t.Parallel()
	book, bad, err := tld.ParseCSV(strings.NewReader("suffix,register,renew,currency,term_years,as_of\n" +
		"com,2000,3000,USD,2,2026-01-01\nnet,900,1000,USD,1,2026-01-01\norg,700,,USD,1,2026-01-01\n"))
	if err != nil || len(bad) > 0 {
		t.Fatal(err, bad)
	}
	s := newFixture(t)
	set := tools.New(tools.Config{
		Lookup: s.lookup, Market: s.market, Table: tld.DefaultTable(), Prices: tld.NewPrices(book),
		BaseURL: "https://names.example", Secret: make([]byte, 32), Now: time.Now,
	})
	for years, want := range map[int]string{1: "org 700 net 900 com 2000", 2: "net 1900 com 2000 ? org", 3: "net 2900 com 5000 ? org", 5: "net 4900 com 8000 ? org"} {
		out, err := call[tools.CompareOut](t.Context(), t, &fixture{set: set}, "compare_tld_prices", fmt.Sprintf(`{"tlds":["com","net","org"],"years":%d}`, years))
		var got []string
		for _, row := range out.Results {
			got = append(got, fmt.Sprint(row.TLD, " ", row.Total.PriceCents))
		}
		if len(out.Unknown) > 0 {
			got = append(got, "?")
		}
		if got := strings.Join(append(got, out.Unknown...), " "); err != nil || got != want {
			t.Errorf("%d years: %s, %v; want %s", years, got, err, want)
		}
	}
}

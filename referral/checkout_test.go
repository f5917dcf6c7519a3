package referral_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

func TestAttribution(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		first, last := f.mustCreate(ada), f.mustCreate(bea)
		old := f.visit(first, person(1))
		cookie := f.visit(last, person(1)) // takes the place of the one before in the browser
		f.buy(cookie, "chk_1", "prt_public", 9900, "USD")
		f.buy("", "chk_2", "prt_public", 9900, "USD")
		want := referral.Sale{
			PublicID: "ord_chk_1", Buyer: "j•••@e•••.com", Domain: "brewhaven.example", AmountCents: 9900, CommissionCents: 495, Currency: "USD",
			At: f.clock(),
		}
		if got := f.salesOf(bea); !slices.Equal(got, []referral.Sale{want}) {
			f.Errorf("sales of the last link: %+v, want %+v", got, want)
		}
		if got := f.salesOf(ada); len(got) != 0 {
			f.Errorf("sales of the first link: %+v", got)
		}
		// Two browsers in one session: the last that begins to pay counts, unless it came by no link.
		if err := f.tx(func(tx store.Tx) error {
			return f.Checkout(f.Context(), tx, cookie, referral.Checkout{ID: "chk_3", Partner: "prt_public", Environment: "SANDBOX"})
		}); err != nil {
			f.Fatal(err)
		}
		f.buy(old, "chk_3", "prt_public", 100, "EUR")
		if got := f.salesOf(ada); len(got) != 1 || got[0].CommissionCents != 5 {
			f.Errorf("sales of the first link: %+v", got)
		}
	})
}

func TestWhatIsNotAttributed(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		live, err := f.create(referral.Party{Partner: ada.Partner, Environment: "LIVE"}, referral.Request{Type: referral.Generic})
		if err != nil {
			f.Fatal(err)
		}
		cookie := f.visit(l, person(1))
		code, rest, _ := strings.Cut(cookie, ".")
		stamp, mac, _ := strings.Cut(rest, ".")
		f.buy(cookie, "chk_own", ada.Partner, 100, "USD")
		f.buy(f.visit(live, person(1)), "chk_live", "prt_public", 100, "USD")
		for i, forged := range []string{
			code, code + ".", code + "." + stamp, code + "." + stamp + ".", code + ".zzzzzz." + mac, code + "." + stamp + "." + mac + "A",
			codeOf(live) + "." + stamp + "." + mac, "." + stamp + "." + mac, "..", strings.Repeat("a", 5000), code + ".-1." + mac,
		} {
			f.buy(forged, fmt.Sprint("chk_forged", i), "prt_public", 100, "USD")
		}
		f.advance(referral.CookieLife)
		f.buy(cookie, "chk_intime", "prt_public", 100, "USD")
		f.advance(time.Second)
		f.buy(cookie, "chk_late", "prt_public", 100, "USD")
		if got := f.salesOf(ada); len(got) != 1 || got[0].PublicID != "ord_chk_intime" {
			f.Errorf("sales: %+v", got)
		}
		fresh := f.visit(l, person(1))
		if err := f.tx(func(tx store.Tx) error { return referral.UnlinkAccount(f.Context(), tx, "acc_prt_ada") }); err != nil {
			f.Fatal(err)
		}
		f.buy(fresh, "chk_unlinked", "prt_public", 100, "USD")
		if got := f.salesOf(ada); len(got) != 1 {
			f.Errorf("sales of who is no affiliate: %+v", got)
		}
	})
}

// A session that came by another's link, and then by its own partner's, is nobody's: the last link counts.
func TestOwnLinkTakesTheAttributionBack(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		others, own := f.visit(f.mustCreate(ada), person(1)), f.visit(f.mustCreate(bea), person(1))
		if err := f.tx(func(tx store.Tx) error {
			return f.Checkout(f.Context(), tx, others, referral.Checkout{ID: "chk_1", Partner: bea.Partner, Environment: "SANDBOX"})
		}); err != nil {
			f.Fatal(err)
		}
		f.buy(own, "chk_1", bea.Partner, 100, "USD")
		if a, b := f.salesOf(ada), f.salesOf(bea); len(a)+len(b) != 0 {
			f.Errorf("sales: %+v %+v", a, b)
		}
	})
}

func TestReports(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		for day := range 3 {
			for i := range 4 {
				cookie := f.visit(l, person(i))
				if i == 0 {
					f.buy(cookie, fmt.Sprint("chk_", day), "prt_public", 1010, []string{"USD", "EUR", "USD"}[day])
				}
				if i == 1 {
					if err := f.tx(func(tx store.Tx) error {
						return f.Checkout(f.Context(), tx, cookie, referral.Checkout{ID: fmt.Sprint("chk_left", day), Partner: "prt_public", Environment: "SANDBOX"})
					}); err != nil {
						f.Fatal(err)
					}
				}
			}
			f.written()
			f.advance(24 * time.Hour)
		}
		a, err := f.Analytics(f.Context(), ada, referral.Window{}, f.clock())
		if err != nil || a.Clicks != 12 || a.UniqueVisitors != 12 || a.Checkouts != 6 || a.Sales != 3 || a.ConversionRate != 0.25 || len(a.ByDay) != 30 {
			f.Fatalf("analytics %+v, %v", a, err)
		}
		if !slices.Equal(a.Totals, []referral.Total{{Currency: "EUR", GMVCents: 1010, CommissionCents: 50}, {Currency: "USD", GMVCents: 2020, CommissionCents: 100}}) {
			f.Errorf("totals %+v", a.Totals)
		}
		if got := a.ByDay[28]; got != (referral.DayFlow{Date: "2026-11-23", Clicks: 4, Checkouts: 2, Sales: 1}) || a.ByDay[29] != (referral.DayFlow{Date: "2026-11-24"}) {
			f.Errorf("days %+v", a.ByDay[25:])
		}
		from := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		if a, err = f.Analytics(f.Context(), ada, referral.Window{From: from, To: from.Add(24 * time.Hour)}, f.clock()); err != nil || a.Sales != 1 || a.Clicks != 4 || len(a.ByDay) != 1 {
			f.Errorf("one day: %+v, %v", a, err)
		}
		if a, err = f.Analytics(f.Context(), bea, referral.Window{}, f.clock()); err != nil || a.Clicks+a.Sales+a.Checkouts != 0 || a.ConversionRate != 0 {
			f.Errorf("another's: %+v, %v", a, err)
		}
		for what, w := range map[string]referral.Window{"too long": {From: from, To: from.Add(referral.MaxAnalytics + 1)}, "turned": {From: from, To: from.Add(-1)}} {
			if _, err := f.Analytics(f.Context(), ada, w, f.clock()); !fault.Is(err, fault.Validation) {
				f.Errorf("a window that is %s: %v", what, err)
			}
		}
		if _, err := f.Analytics(f.Context(), ada, referral.Window{From: from, To: from.Add(referral.MaxAnalytics)}, f.clock()); err != nil {
			f.Errorf("400 days: %v", err)
		}
		links, err := f.Links(f.Context(), ada, nil, 0)
		if err != nil || len(links.Links) != 1 || links.Links[0].Conversions != 3 || links.Links[0].SalesCents != 2020 || links.Links[0].Currency != "USD" {
			f.Errorf("links: %+v, %v", links, err)
		}
		page, err := f.Sales(f.Context(), ada, referral.Window{From: from}, nil, 1)
		if err != nil || len(page.Sales) != 1 || page.Next == nil || page.Sales[0].PublicID != "ord_chk_2" {
			f.Fatalf("the first sale: %+v, %v", page, err)
		}
		if page, err = f.Sales(f.Context(), ada, referral.Window{From: from}, page.Next, 1); err != nil || len(page.Sales) != 1 || page.Next != nil || page.Sales[0].PublicID != "ord_chk_1" {
			f.Errorf("the second sale: %+v, %v", page, err)
		}
		if _, err := f.Sales(f.Context(), ada, referral.Window{}, nil, 101); !fault.Is(err, fault.Validation) {
			f.Errorf("a long page: %v", err)
		}
	})
}

func TestMaskedAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"jane@example.com": "j•••@e•••.com", "é@ü.example": "é•••@ü•••.example", "a@b": "a•••@b•••", "": "•••", "nobody": "•••", "@x.y": "•••", "x@": "•••",
		`"a@b"@c.co.uk`: `"•••@c•••.uk`,
	} {
		if got := referral.MaskEmail(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

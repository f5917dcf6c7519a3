package referral_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		targets := map[string]referral.Request{
			"/":                          {Type: referral.Generic, Label: "newsletter"},
			"/market/brewhaven.example":  {Type: referral.Domain, Domain: fqdn.MustParse("brewhaven.example")},
			"/market/xn--bcher-kva.test": {Type: referral.Domain, Domain: fqdn.MustParse("bücher.test")},
			"/docs":                      {Type: referral.Product, Product: "api"},
		}
		var ids []string
		for target, r := range targets {
			l, err := f.create(ada, r)
			if err != nil || !strings.HasPrefix(l.URL, "https://names.example/r/") || !strings.HasPrefix(l.LinkID, "lnk_") {
				f.Fatalf("%+v: %+v, %v", r, l, err)
			}
			v, err := f.Visit(f.Context(), codeOf(l), person(1))
			if err != nil || v.Target != target || v.Cookie == "" {
				f.Errorf("visit %s: %+v, %v", target, v, err)
			}
			ids = append(ids, l.LinkID)
		}
		f.mustCreate(bea)
		var got []string
		var after *referral.Position
		for {
			page, err := f.Links(f.Context(), ada, after, 3)
			if err != nil {
				f.Fatal(err)
			}
			for _, l := range page.Links {
				got = append(got, l.LinkID)
			}
			if after = page.Next; after == nil {
				break
			}
		}
		slices.Sort(ids)
		slices.Reverse(ids)
		if !slices.Equal(got, ids) {
			f.Errorf("got %q, want %q", got, ids)
		}
		for _, code := range []string{"", "x", "0123456789abc", "../../admin", strings.Repeat("0", 500), "0123456789ABC"} {
			if v, err := f.Visit(f.Context(), code, person(1)); err != nil || v != (referral.Visit{Target: "/"}) {
				f.Errorf("the code %q: %+v, %v", code, v, err)
			}
		}
	})
}

func TestBadLinks(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		name := fqdn.MustParse("brewhaven.example")
		for what, c := range map[string]struct {
			r     referral.Request
			field string
		}{
			"no type":                    {referral.Request{}, "type"},
			"another type":               {referral.Request{Type: "banner"}, "type"},
			"no domain":                  {referral.Request{Type: referral.Domain}, "domain"},
			"a domain too many":          {referral.Request{Type: referral.Generic, Domain: name}, "domain"},
			"a domain and a product":     {referral.Request{Type: referral.Domain, Domain: name, Product: "api"}, "product"},
			"no product":                 {referral.Request{Type: referral.Product}, "product"},
			"another product":            {referral.Request{Type: referral.Product, Product: "//evil.example"}, "product"},
			"a product too many":         {referral.Request{Type: referral.Generic, Product: "api"}, "product"},
			"a long label":               {referral.Request{Type: referral.Generic, Label: strings.Repeat("é", referral.MaxLabel+1)}, "label"},
			"a label with control codes": {referral.Request{Type: referral.Generic, Label: "a\nb"}, "label"},
			"a label that turns":         {referral.Request{Type: referral.Generic, Label: "a\u202eb"}, "label"},
		} {
			_, err := f.create(ada, c.r)
			var got *fault.Error
			if !errors.As(err, &got) || got.Code != fault.Validation || got.Fields[0].Field != c.field {
				f.Errorf("%s: got %v, want a fault of %s", what, err, c.field)
			}
		}
		if err := f.tx(func(tx store.Tx) error {
			_, err := tx.Exec(f.Context(), `
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
				INSERT INTO referral_links (id, partner, environment, code, type, domain, product, label, created_at)
				SELECT 'lnk_' || i, 'prt_ada', 'SANDBOX', 'code' || i, 'generic', '', '', '', 0 FROM n`)
			return err
		}); err != nil {
			f.Fatal(err)
		}
		if _, err := f.create(ada, referral.Request{Type: referral.Generic}); !fault.Is(err, fault.Conflict) {
			f.Errorf("one link more than the most: %v", err)
		}
		if _, err := f.create(bea, referral.Request{Type: referral.Generic}); err != nil {
			f.Errorf("another partner's: %v", err)
		}
	})
}

func TestAffiliates(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		if err := f.RequireAffiliate(f.Context(), "prt_none"); !fault.Is(err, fault.Forbidden) {
			f.Errorf("a partner without an account: %v", err)
		}
		if err := f.RequireAffiliate(f.Context(), ada.Partner); err != nil {
			f.Error(err)
		}
		if err := f.tx(func(tx store.Tx) error { return referral.UnlinkAccount(f.Context(), tx, "acc_prt_ada") }); err != nil {
			f.Fatal(err)
		}
		if err := f.RequireAffiliate(f.Context(), ada.Partner); !fault.Is(err, fault.Forbidden) {
			f.Errorf("after the account was deleted: %v", err)
		}
	})
}

package partner

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

// affiliate links the partner to an account.
func (s *testServer) affiliate() {
	s.Helper()
	if err := s.operator.LinkAffiliate(s.Context(), s.partner.ID, "acc_of_the_test"); err != nil {
		s.Fatal(err)
	}
}

// sold checks out in a session of another partner by a browser with the cookie.
func (s *testServer) sold(cookie, id string, cents int64) {
	s.Helper()
	err := s.db.Tx(s.Context(), func(tx store.Tx) error {
		if err := s.api.Links().Checkout(s.Context(), tx, cookie, referral.Checkout{ID: "chk_" + id, Partner: "prt_public", Environment: "SANDBOX"}); err != nil {
			return err
		}
		return s.api.Links().Attribute(s.Context(), tx, referral.Order{
			ID: "ord_" + id, Checkout: "chk_" + id, Domain: "brewhaven.example", Price: money.USD(cents), BuyerEmail: "jane@example.com",
		})
	})
	if err != nil {
		s.Fatal(err)
	}
}

func TestReferral(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		for _, r := range []request{s.post(root+"/links", `{"type":"generic"}`), s.get(root + "/links"), s.get(root + "/me/clicks"), s.get(root + "/me/sales"), s.get(root + "/analytics")} {
			s.want(r, 403, fault.Forbidden)
		}
		s.affiliate()
		made := s.ok(s.post(root+"/links", `{"type":"domain","domain":"brewhaven.example","label":"newsletter"}`), 201)
		url := made.text("url")
		if !strings.HasPrefix(url, "https://names.example/r/") || made.text("domain") != "brewhaven.example" || made.json["product"] != nil {
			t.Errorf("the link: %s", made.body)
		}
		code := url[strings.LastIndexByte(url, '/')+1:]
		v, err := s.api.Links().Visit(t.Context(), code, referral.Visitor{UserAgent: "Mozilla/5.0", Counts: true})
		if err != nil || v.Target != "/market/brewhaven.example" {
			t.Fatalf("visit: %+v, %v", v, err)
		}
		s.sold(v.Cookie, "1", 9990)
		s.sold(v.Cookie, "2", 10)
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) { // clicks appear within seconds
			if a := s.ok(s.get(root+"/me/clicks"), 200); strings.Contains(a.body, `"total":1,"unique":1`) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the click does not appear")
			}
		}
		a := s.ok(s.get(root+"/me/sales?limit=1"), 200)
		want := `{"sales":[{"public_id":"ord_2","buyer":"j•••@e•••.com","domain":"brewhaven.example","amount_cents":10,"commission_cents":1,"currency":"USD","at":"2026-11-21T12:00:00Z"}]`
		if !strings.HasPrefix(a.body, want) {
			t.Errorf("sales: %s, want %s", a.body, want)
		}
		page, _ := a.json["page"].(map[string]any)
		if a := s.ok(s.get(root+"/me/sales?cursor="+page["next_cursor"].(string)+"&limit=1"), 200); !strings.Contains(a.body, `"commission_cents":500`) || !strings.Contains(a.body, `"next_cursor":null`) {
			t.Errorf("the second page: %s", a.body)
		}
		a = s.ok(s.get(root+"/links"), 200)
		if !strings.Contains(a.body, `"clicks":1,"unique_visitors":1,"conversions":2,"sales_cents":10000,"currency":"USD"`) {
			t.Errorf("links: %s", a.body)
		}
		a = s.ok(s.get(root+"/analytics?from=2026-11-21&to=2026-11-22"), 200)
		if a.body != `{"clicks":1,"unique_visitors":1,"checkouts":2,"sales":2,"conversion_rate":2,"totals":[{"currency":"USD","gmv_cents":10000,"commission_cents":501}],"by_day":[{"date":"2026-11-21","clicks":1,"checkouts":2,"sales":2}]}` {
			t.Errorf("analytics: %s", a.body)
		}
		// Another partner sees nothing of it.
		other := s.another(market.Sandbox, "refer,report")
		s.want(s.get(root+"/links").signedBy(other), 403, fault.Forbidden)
	}, withBase)
}

// Every field of every endpoint with what it does not take.
func TestReferralBadInput(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, withBase)
	s.affiliate()
	for body, field := range map[string]string{
		`{}`:                                   "type",
		`{"type":"banner"}`:                    "type",
		`{"type":5}`:                           "type",
		`{"type":"domain"}`:                    "domain",
		`{"type":"domain","domain":"a b"}`:     "domain",
		`{"type":"domain","domain":""}`:        "domain",
		`{"type":"generic","domain":"a.test"}`: "domain",
		`{"type":"product"}`:                   "product",
		`{"type":"product","product":"//evil.example"}`:                 "product",
		`{"type":"generic","product":"api"}`:                            "product",
		`{"type":"generic","label":"` + strings.Repeat("x", 101) + `"}`: "label",
		`{"type":"generic","label":"a\u0000b"}`:                         "label",
		`{"type":"generic","target":"https://evil.example"}`:            "target",
	} {
		a := s.send(s.post(root+"/links", body))
		if a.status != http.StatusBadRequest || a.fields() != field {
			t.Errorf("%s: got %d %s, want a fault of %s", body, a.status, a.body, field)
		}
	}
	for _, target := range []string{
		"/links?limit=0", "/links?limit=101", "/links?cursor=AAAA", "/links?from=2026-11-01", "/me/clicks?from=soon", "/me/clicks?to=x", "/me/clicks?limit=5",
		"/me/sales?from=soon", "/me/sales?cursor=AAAA", "/me/sales?limit=x", "/analytics?from=2020-01-01&to=2026-01-01", "/analytics?from=2026-02-01&to=2026-01-01", "/analytics?from=2020-01-01",
	} {
		s.want(s.get(root+target), 400, fault.Validation)
	}
	// A cursor of one list is none of another.
	s.ok(s.post(root+"/links", `{"type":"generic"}`), 201)
	s.ok(s.post(root+"/links", `{"type":"generic"}`), 201)
	page, _ := s.ok(s.get(root+"/links?limit=1"), 200).json["page"].(map[string]any)
	s.want(s.get(root+"/me/sales?cursor="+fmt.Sprint(page["next_cursor"])), 400, fault.Validation)
}

package partner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
)

// calls are one good request for each operation, by its name, about an order and a delivery.
func (s *testServer) calls(order, delivery string) map[string]request {
	return map[string]request{
		"partner_search_domains":        s.get(root + "/domains/search?q=coffee"),
		"partner_get_domain":            s.get(root + "/domains/coffeeshop.example"),
		"partner_availability":          s.get(root + "/availability?domain=coffeeshop.example"),
		"partner_pricing":               s.get(root + "/pricing?domain=coffeeshop.example"),
		"partner_create_quote":          s.post(root+"/quotes", `{"domain":"coffeeshop.example"}`),
		"partner_create_order":          s.order(`{"domain":"coffeeshop.example","expected_price":49900,"dry_run":true}`),
		"partner_list_orders":           s.get(root + "/orders"),
		"partner_get_order":             s.get(root + "/orders/" + order),
		"partner_create_refund":         s.post(root+"/refunds", `{"order_id":"`+order+`"}`),
		"partner_create_checkout":       s.post(root+"/checkout-session", checkoutBody),
		"partner_get_checkout":          s.get(root + "/checkout-session/chk_1"),
		"partner_list_events":           s.get(root + "/events"),
		"partner_put_webhook":           s.put(webhooks, `{"url":"https://partner.example/events","secret":"0123456789abcdef"}`),
		"partner_get_webhook":           s.get(webhooks),
		"partner_delete_webhook":        s.delete(webhooks),
		"partner_test_webhook":          s.post(webhooks+"/test", ""),
		"partner_list_deliveries":       s.get(webhooks + "/deliveries"),
		"partner_redeliver":             s.post(webhooks+"/deliveries/"+delivery+"/redeliver", ""),
		"partner_create_link":           s.post(root+"/links", `{"type":"generic"}`),
		"partner_list_links":            s.get(root + "/links"),
		"partner_referral_clicks":       s.get(root + "/me/clicks"),
		"partner_referred_sales":        s.get(root + "/me/sales"),
		"partner_analytics":             s.get(root + "/analytics"),
		"partner_list_cases":            s.get(root + "/brokerage"),
		"partner_brokerage_eligibility": s.get(root + "/brokerage/eligibility?domain=parked-acme.example"),
		"partner_create_case":           s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-acme.example")),
		"partner_get_case":              s.get(root + "/brokerage/bkc_x"),
		"partner_play_case":             s.post(root+"/sandbox/brokerage/bkc_x/advance", ""),
		"partner_advance_clock":         s.post(root+"/sandbox/clock", `{"advance_seconds":1}`),
		"partner_play_order":            s.post(root+"/sandbox/orders/"+order+"/advance", ""),
		"partner_list_settlements":      s.get(root + "/settlements"),
		"partner_get_settlement":        s.get(root + "/settlements/stl_x"),
		"partner_list_transactions":     s.get(root + "/transactions"),
		"partner_list_payouts":          s.get(root + "/payouts"),
		"partner_my_commissions":        s.get(root + "/me/commissions"),
		"partner_my_payouts":            s.get(root + "/me/payouts"),
	}
}

func (s *testServer) put(path, body string) request {
	r := s.post(path, body)
	r.method = "PUT"
	return r
}

func (s *testServer) delete(path string) request {
	r := s.get(path)
	r.method = "DELETE"
	return r
}

// Each operation needs its scope and no other.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	s.affiliate()
	order := s.ok(s.order(orderBody), 201).text("public_id")
	keys := map[string]signer{}
	for _, scope := range credential.Scopes {
		without := slices.DeleteFunc(slices.Clone(credential.Scopes), func(s string) bool { return s == scope })
		keys["-"+scope] = s.credential(s.partner.ID, market.Sandbox, strings.Join(without, ","))
		keys[scope] = s.credential(s.partner.ID, market.Sandbox, scope)
	}
	for _, o := range s.api.Set().All() {
		if _, ok := s.calls(order, "dlv_x")[o.Name]; !ok {
			continue // TestCalls says so
		}
		for _, scope := range credential.Scopes {
			lacks := s.fresh(s.calls(order, "dlv_x")[o.Name].signedBy(keys["-"+scope]))
			holds := s.fresh(s.calls(order, "dlv_x")[o.Name].signedBy(keys[scope]))
			if got := s.send(lacks); (got.status == 403) != (o.Scope == scope) || got.status == 403 && got.code() != fault.Forbidden {
				t.Errorf("%s without %s: got %d %s, it needs %q", o.Name, scope, got.status, got.body, o.Scope)
			}
			if got := s.send(holds); (got.status == 403) != (o.Scope != "" && o.Scope != scope) {
				t.Errorf("%s with %s: got %d %s, it needs %q", o.Name, scope, got.status, got.body, o.Scope)
			}
		}
	}
}

// fresh is the request as another one.
func (s *testServer) fresh(r request) request {
	r.nonce, r.at = uuid.NewString(), s.clock.Now()
	if r.header[signature.HeaderIdempotencyKey] != "" {
		r = r.keyed(uuid.NewString())
	}
	return r
}

// What is another partner's, or the other environment's, is not found; nothing of it is in any list.
func TestPartnersAreIsolated(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		order := s.ok(s.order(orderBody), 201).text("public_id")
		s.ok(s.put(webhooks, `{"url":"https://partner.example/events","secret":"0123456789abcdef"}`), 200)
		delivery := "dlv_" + strings.TrimPrefix(s.ok(s.post(webhooks+"/test", ""), 200).text("event_id"), "evt_")
		s.ok(s.post(webhooks+"/deliveries/"+delivery+"/redeliver", ""), 200)
		event := objects(s.ok(s.get(root+"/events"), 200), "events")[0]["id"].(string)

		all := strings.Join(credential.Scopes, ",")
		for name, by := range map[string]signer{
			"another partner":   s.another(market.Sandbox, all),
			"the partner, live": s.credential(s.partner.ID, market.Live, all),
		} {
			for _, r := range []request{
				s.get(root + "/orders/" + order),
				s.post(root+"/refunds", `{"order_id":"`+order+`"}`),
				s.post(root+"/sandbox/orders/"+order+"/advance", ""),
				s.post(root+"/sandbox/orders/"+order+"/fail", ""),
				s.post(webhooks+"/deliveries/"+delivery+"/redeliver", ""),
				s.get(webhooks),
				s.delete(webhooks),
			} {
				if got := s.send(r.signedBy(by)); got.status != 404 || got.code() != fault.NotFound {
					t.Errorf("%s, %s %s: got %d %s, want 404", name, r.method, r.path, got.status, got.body)
				}
			}
			s.want(s.get(root+"/events?after_id="+event).signedBy(by), 400, fault.Validation)
			for path, field := range map[string]string{root + "/orders": "orders", root + "/events": "events", webhooks + "/deliveries": "deliveries"} {
				if got := s.ok(s.get(path).signedBy(by), 200); len(objects(got, field)) != 0 {
					t.Errorf("%s, %s: %s", name, path, got.body)
				}
			}
		}
		if got := s.ok(s.get(root+"/orders/"+order), 200).text("status"); got != "EXTERNALLY_PAID" {
			t.Errorf("the order is %s", got)
		}
	})
}

// The sandbox never sees what is live, nor the other way round.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		const onlyLive = "domain,price_cents\nbrewhaven.com,990000\nbrewhaven.example,777700\n"
		if _, err := s.api.cfg.Market.Import(t.Context(), strings.NewReader(onlyLive), market.ImportOptions{Environment: market.Live}); err != nil {
			t.Fatal(err)
		}
		live := s.credential(s.partner.ID, market.Live, strings.Join(credential.Scopes, ","))
		for _, test := range []struct {
			name         string
			by           signer
			its, others  string
			price, wrong string
		}{
			{"sandbox", s.key, "brewpath.test", "brewhaven.com", "9900", "777700"},
			{"live", live, "brewhaven.com", "brewpath.test", "777700", "9900"},
		} {
			ask := func(target string) answer { return s.send(s.get(root + target).signedBy(test.by)) }
			if got := ask("/domains/search?q=brew"); got.status != 200 || !strings.Contains(got.body, test.its) || strings.Contains(got.body, test.others) {
				t.Errorf("%s: search: %s", test.name, got.body)
			}
			for _, path := range []string{"/domains/", "/pricing?domain="} {
				if got := ask(path + test.others); got.code() != fault.NotFound {
					t.Errorf("%s: %s%s: %d %s", test.name, path, test.others, got.status, got.body)
				}
			}
			if got := ask("/availability?domain=" + test.others); got.status != 200 || got.json["available"] != false {
				t.Errorf("%s: availability: %s", test.name, got.body)
			}
			for _, path := range []string{"/domains/brewhaven.example", "/pricing?domain=brewhaven.example", "/availability?domain=brewhaven.example"} {
				if got := ask(path); !strings.Contains(got.body, test.price) || strings.Contains(got.body, test.wrong) {
					t.Errorf("%s: %s: %s", test.name, path, got.body)
				}
			}
			s.want(s.post(root+"/quotes", `{"domain":"`+test.others+`"}`).signedBy(test.by), 404, fault.NotFound)
		}
		s.want(s.post(root+"/sandbox/clock", `{"advance_seconds":1}`).signedBy(live), 404, fault.NotFound)

		order := s.ok(s.order(`{"domain":"brewhaven.example","expected_price":777700}`).signedBy(live), 201)
		if !strings.Contains(s.send(s.get(root+"/availability?domain=brewhaven.example")).body, `"available":true`) {
			t.Error("a live sale took the name from the sandbox")
		}
		s.want(s.post(root+"/sandbox/orders/"+order.text("public_id")+"/advance", "").signedBy(live), 404, fault.NotFound)
	})
}

// The table of calls has every operation.
func TestCalls(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	calls := s.calls("ord_x", "dlv_x")
	for _, o := range s.api.Set().All() {
		r, ok := calls[o.Name]
		if !ok {
			t.Errorf("%s has no request: add one to calls in partner/isolation_test.go", o.Name)
			continue
		}
		if r.method != o.Route.Method {
			t.Errorf("%s: %s, want %s", o.Name, r.method, o.Route.Method)
		}
		if keyable := o.Route.Method == "POST"; (o.Idempotency != op.None) != keyable {
			t.Errorf("%s: idempotency %v", o.Name, o.Idempotency)
		}
		if want := classOf(o.Route.Method, nil); o.Limit != want && o.Limit != ClassSearch {
			t.Errorf("%s: class %s, want %s", o.Name, o.Limit, want)
		}
	}
	if len(calls) != len(s.api.Set().All()) {
		t.Errorf("%d calls, %d operations", len(calls), len(s.api.Set().All()))
	}
}

package partner

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/market"
)

// books fails the test where the ledger is not right or does not fit the orders.
func (s *testServer) books() {
	s.Helper()
	report, err := s.operator.CheckLedger(s.Context())
	if err != nil || len(report.Violations) > 0 {
		s.Errorf("the ledger: %v, %v", report, err)
	}
}

// events are the types of the events of the server's partner in the sandbox.
func (s *testServer) events() (types []string) {
	s.Helper()
	for _, e := range objects(s.ok(s.get(root+"/events?limit=100"), 200), "events") {
		types = append(types, e["type"].(string))
	}
	return types
}

// objects are those of a list in an answer.
func objects(a answer, name string) (all []map[string]any) {
	items, _ := a.json[name].([]any)
	for _, i := range items {
		all = append(all, i.(map[string]any))
	}
	return all
}

// parallel sends requests at once, over two test servers in turns, and counts what they are answered with.
func parallel(t *testing.T, servers []*testServer, requests []request) (answers []answer) {
	t.Helper()
	answers = make([]answer, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Go(func() {
			a, err := servers[i%len(servers)].try(r)
			if err != nil {
				t.Error(err)
			}
			answers[i] = a
		})
	}
	wg.Wait()
	return answers
}

// A hundred orders with one key, over two processes, are one order with one event, and all get its answer.
func TestOneKey(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		key := uuid.NewString()
		var requests []request
		for range 100 {
			requests = append(requests, a.order(orderBody).keyed(key))
		}
		fresh := 0
		bodies := map[string]bool{}
		for _, got := range parallel(t, []*testServer{a, b}, requests) {
			if got.status != 201 {
				t.Errorf("got %d %s, want 201", got.status, got.body)
			}
			bodies[got.body] = true
			if got.header.Get("Idempotency-Replayed") != "true" {
				fresh++
			}
		}
		if len(bodies) != 1 || fresh != 1 {
			t.Errorf("%d different answers, %d of them not replayed: want one and one", len(bodies), fresh)
		}
		if orders, events := a.count(`SELECT COUNT(*) FROM orders`), a.events(); orders != 1 || !slices.Equal(events, []string{"order.recorded"}) {
			t.Errorf("%d orders, events %v: want one and one", orders, events)
		}
		a.books()
	})
}

// Fifty credentials race for one name: one buys it.
func TestRace(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		var requests []request
		for i := range 50 {
			by := a.credential(a.partner.ID, market.Sandbox, "buy")
			if i%2 == 1 {
				by = a.another(market.Sandbox, "buy")
			}
			requests = append(requests, a.order(orderBody).signedBy(by))
		}
		codes := map[string]int{}
		for _, got := range parallel(t, []*testServer{a, b}, requests) {
			codes[strconv.Itoa(got.status)+" "+string(got.code())]++
		}
		if want := map[string]int{"201 ": 1, "409 conflict": 49}; !maps.Equal(codes, want) {
			t.Errorf("got %v, want %v", codes, want)
		}
		if n := a.count(`SELECT COUNT(*) FROM orders`); n != 1 {
			t.Errorf("%d orders, want 1", n)
		}
		a.books()
	})
}

// A repetition gets the answer of the request that took effect, whatever has become of its quote, price and order since.
func TestRepetition(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		quote := s.ok(s.post(root+"/quotes", `{"domain":"brewhaven.example"}`), 201).text("quote_id")
		body := `{"quote_id":"` + quote + `"}`
		first := s.ok(s.order(body).keyed("k"), 201)
		if first.header.Get("Idempotency-Replayed") != "" {
			t.Error("the first answer says that it is replayed")
		}
		again := func(name string) {
			t.Helper()
			got := s.ok(s.post(root+"/orders", body).keyed("k"), 201)
			if got.body != first.body || got.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s: got %s, replayed %q; want %s", name, got.body, got.header.Get("Idempotency-Replayed"), first.body)
			}
		}
		again("at once")
		s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":660}`), 200)
		again("in minute 11")
		s.ok(s.post(root+"/refunds", `{"order_id":"`+first.text("public_id")+`"}`), 201)
		again("refunded")
		s.clock.advance(AnswerLife - time.Hour)
		s.sweep()
		again("after 29 days")
		s.want(s.order(`{"quote_id":"`+quote+`" }`).keyed("k"), 409, fault.Conflict)
		s.want(s.order(body).keyed("another"), 422, fault.QuoteExpired)
		s.clock.advance(time.Hour)
		s.want(s.order(body).keyed("k"), 422, fault.QuoteExpired) // the key is forgotten
		s.sweep()
		if n := s.count(`SELECT COUNT(*) FROM partner_answers`); n != 0 {
			t.Errorf("%d answers are kept for longer than they are good", n)
		}
	})
}

// A key belongs to a credential and a path, and what had no effect does not use it up.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	s.want(s.order(`{"domain":"brewhaven.example","expected_price":1}`).keyed("k"), 422, fault.PriceMismatch)
	s.want(s.order(`{"domain":"nobody.example","expected_price":1}`).keyed("k"), 404, fault.NotFound)
	s.ok(s.order(`{"domain":"brewhaven.example","expected_price":9900,"dry_run":true}`).keyed("k"), 200)
	order := s.ok(s.order(orderBody).keyed("k"), 201)
	s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900,"dry_run":true}`).keyed("k"), 200)
	s.want(s.order(orderBody).keyed("k").signedBy(s.credential(s.partner.ID, market.Sandbox, "buy")), 409, fault.Conflict)
	quote := s.ok(s.post(root+"/quotes", `{"domain":"brewpath.test"}`).keyed("k"), 201)
	if got := s.ok(s.post(root+"/quotes", `{"domain":"brewpath.test"}`).keyed("k"), 201); got.body != quote.body || got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a quote again: %s, want %s", got.body, quote.body)
	}
	s.want(s.post(root+"/quotes", `{"domain":"coffeeshop.example"}`).keyed("k"), 409, fault.Conflict)
	if got := s.ok(s.post(root+"/quotes", `{"domain":"brewpath.test"}`), 201); got.body == quote.body {
		t.Error("without a key, the same quote")
	}
	refund := func() request { return s.post(root+"/refunds", `{"order_id":"`+order.text("public_id")+`"}`) }
	first := s.ok(refund().keyed("r"), 201)
	if got := s.ok(refund().keyed("r"), 201); got.body != first.body || got.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a refund again: %s, want %s", got.body, first.body)
	}
	s.want(refund(), 409, fault.Conflict)
	clock := func() request { return s.post(root+"/sandbox/clock", `{"advance_seconds":5}`).keyed("c") }
	if a, b := s.ok(clock(), 200), s.ok(clock(), 200); a.body != b.body || b.json["ahead_seconds"] != 5.0 {
		t.Errorf("the clock went on twice: %s, %s", a.body, b.body)
	}
	s.books()
}

// Each row of the table of errors that orders and quotes can meet.
func TestOrderErrors(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		quote := func(by signer, domain string) string {
			t.Helper()
			return s.ok(s.post(root+"/quotes", `{"domain":"`+domain+`"}`).signedBy(by), 201).text("quote_id")
		}
		sold := s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900,"external_payment_ref":"pay-1"}`), 201)
		if sold.text("external_payment_ref") != "pay-1" {
			t.Errorf("%s", sold.body)
		}
		foreign := quote(s.another(market.Sandbox, "buy"), "brewhaven.example")
		genuine := quote(s.key, "brewhaven.example")
		live := s.credential(s.partner.ID, market.Live, "buy")
		const at = `{"domain":"brewhaven.example","expected_price":`
		for _, test := range []struct {
			name, body string
			by         signer
			status     int
			code       fault.Code
			field      string
		}{
			{"another price", at + `9901}`, s.key, 422, fault.PriceMismatch, "expected_price"},
			{"another price by its other name", `{"domain":"brewhaven.example","sale_price_cents":9901}`, s.key, 422, fault.PriceMismatch, "sale_price_cents"},
			{"another currency", at + `9900,"currency":"EUR"}`, s.key, 422, fault.PriceMismatch, "currency"},
			{"prices that differ", at + `9900,"sale_price_cents":9901}`, s.key, 400, fault.Validation, "sale_price_cents"},
			{"sold", `{"domain":"brewpath.test","expected_price":4900}`, s.key, 409, fault.Conflict, ""},
			{"never listed", `{"domain":"nobody.example","expected_price":4900}`, s.key, 404, fault.NotFound, ""},
			{"listed in the other environment", at + `9900}`, live, 404, fault.NotFound, ""},
			{"a reference that another order has", at + `9900,"external_payment_ref":"pay-1"}`, s.key, 409, fault.Conflict, "external_payment_ref"},
			{"another's quote", `{"quote_id":"` + foreign + `"}`, s.key, 400, fault.Validation, "quote_id"},
			{"a quote of the other environment", `{"quote_id":"` + genuine + `"}`, live, 400, fault.Validation, "quote_id"},
			{"a forged quote", `{"quote_id":"` + genuine[:len(genuine)-2] + `AA"}`, s.key, 400, fault.Validation, "quote_id"},
			{"a quote of another name", `{"quote_id":"` + genuine + `","domain":"coffeeshop.example"}`, s.key, 400, fault.Validation, "domain"},
			{"a quote at another price", `{"quote_id":"` + genuine + `","expected_price":1}`, s.key, 422, fault.PriceMismatch, "expected_price"},
			{"no name and no quote", `{"expected_price":9900}`, s.key, 400, fault.Validation, "domain"},
			{"no price and no quote", `{"domain":"brewhaven.example"}`, s.key, 400, fault.Validation, "expected_price"},
			{"an exponent", at + `99e2}`, s.key, 400, fault.Validation, "expected_price"},
			{"a fraction", at + `9900.0}`, s.key, 400, fault.Validation, "expected_price"},
			{"a text", at + `"9900"}`, s.key, 400, fault.Validation, "expected_price"},
			{"null", at + `null}`, s.key, 400, fault.Validation, "expected_price"},
			{"nothing", at + `0}`, s.key, 400, fault.Validation, "expected_price"},
			{"below nothing", at + `-9900}`, s.key, 400, fault.Validation, "expected_price"},
			{"beyond 64 bits", at + `99999999999999999999}`, s.key, 400, fault.Validation, "expected_price"},
			{"an unknown field", at + `9900,"colour":"red"}`, s.key, 400, fault.Validation, "colour"},
			{"an unknown field below", at + `9900,"buyer":{"email":"a@b.example","age":3}}`, s.key, 400, fault.Validation, "buyer.age"},
			{"a field in another case", `{"Domain":"brewhaven.example","expected_price":9900}`, s.key, 400, fault.Validation, "Domain"},
			{"a field twice", at + `9900,"expected_price":9900}`, s.key, 400, fault.Validation, "expected_price"},
			{"a name that is none", `{"domain":"-.example","expected_price":9900}`, s.key, 400, fault.Validation, "domain"},
			{"a country of three letters", at + `9900,"buyer":{"email":"a@b.example","country":"DEU"}}`, s.key, 400, fault.Validation, "buyer.country"},
			{"an address that is no address", at + `9900,"return_url":"javascript:alert(1)"}`, s.key, 400, fault.Validation, "return_url"},
			{"a list", `[]`, s.key, 400, fault.Validation, ""},
		} {
			got := s.send(s.order(test.body).signedBy(test.by))
			if got.status != test.status || got.code() != test.code || got.fields() != test.field {
				t.Errorf("%s: got %d %s, want %d %s on %q", test.name, got.status, got.body, test.status, test.code, test.field)
			}
			dryRun := strings.TrimSuffix(test.body, "}") + `,"dry_run":true}`
			if test.body != "[]" {
				if dry := s.send(s.order(dryRun).signedBy(test.by)); dry.status != got.status || dry.code() != got.code() {
					t.Errorf("%s, as a dry run: got %d %s, want %d %s", test.name, dry.status, dry.body, got.status, got.code())
				}
			}
		}
		if mismatch := s.send(s.order(at + `1}`)); !strings.Contains(mismatch.body, "9900") {
			t.Errorf("a mismatch does not carry the current price: %s", mismatch.body)
		}
		s.ok(s.order(`{"quote_id":"`+genuine+`","domain":"brewhaven.example","expected_price":9900,"sale_price_cents":9900,"currency":"USD"}`), 201)
		s.want(s.order(`{"quote_id":"`+genuine+`"}`), 409, fault.Conflict)
		expired := quote(s.key, "coffeeshop.example")
		s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":600}`), 200)
		s.want(s.order(`{"quote_id":"`+expired+`"}`), 422, fault.QuoteExpired)
		s.books()
	})
}

// A dry run says what would happen, and leaves nothing behind.
func TestDryRun(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	got := s.ok(s.order(strings.Replace(orderBody, "{", `{"dry_run":true,`, 1)), 200)
	if got.json["public_id"] != nil || got.text("domain") != "brewhaven.example" || got.json["sale_price_cents"] != 9900.0 {
		t.Errorf("got %s", got.body)
	}
	for _, table := range []string{"orders", "order_timeline", "postings", "events", "partner_answers"} {
		if n := s.count(`SELECT COUNT(*) FROM ` + table); n != 0 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
	s.ok(s.order(orderBody), 201)
}

// Orders are listed by what is asked for, the newest first, each once, and to their partner alone.
func TestListOrders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		var all []string
		for i, domain := range []string{"brewhaven.example", "brewpath.test", "coffeeshop.example", "bücher.example"} {
			price := []int{9900, 4900, 49900, 120000}[i]
			all = append([]string{s.ok(s.order(fmt.Sprintf(`{"domain":%q,"expected_price":%d}`, domain, price)), 201).text("public_id")}, all...)
			s.clock.advance(24 * time.Hour)
		}
		s.ok(s.post(root+"/sandbox/orders/"+all[0]+"/advance", ""), 200)
		ids := func(query string) (ids []string, next string) {
			t.Helper()
			got := s.ok(s.get(root+"/orders?"+query), 200)
			for _, o := range objects(got, "orders") {
				ids = append(ids, o["public_id"].(string))
			}
			page := got.json["page"].(map[string]any)
			if _, ok := page["next_cursor"]; !ok {
				t.Errorf("%s has no next_cursor", got.body)
			}
			next, _ = page["next_cursor"].(string)
			return ids, next
		}
		for query, want := range map[string][]string{
			"":                             all,
			"status=EXTERNALLY_PAID":       all[1:],
			"status=SETTLED":               nil,
			"domain=xn--bcher-kva.example": all[:1],
			"domain=" + url.QueryEscape("bücher.example"):              all[:1],
			"from=2026-11-23&to=2026-11-23":                            nil,
			"from=2026-11-22&to=2026-11-23":                            {all[2]},
			"from=2026-11-22&to=2026-11-24":                            all[1:3],
			"to=2026-11-21":                                            nil,
			"from=2026-11-22T12:00:00Z&to=2026-11-22T12:00:00Z":        nil,
			"from=2026-11-22T12:00:00Z&to=2026-11-22T12:00:00.000001Z": {all[2]},
			"from=2026-11-22T13:00:00%2B01:00&to=2026-11-23T12:00:00Z": {all[2]},
		} {
			if got, next := ids(query); !slices.Equal(got, want) || next != "" {
				t.Errorf("%s: got %v, %q, want %v", query, got, next, want)
			}
		}
		first, next := ids("limit=3")
		if !slices.Equal(first, all[:3]) || next == "" {
			t.Fatalf("a page: %v, %q", first, next)
		}
		if second, end := ids("limit=3&cursor=" + next); !slices.Equal(second, all[3:]) || end != "" {
			t.Errorf("the next page: %v, %q, want %v", second, end, all[3:])
		}
		for _, query := range []string{"cursor=" + next + "&status=SETTLED", "cursor=" + next[:len(next)-2] + "AA", "cursor=x", "limit=0", "limit=101", "limit=x", "status=paid", "from=yesterday", "from=2026-02-30"} {
			s.want(s.get(root+"/orders?"+query), 400, fault.Validation)
		}
		other := s.another(market.Sandbox, "buy")
		s.want(s.get(root+"/orders?cursor="+next).signedBy(other), 400, fault.Validation)
		if got := objects(s.ok(s.get(root+"/orders").signedBy(other), 200), "orders"); len(got) != 0 {
			t.Errorf("another sees %v", got)
		}
	})
}

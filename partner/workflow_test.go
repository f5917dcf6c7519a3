package partner

import (
	"testing"

	"github.com/namewharf/namewharf/fault"
)

// A partner's day, from the search to the refund.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		found := s.ok(s.get(root+"/domains/search?q=coffee"), 200)
		t.Log(found.body)
		s.ok(s.get(root+"/domains/brewhaven.example"), 200)
		s.ok(s.get(root+"/availability?domain=brewhaven.example"), 200)
		s.ok(s.get(root+"/availability?domain=nobody.example"), 200)
		s.ok(s.get(root+"/pricing?domain=brewhaven.example"), 200)
		quote := s.ok(s.post(root+"/quotes", `{"domain":"brewhaven.example"}`), 201)
		t.Log(quote.body)
		order := s.ok(s.order(`{"quote_id":"`+quote.text("quote_id")+`"}`), 201)
		t.Log(order.body)
		id := order.text("public_id")
		s.ok(s.get(root+"/availability?domain=brewhaven.example"), 200)
		s.ok(s.get(root+"/orders/"+id), 200)
		s.ok(s.get(root+"/orders"), 200)
		s.ok(s.post(root+"/sandbox/orders/"+id+"/advance", ""), 200)
		s.ok(s.post(root+"/refunds", `{"order_id":"`+id+`","reason":"second thoughts"}`), 201)
		s.ok(s.get(root+"/events?limit=2"), 200)
		s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":60}`), 200)
	})
}

// An invalid name is an error of the caller, not a name that is not listed.
func TestLabelsThatNobodyCanHave(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		for _, path := range []string{"/availability?domain=%F0%9F%98%80.example", "/pricing?domain=xn--e28h.example", "/domains/xn--e28h.example"} {
			s.want(s.get(root+path), 400, fault.Validation)
		}
		s.want(s.post(root+"/quotes", `{"domain":"😀.example"}`), 400, fault.Validation)
		s.want(s.order(`{"domain":"😀.example","expected_price":100,"currency":"USD","buyer":{"email":"a@b.example"}}`), 400, fault.Validation)
		s.ok(s.get(root+"/availability?domain=b%C3%BCcher.example"), 200)
	})
}

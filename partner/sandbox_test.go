package partner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/sale"
)

// In the sandbox a partner runs the operator's actions, through every state.
func TestSandboxActions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		play := func(order, play string) request { return s.post(root+"/sandbox/orders/"+order+"/"+play, "") }
		order := s.ok(s.order(orderBody), 201).text("public_id")
		s.want(play(order, "clear"), 409, fault.Conflict)
		if got := s.ok(play(order, "hold"), 200); got.text("review") != "held" {
			t.Errorf("held: %s", got.body)
		}
		s.want(play(order, "hold"), 409, fault.Conflict)
		s.want(play(order, "advance"), 409, fault.Conflict)
		if got := s.ok(play(order, "clear"), 200); got.text("review") != "cleared" {
			t.Errorf("cleared: %s", got.body)
		}
		for _, want := range []string{"TRANSFER_IN_PROGRESS", "TRANSFER_COMPLETED", "SETTLED"} {
			if got := s.ok(play(order, "advance").keyed(want), 200); got.text("status") != want {
				t.Errorf("got %s, want %s", got.text("status"), want)
			}
			if got := s.ok(play(order, "advance").keyed(want), 200); got.text("status") != want || got.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("repeated: got %s, want %s", got.body, want)
			}
		}
		s.want(play(order, "advance"), 409, fault.Conflict)
		s.want(play(order, "fail"), 409, fault.Conflict)
		s.want(s.post(root+"/refunds", `{"order_id":"`+order+`"}`), 409, fault.Conflict)
		s.want(play(order, "settle"), 400, fault.Validation)
		s.want(play("ord_nothing", "advance"), 404, fault.NotFound)

		failed := s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900}`), 201).text("public_id")
		if got := s.ok(play(failed, "fail"), 200); got.text("status") != "CANCELLED" {
			t.Errorf("failed: %s", got.body)
		}
		if got := s.ok(s.get(root+"/availability?domain=brewpath.test"), 200); got.json["available"] != true {
			t.Errorf("the name of a cancelled order: %s", got.body)
		}
		want := []string{
			"order.recorded", "order.manual_review_cleared", "order.transfer_started", "order.transfer_completed", "order.settled",
			"order.recorded", "order.refunded",
		}
		if got := s.events(); !slices.Equal(got, want) {
			t.Errorf("events: got %v, want %v", got, want)
		}
		s.books()
	})
}

// The test clock moves the partner's time, in the sandbox alone, and no other partner's.
func TestClock(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	now := s.clock.Now()
	live := s.credential(s.partner.ID, market.Live, "buy")
	other := s.another(market.Sandbox, "buy")
	if _, err := s.api.cfg.Market.Import(t.Context(), strings.NewReader("domain,price_cents\nbrewhaven.com,990000\n"), market.ImportOptions{Environment: market.Live}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		got := s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":3600}`), 200)
		if want := fmt.Sprintf(`{"now":%q,"ahead_seconds":%d}`, now.Add(time.Duration(i+1)*time.Hour).Format(time.RFC3339), 3600*(i+1)); got.body != want {
			t.Errorf("got %s, want %s", got.body, want)
		}
	}
	for _, test := range []struct {
		name, domain string
		by           signer
		want         time.Time
	}{
		{"the partner", "brewhaven.example", s.key, now.Add(3*time.Hour + sale.QuoteLife)},
		{"the partner, live", "brewhaven.com", live, now.Add(sale.QuoteLife)},
		{"another partner", "brewhaven.example", other, now.Add(sale.QuoteLife)},
	} {
		got := s.ok(s.post(root+"/quotes", `{"domain":"`+test.domain+`"}`).signedBy(test.by), 201)
		if got.text("expires_at") != test.want.Format(time.RFC3339) {
			t.Errorf("%s: expires_at %s, want %s", test.name, got.text("expires_at"), test.want.Format(time.RFC3339))
		}
	}
	order := s.ok(s.order(orderBody), 201)
	if got, want := order.text("created_at"), now.Add(3*time.Hour).Format(time.RFC3339); got != want {
		t.Errorf("created_at %s, want %s", got, want)
	}
	for _, body := range []string{`{"advance_seconds":0}`, `{"advance_seconds":-1}`, `{"advance_seconds":1.5}`, `{"advance_seconds":99999999}`, `{}`} {
		s.want(s.post(root+"/sandbox/clock", body), 400, fault.Validation)
	}
	for range 50 {
		if got := s.send(s.post(root+"/sandbox/clock", `{"advance_seconds":31622400}`)); got.status != 200 {
			s.want(s.post(root+"/sandbox/clock", `{"advance_seconds":31622400}`), 400, fault.Validation)
			return
		}
	}
	t.Error("the clock goes on for ever")
}

// What was sold through this process is not shown as available by it, though nothing else brings its index up to date.
func TestSoldIsNotShown(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	names.WriteString("domain,price_cents\n")
	for i := range 40 {
		fmt.Fprintf(&names, "teapot%02d.example,9900\n", i)
	}
	s := openSQLite(t, func(set *options) { set.seed = names.String() })
	errs := make(chan error)
	for i := range 40 {
		go func() {
			domain := fmt.Sprintf("teapot%02d.example", i)
			a, err := s.try(s.order(`{"domain":"` + domain + `","expected_price":9900}`))
			if err != nil || a.status != 201 {
				errs <- fmt.Errorf("order: %d %s, %w", a.status, a.body, err)
				return
			}
			for _, target := range []string{"/availability?domain=" + domain, "/domains/search?q=" + domain} {
				a, err := s.try(s.get(root + target))
				if err != nil || strings.Contains(a.body, domain+`","available":true`) || strings.Contains(a.body, domain+`","tld"`) {
					errs <- errors.Join(err, fmt.Errorf("%s: %s", target, a.body))
					return
				}
			}
			errs <- nil
		}()
	}
	for range 40 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// Waiting for the index ends with the request, and with what brings it up to date.
func TestInventoryIsClosed(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.api.inventory.changed(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.api.inventory.changed(t.Context()); err != nil {
		t.Error(err)
	}
}

// The sandbox is always seeded with the same names, and a second time with nothing new.
func TestSeed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		report, err := s.operator.Seed(t.Context())
		if err != nil || len(report.Bad) > 0 || report.Rows < 200 {
			t.Fatalf("%+v, %v", report, err)
		}
		if err := s.api.cfg.Market.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := s.ok(s.get(root+"/pricing?domain="+admin.SampleDomain), 200)
		if got.json["buy_now_cents"] != float64(admin.SamplePriceCents) || got.text("currency") != "USD" {
			t.Errorf("%s: %s", admin.SampleDomain, got.body)
		}
		for _, q := range []string{"coffee", "flowers", "software", "wallet"} {
			if got := s.ok(s.get(root+"/domains/search?q="+q), 200); len(objects(got, "results")) != MaxResults {
				t.Errorf("search for %s: %s", q, got.body)
			}
		}
		s.ok(s.order(`{"domain":"`+admin.SampleDomain+`","expected_price":9900}`), 201)
		again, err := s.operator.Seed(t.Context())
		if err != nil || again.Created != 0 || again.Updated != 0 || len(again.Bad) != 1 || again.Unchanged != report.Rows-1 {
			t.Errorf("again: %+v, %v", again, err)
		}
		s.want(s.get(root+"/pricing?domain="+admin.SampleDomain), 404, fault.NotFound)
	})
	for line := range strings.Lines(admin.SeedCSV()) {
		domain, _, _ := strings.Cut(line, ",")
		if !strings.HasSuffix(domain, ".example") && !strings.HasSuffix(domain, ".test") && domain != "domain" {
			t.Errorf("%s is not reserved", domain)
		}
	}
}

// An operator's action takes effect, is sent to the partner as an event, and is recorded in the audit log.
func TestOperator(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		ctx, o := t.Context(), s.operator
		terms := credential.DefaultTerms()
		terms.ReviewLimitCents, terms.Rates.Service = 5_000, 1_000
		if err := o.SetTerms(ctx, s.partner.ID, terms); err != nil {
			t.Fatal(err)
		}
		if err := o.Flag(ctx, fqdn.MustParse("brewpath.test"), "disputed"); err != nil {
			t.Fatal(err)
		}
		if all, err := o.Partners(ctx); err != nil || len(all) != 1 || all[0].Terms != terms || all[0].Name != "Example Registrar" {
			t.Errorf("partners: %+v, %v", all, err)
		}
		s.clock.advance(2 * credential.MaxAge)
		dear := s.ok(s.order(orderBody), 201)
		flagged := s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900}`), 201)
		if dear.text("review") != "held" || flagged.text("review") != "held" {
			t.Errorf("not held: %s %s", dear.body, flagged.body)
		}
		id := dear.text("public_id")
		if _, err := o.Transition(ctx, id, sale.StartTransfer, ""); !fault.Is(err, fault.Conflict) {
			t.Errorf("the transfer of a held order: %v", err)
		}
		s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":86400}`), 200)
		for _, a := range []sale.Action{sale.Clear, sale.StartTransfer, sale.ConfirmTransfer} {
			if _, err := o.Transition(ctx, id, a, "because"); err != nil {
				t.Errorf("%s: %v", a, err)
			}
		}
		done, err := o.Order(ctx, id)
		if err != nil || done.Status != sale.TransferCompleted || !done.UpdatedAt.Equal(s.clock.Now().Add(24*time.Hour)) {
			t.Errorf("%+v, %v, want it done by the partner's clock", done, err)
		}
		if _, err := o.Transition(ctx, flagged.text("public_id"), sale.Cancel, "fraud"); err != nil {
			t.Error(err)
		}
		if _, err := o.Transition(ctx, "ord_nothing", sale.Cancel, ""); !fault.Is(err, fault.NotFound) {
			t.Errorf("an order that is not there: %v", err)
		}
		if page, err := o.Orders(ctx, sale.Filter{Status: sale.Cancelled}); err != nil || len(page.Orders) != 1 {
			t.Errorf("orders: %+v, %v", page, err)
		}
		s.books()
		records, err := audit.Lines(ctx, s.db, audit.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		var actions []string
		for _, r := range records {
			if r.Actor != "test" && r.Action != "clock.advance" || strings.Contains(r.Reason+r.Subject+string(r.Details), s.key.secret) {
				t.Errorf("%+v", r)
			}
			actions = append(actions, r.Action)
		}
		want := []string{"order.cancel", "order.confirm-transfer", "order.start-transfer", "order.clear", "clock.advance", "domain.flag", "partner.terms", "credential.create", "partner.create"}
		if !slices.Equal(actions, want) {
			t.Errorf("audit log: got %v, want %v", actions, want)
		}
		credentials, err := o.Credentials(ctx, s.partner.ID)
		if err != nil || len(credentials) != 1 || credentials[0].KeyID != s.key.key || credentials[0].Secrets != 1 || !slices.Equal(credentials[0].Scopes, credential.Scopes) {
			t.Errorf("credentials: %+v, %v", credentials, err)
		}
	})
}

func TestOperatorRefuses(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	ctx, o := t.Context(), s.operator
	for name, try := range map[string]func() error{
		"a partner without a name": func() error { _, err := o.CreatePartner(ctx, " ", credential.DefaultTerms()); return err },
		"a name of two lines":      func() error { _, err := o.CreatePartner(ctx, "a\nb", credential.DefaultTerms()); return err },
		"a commission over everything": func() error {
			return o.SetTerms(ctx, s.partner.ID, credential.Terms{Rates: ledger.Rates{Service: 10_001}})
		},
		"a limit below nothing":       func() error { return o.SetTerms(ctx, s.partner.ID, credential.Terms{ReviewLimitCents: -1}) },
		"a scope that is none":        func() error { _, err := o.CreateCredential(ctx, s.partner.ID, market.Live, "search,admin"); return err },
		"an environment that is none": func() error { _, err := o.CreateCredential(ctx, s.partner.ID, "TEST", "search"); return err },
	} {
		if err := try(); !fault.Is(err, fault.Validation) {
			t.Errorf("%s: %v, want %s", name, err, fault.Validation)
		}
	}
	for name, try := range map[string]func() error{
		"terms of nobody":         func() error { return o.SetTerms(ctx, "prt_nobody", credential.DefaultTerms()) },
		"nobody suspended":        func() error { return o.Suspend(ctx, "prt_nobody", "") },
		"a credential for nobody": func() error { _, err := o.CreateCredential(ctx, "prt_nobody", market.Live, "search"); return err },
		"no credential revoked":   func() error { return o.RevokeCredential(ctx, "nw_live_nobody", "") },
		"no credential rotated":   func() error { _, err := o.RotateSecret(ctx, "nw_live_nobody", 0); return err },
		"no delivery again":       func() error { _, err := o.Redeliver(ctx, s.partner.ID, market.Sandbox, "dlv_x"); return err },
	} {
		if err := try(); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v, want %s", name, err, fault.NotFound)
		}
	}
}

// A partner has credentials for LIVE once it is approved (section 1 of the contract: "production is enabled after
// approval"), and for the sandbox before.
func TestApproval(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		ctx, o := t.Context(), s.operator
		if _, err := o.CreateCredential(ctx, s.partner.ID, market.Live, "search"); !fault.Is(err, fault.Conflict) {
			t.Errorf("LIVE before approval: got %v, want %s", err, fault.Conflict)
		}
		for range 2 {
			if err := o.Approve(ctx, s.partner.ID); err != nil {
				t.Fatal(err)
			}
		}
		issued, err := o.CreateCredential(ctx, s.partner.ID, market.Live, "search")
		if err != nil {
			t.Fatal(err)
		}
		asked := s.get("/api/partner/v1/availability?domain=brewhaven.example")
		asked.by = signer{issued.KeyID, issued.Secret}
		s.ok(asked, 200)
		p, err := o.Partner(ctx, s.partner.ID)
		if err != nil || p.Approved.IsZero() {
			t.Errorf("got %+v, %v; want a time of approval", p, err)
		}
		lines, err := audit.Lines(ctx, s.db, audit.Filter{Action: "partner.approve", Limit: 10})
		if err != nil || len(lines) != 1 {
			t.Errorf("the audit log has %d lines, %v; want 1", len(lines), err)
		}
		if err := o.Approve(ctx, "prt_nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("approve nobody: got %v", err)
		}
		if _, err := o.Partner(ctx, "prt_nobody"); !fault.Is(err, fault.NotFound) {
			t.Errorf("show nobody: got %v", err)
		}
	})
}

// The sandbox's own operations need the scope of what they move and show: with one for the inventory alone an order was
// cancelled, and its answer showed the buyer.
func TestSandboxScopes(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	order := s.ok(s.order(orderBody), 201).text("public_id")
	for _, scope := range credential.Scopes {
		by := s.credential(s.partner.ID, market.Sandbox, scope)
		for _, r := range []request{
			s.post(root+"/sandbox/orders/"+order+"/fail", ""),
			s.post(root+"/sandbox/orders/"+order+"/hold", ""),
			s.post(root+"/sandbox/clock", `{"advance_seconds":60}`),
		} {
			if scope == credential.ScopeBuy {
				continue
			}
			if got := s.want(r.signedBy(by), 403, fault.Forbidden); strings.Contains(got.body, "a@b.example") {
				t.Errorf("%s: %s", scope, got.body)
			}
		}
	}
	if got := s.ok(s.get(root+"/orders/"+order), 200); got.text("status") != "EXTERNALLY_PAID" || got.json["review"] != nil {
		t.Errorf("the order has changed: %s", got.body)
	}
	if n := s.count(`SELECT COUNT(*) FROM partners WHERE sandbox_ahead > 0`); n != 0 {
		t.Error("the clock was moved")
	}
	buyer := s.credential(s.partner.ID, market.Sandbox, credential.ScopeBuy)
	s.ok(s.post(root+"/sandbox/clock", `{"advance_seconds":60}`).signedBy(buyer), 200)
	s.ok(s.post(root+"/sandbox/orders/"+order+"/advance", "").signedBy(buyer), 200)
	live := s.credential(s.partner.ID, market.Live, credential.ScopeBuy)
	s.want(s.post(root+"/sandbox/clock", `{"advance_seconds":60}`).signedBy(live), 404, fault.NotFound)
	s.want(s.post(root+"/sandbox/orders/"+order+"/advance", "").signedBy(live), 404, fault.NotFound)
}

package partner

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/settlement"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// sell places an order of the test partner in the sandbox and delivers the name.
func (s *testServer) sell(domain string, price int64, m sale.PaymentModel) sale.Order {
	s.Helper()
	p := wiring.Seller(credential.Party{Partner: s.partner.ID, Environment: market.Sandbox, Terms: s.partner.Terms})
	place := s.api.sales.Place
	if m == sale.ServiceCollected {
		place = s.api.sales.PlacePaid
	}
	var o sale.Order
	err := s.api.sales.Tx(s.Context(), "SANDBOX", func(tx store.Tx) (err error) {
		now, err := wiring.LocalTime(s.Context(), tx, s.clock.Now(), credential.Party{Partner: s.partner.ID, Environment: market.Sandbox})
		if err != nil {
			return err
		}
		o, err = place(s.Context(), tx, p, sale.Request{Domain: domain, ExpectedPrice: price}, now)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	for _, action := range []sale.Action{sale.StartTransfer, sale.ConfirmTransfer} {
		if o, err = s.operator.Transition(s.Context(), o.PublicID, action, ""); err != nil {
			s.Fatal(err)
		}
	}
	return o
}

// settle settles a month of the sandbox.
func (s *testServer) settle(period string) settlement.Report {
	s.Helper()
	p, err := ledger.ParsePeriod(period)
	if err != nil {
		s.Fatal(err)
	}
	report, err := s.operator.Settle(s.Context(), settlement.Run{Period: p, Environment: market.Sandbox})
	if err != nil {
		s.Fatal(err)
	}
	return report
}

// ok sends a request and reads the answer.
func (s *testServer) read(target string, to any) {
	s.Helper()
	got := s.send(s.get(target))
	if got.status != 200 {
		s.Fatalf("%s: got %d %s", target, got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), to); err != nil {
		s.Fatal(err)
	}
}

// wantBooks checks the ledger.
func (s *testServer) wantBooks() {
	s.Helper()
	report, err := s.operator.CheckLedger(s.Context())
	if err != nil || len(report.Violations) > 0 {
		s.Errorf("the ledger: got %v, %v", report, err)
	}
}

func TestSettlementOfAMonth(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		first := s.sell("brewhaven.example", 9900, sale.PartnerCollected)
		second := s.sell("brewpath.test", 4900, sale.ServiceCollected)
		third := s.sell("coffeeshop.example", 49900, sale.PartnerCollected)
		s.send(s.post("/api/partner/v1/sandbox/clock", `{"advance_seconds":1000000}`)) // into December, by the test clock alone
		report := s.settle("2026-11")
		if len(report.Statements) != 2 || report.Settled != 3 || len(s.settle("2026-11").Statements) != 0 {
			t.Fatalf("a settlement and its repetition: got %+v", report)
		}

		var list SettlementsOut
		s.read("/api/partner/v1/settlements?from=2026-11-01&to=2026-12-01", &list)
		if len(list.Settlements) != 2 {
			t.Fatalf("got %+v", list)
		}
		slices.SortFunc(list.Settlements, func(a, b Settlement) int { return strings.Compare(a.Currency, b.Currency) })
		for i, want := range []Settlement{
			{Currency: "EUR", GrossSoldCents: 49900, CommissionRetainedCents: 7485, AmountOwedCents: 42415, OrderCount: 1},
			{Currency: "USD", GrossSoldCents: 9900, CommissionRetainedCents: 1485, AmountOwedCents: 8415, OrderCount: 1, ServiceCollectedCount: 1},
		} {
			got := list.Settlements[i]
			want.SettlementID, want.Status = report.Statements[i].ID, "open"
			want.PeriodStart, want.PeriodEnd = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			want.ClosedAt = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(1_000_000 * time.Second)
			if got != want {
				t.Errorf("statement: got %+v, want %+v", got, want)
			}
		}
		usd := list.Settlements[1].SettlementID
		var one SettlementOut
		s.read("/api/partner/v1/settlements/"+usd+"?limit=1", &one)
		if want := (SettlementLine{second.PublicID, "brewpath.test", "commission", 4900, 490, 0, second.CompletedAt}); len(one.Lines) != 1 || one.Lines[0] != want {
			t.Errorf("the first line: got %+v, want %+v", one.Lines, want)
		}
		var rest SettlementOut
		s.read("/api/partner/v1/settlements/"+usd+"?limit=1&cursor="+string(one.Page.NextCursor), &rest)
		if want := (SettlementLine{first.PublicID, "brewhaven.example", "sale", 9900, 1485, 8415, first.CompletedAt}); len(rest.Lines) != 1 || rest.Lines[0] != want || rest.Page.NextCursor != "" {
			t.Errorf("the next line: got %+v, want %+v", rest, want)
		}
		text := s.send(s.get("/api/partner/v1/settlements/"+usd).with("Accept", "text/csv"))
		want := fmt.Sprintf("order_id,domain,type,gross_cents,commission_cents,owed_cents,currency,at\n%s,brewpath.test,commission,4900,490,0,USD,%s\n%s,brewhaven.example,sale,9900,1485,8415,USD,%s\n",
			second.PublicID, second.CompletedAt.Format(time.RFC3339Nano), first.PublicID, first.CompletedAt.Format(time.RFC3339Nano))
		if text.status != 200 || text.header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || text.body != want {
			t.Errorf("as CSV: got %d %v\n%s\nwant\n%s", text.status, text.header, text.body, want)
		}
		s.wantSettled(first, second, third)
		s.wantForeign(usd, string(one.Page.NextCursor))
		if _, err := s.operator.MarkStatementPaid(t.Context(), usd, "wire 1"); err != nil {
			t.Fatal(err)
		}
		_, err := s.operator.MarkStatementPaid(t.Context(), usd, "wire 1")
		if s.read("/api/partner/v1/settlements/"+usd, &one); one.Status != "paid" || !fault.Is(err, fault.Conflict) {
			t.Errorf("paid twice: got %v and then %v", one.Status, err)
		}
		s.wantBooks()
	})
}

// wantSettled checks that orders are settled, each with one event.
func (s *testServer) wantSettled(orders ...sale.Order) {
	s.Helper()
	events := s.send(s.get("/api/partner/v1/events?limit=100")).body
	for _, o := range orders {
		var got sale.Order
		s.read("/api/partner/v1/orders/"+o.PublicID, &got)
		if last := got.Timeline[len(got.Timeline)-1]; got.Status != sale.Settled || last.Type != sale.EventSettled {
			s.Errorf("order %s: got %s, %+v", o.PublicID, got.Status, last)
		}
		var all EventsOut
		if err := json.Unmarshal([]byte(events), &all); err != nil {
			s.Fatal(err)
		}
		n := 0
		for _, e := range all.Events {
			if e.Type == sale.EventSettled && strings.Contains(string(e.Data), o.PublicID) {
				n++
			}
		}
		if n != 1 {
			s.Errorf("order %s has %d events of being settled", o.PublicID, n)
		}
	}
}

// wantForeign checks that nobody else sees a statement, and that its cursor is good for nothing else.
func (s *testServer) wantForeign(statement, cursor string) {
	s.Helper()
	live := s.credential(s.partner.ID, market.Live, "buy")
	foreign := s.another(market.Sandbox, "buy")
	for _, r := range []request{
		s.get("/api/partner/v1/settlements/" + statement).signedBy(foreign), s.get("/api/partner/v1/settlements/" + statement).signedBy(live),
		s.get("/api/partner/v1/settlements/"+statement).signedBy(foreign).with("Accept", "text/csv"), s.get("/api/partner/v1/settlements/stl_none"),
	} {
		if got := s.send(r); got.status != 404 || got.code() != fault.NotFound {
			s.Errorf("%s by another: got %d %s", r.path, got.status, got.body)
		}
	}
	for _, r := range []request{
		s.get("/api/partner/v1/settlements/" + statement + "?cursor=" + cursor).signedBy(foreign), s.get("/api/partner/v1/settlements?cursor=" + cursor),
		s.get("/api/partner/v1/transactions?cursor=" + cursor), s.get("/api/partner/v1/payouts?cursor=" + cursor), s.get("/api/partner/v1/settlements/stl_none?cursor=" + cursor),
		s.get("/api/partner/v1/settlements/" + statement + "?cursor=" + cursor[:len(cursor)-4] + "AAAA"),
	} {
		if got := s.send(r); got.status != 400 || got.fields() != "cursor" {
			s.Errorf("%s?%s: got %d %s, want the cursor refused", r.path, r.query, got.status, got.body)
		}
	}
	var none SettlementsOut
	if got := s.send(s.get("/api/partner/v1/settlements").signedBy(foreign)); json.Unmarshal([]byte(got.body), &none) != nil || len(none.Settlements) != 0 {
		s.Errorf("the statements of another: got %s", got.body)
	}
}

// The sandbox's "advance" makes a statement of one order, which a settlement of the month leaves alone.
func TestAdvanceSettlesOneOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		o := s.sell("brewhaven.example", 9900, sale.PartnerCollected)
		if got := s.send(s.post("/api/partner/v1/sandbox/orders/"+o.PublicID+"/advance", "")); got.status != 200 || got.text("status") != "SETTLED" {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		s.clock.advance(30 * 24 * time.Hour)
		var list SettlementsOut
		if s.read("/api/partner/v1/settlements", &list); len(list.Settlements) != 1 || list.Settlements[0].AmountOwedCents != 8415 || len(s.settle("2026-11").Statements) != 0 {
			t.Errorf("got %+v", list)
		}
		s.wantSettled(o)
		s.wantBooks()
	})
}

func TestMonthThatIsNotOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		s.sell("brewhaven.example", 9900, sale.PartnerCollected)
		run := settlement.Run{Period: ledger.PeriodOf(s.clock.Now()), Environment: market.Live}
		if _, err := s.operator.Settle(t.Context(), run); !fault.Is(err, fault.Conflict) {
			t.Errorf("LIVE: got %v, want a conflict", err)
		}
		run.Force = true
		if _, err := s.operator.Settle(t.Context(), run); !fault.Is(err, fault.Validation) {
			t.Errorf("LIVE by force: got %v, want it refused", err)
		}
		run.Force, run.Environment = false, market.Sandbox
		if report, err := s.operator.Settle(t.Context(), run); err != nil || len(report.Statements) != 0 || len(report.Skipped) != 1 || report.Skipped[0].Partner != s.partner.ID {
			t.Errorf("SANDBOX: got %+v, %v, want the partner skipped", report, err)
		}
		run.Partner = s.partner.ID
		if _, err := s.operator.Settle(t.Context(), run); !fault.Is(err, fault.Conflict) {
			t.Errorf("of one partner: got %v, want a conflict", err)
		}
		run.Force = true
		if report, err := s.operator.Settle(t.Context(), run); err != nil || len(report.Statements) != 1 {
			t.Errorf("SANDBOX by force: got %+v, %v", report, err)
		}
		run.Partner = "prt_none"
		if _, err := s.operator.Settle(t.Context(), run); !fault.Is(err, fault.NotFound) {
			t.Errorf("of nobody: got %v", err)
		}
	})
}

func TestTransactions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		first := s.sell("brewhaven.example", 9900, sale.PartnerCollected)
		s.clock.advance(24 * time.Hour)
		second := s.sell("brewpath.test", 4900, sale.ServiceCollected)
		s.clock.advance(24 * time.Hour)
		third := s.sell("coffeeshop.example", 49900, sale.PartnerCollected)
		if _, err := s.operator.Transition(t.Context(), second.PublicID, sale.ChargeBack, ""); err != nil {
			t.Fatal(err)
		}
		rows := map[string]Transaction{
			"first":  {first.PublicID, "brewhaven.example", 9900, 1485, "USD", "TRANSFER_COMPLETED", "partner_collected", first.CreatedAt},
			"second": {second.PublicID, "brewpath.test", 4900, 490, "USD", "REFUNDED", "service_collected", second.CreatedAt},
			"third":  {third.PublicID, "coffeeshop.example", 49900, 7485, "EUR", "TRANSFER_COMPLETED", "partner_collected", third.CreatedAt},
		}
		eur, usd := sale.Total{Currency: "EUR", GMVCents: 49900, CommissionCents: 7485, Count: 1}, sale.Total{Currency: "USD", GMVCents: 9900, CommissionCents: 1485, Count: 1}
		charged := sale.Total{Currency: "USD", GMVCents: 4900, CommissionCents: 490, Count: 1}
		both := sale.Total{Currency: "USD", GMVCents: 14800, CommissionCents: 1975, Count: 2}
		for query, want := range map[string]struct {
			rows   string
			totals []sale.Total
		}{
			"":                                     {"third second first", []sale.Total{eur, both}},
			"limit=1":                              {"third", []sale.Total{eur, both}},
			"status=REFUNDED":                      {"second", []sale.Total{charged}},
			"payment_model=partner_collected":      {"third first", []sale.Total{eur, usd}},
			"from=2026-11-22":                      {"third second", []sale.Total{eur, charged}},
			"from=2026-11-22&to=2026-11-23":        {"second", []sale.Total{charged}},
			"to=2026-11-21T12%3A00%3A00Z":          {"", nil},
			"from=2026-11-21T12%3A00%3A00Z":        {"third second first", []sale.Total{eur, both}},
			"from=2026-11-21T12%3A00%3A00.000001Z": {"third second", []sale.Total{eur, charged}},
			"status=SETTLED":                       {"", nil},
		} {
			var got TransactionsOut
			s.read("/api/partner/v1/transactions?"+query, &got)
			var wantRows []Transaction
			for name := range strings.FieldsSeq(want.rows) {
				wantRows = append(wantRows, rows[name])
			}
			if !slices.Equal(got.Transactions, wantRows) || !slices.Equal(got.Totals, want.totals) {
				t.Errorf("%q: got %+v, want %s %+v", query, got, want.rows, want.totals)
			}
		}
		text := s.send(s.get("/api/partner/v1/transactions?limit=1").with("Accept", "application/json;q=0.5, text/csv"))
		table, err := csv.NewReader(strings.NewReader(text.body)).ReadAll()
		if err != nil || len(table) != 4 || table[1][0] != third.PublicID || table[3][3] != "1485" {
			t.Errorf("as CSV, all of it: got %v, %v\n%s", text.status, err, text.body)
		}
		if got := s.send(s.get("/api/partner/v1/transactions?status=SOLD").with("Accept", "text/csv")); got.status != 400 || got.fields() != "status" {
			t.Errorf("bad input for CSV: got %d %s", got.status, got.body)
		}
		if got := s.send(s.get("/api/partner/v1/transactions").signedBy(s.another(market.Sandbox, "buy")).with("Accept", "text/csv")); got.status != 403 {
			t.Errorf("CSV without the scope: got %d %s", got.status, got.body)
		}
		s.wantBooks()
	})
}

func TestPayoutsAndCommissions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		for _, path := range []string{"/api/partner/v1/me/commissions", "/api/partner/v1/me/payouts"} {
			if got := s.send(s.get(path)); got.status != 403 || got.code() != fault.Forbidden {
				t.Errorf("%s without an affiliate account: got %d %s", path, got.status, got.body)
			}
		}
		s.affiliate()
		first := s.sell("brewhaven.example", 9900, sale.ServiceCollected)
		s.clock.advance(time.Hour)
		second := s.sell("brewpath.test", 4900, sale.ServiceCollected)
		if all, err := s.operator.CreatePayouts(t.Context(), s.partner.ID, market.Sandbox, "", false); err != nil || len(all) != 0 {
			t.Errorf("before the month's end: got %+v, %v, want nothing payable", all, err)
		}
		s.clock.advance(30 * 24 * time.Hour)
		s.settle("2026-11")
		wantEntries := func(want ...string) {
			t.Helper()
			var got EarningsOut
			s.read("/api/partner/v1/me/commissions", &got)
			var lines []string
			for _, e := range got.Entries {
				lines = append(lines, fmt.Sprintf("%s %s %d balance %d", e.OrderID, e.State, e.AmountCents, e.BalanceCents))
			}
			if !slices.Equal(lines, want) {
				t.Errorf("commissions: got %q, want %q", lines, want)
			}
		}
		wantEntries(second.PublicID+" pending 490 balance 1480", first.PublicID+" pending 990 balance 990")
		made, err := s.operator.CreatePayouts(t.Context(), s.partner.ID, market.Sandbox, "", false)
		if err != nil || len(made) != 1 || made[0].Amount.Cents != 1480 {
			t.Fatalf("got %+v, %v", made, err)
		}
		wantEntries(second.PublicID+" pending 490 balance 1480", first.PublicID+" pending 990 balance 990") // until it is paid
		if _, err := s.operator.PayPayout(t.Context(), made[0].ID, "wire 7"); err != nil {
			t.Fatal(err)
		}
		s.clock.advance(time.Hour)
		if _, err := s.operator.Transition(t.Context(), second.PublicID, sale.ChargeBack, ""); err != nil {
			t.Fatal(err)
		}
		wantEntries(second.PublicID+" pending -490 balance 990", second.PublicID+" paid_out 490 balance 1480", first.PublicID+" paid_out 990 balance 990")
		if all, err := s.operator.CreatePayouts(t.Context(), s.partner.ID, market.Sandbox, "", false); err != nil || len(all) != 0 {
			t.Errorf("of less than nothing: got %+v, %v, want that it is carried over", all, err)
		}
		third := s.sell("coffeeshop.example", 49900, sale.ServiceCollected) // EUR: nothing is taken off
		s.clock.advance(31 * 24 * time.Hour)
		s.settle("2026-12")
		var out MyPayoutsOut
		s.read("/api/partner/v1/me/payouts", &out)
		var list PayoutsOut
		s.read("/api/partner/v1/payouts", &list)
		want := Payout{
			PayoutID: made[0].ID, Source: "service_collected", AmountCents: 1480, Currency: "USD", Status: "paid", CreatedAt: made[0].Created,
			PaidAt: made[0].Created, Reference: "wire 7",
		}
		if !slices.Equal(list.Payouts, []Payout{want}) || !slices.Equal(out.Payouts, list.Payouts) || !slices.Equal(out.Totals, []PaidTotal{{"USD", 1480}}) {
			t.Errorf("payouts: got %+v and %+v, want %+v", list, out, want)
		}
		var statements SettlementsOut
		s.read("/api/partner/v1/settlements?from=2026-12-01", &statements)
		s.wantReversal(statements, second)
		_ = third
		s.wantBooks()
	})
}

// wantReversal finds the reversal of an order in the statements.
func (s *testServer) wantReversal(all SettlementsOut, o sale.Order) {
	s.Helper()
	for _, st := range all.Settlements {
		var one SettlementOut
		s.read("/api/partner/v1/settlements/"+st.SettlementID, &one)
		for _, l := range one.Lines {
			if l.OrderID == o.PublicID && l.Type == "reversal" && l.GrossCents == -o.SalePriceCents && l.CommissionCents == -490 && l.OwedCents == 0 && st.RefundedCents == o.SalePriceCents {
				return
			}
		}
	}
	s.Errorf("no statement reverses order %s: %+v", o.PublicID, all)
}

// Bad input for every field of the reports.
func TestReportInput(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	s.affiliate()
	windowed := []string{"settlements", "transactions", "payouts", "me/commissions", "me/payouts"}
	for _, path := range append(windowed, "settlements/stl_1") {
		for query, field := range map[string]string{
			"limit=0": "limit", "limit=101": "limit", "limit=-1": "limit", "limit=1.5": "limit", "limit=x": "limit", "limit=1&limit=2": "limit",
			"cursor=x": "cursor", "cursor=%00": "cursor", "q=1": "q", "Limit=1": "Limit",
		} {
			if got := s.send(s.get("/api/partner/v1/" + path + "?" + query)); got.status != 400 || got.fields() != field {
				t.Errorf("%s?%s: got %d %s, want %s refused", path, query, got.status, got.body, field)
			}
		}
	}
	for _, path := range windowed {
		for query, field := range map[string]string{
			"from=x": "from", "from=2026-13-01": "from", "from=2026-11-31": "from", "from=1969-12-31": "from", "from=20261101": "from",
			"to=2026-11-01T25%3A00%3A00Z": "to", "to=": "to", "from=2026-11-02&to=2026-11-01": "to", "from=" + strings.Repeat("1", 40): "from",
		} {
			if got := s.send(s.get("/api/partner/v1/" + path + "?" + query)); got.status != 400 || got.fields() != field {
				t.Errorf("%s?%s: got %d %s, want %s refused", path, query, got.status, got.body, field)
			}
		}
	}
	for query, field := range map[string]string{
		"status=": "status", "status=settled": "status", "status=SOLD": "status", "payment_model=x": "payment_model", "payment_model=PARTNER_COLLECTED": "payment_model",
	} {
		if got := s.send(s.get("/api/partner/v1/transactions?" + query)); got.status != 400 || got.fields() != field {
			t.Errorf("transactions?%s: got %d %s, want %s refused", query, got.status, got.body, field)
		}
	}
}

func TestTextInTablesIsNoFormula(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table := newTable(&b, "a", "b")
	for _, text := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "plain", "a=1", "", `with "quotes", and commas`} {
		table.row(text, int64(-5))
	}
	if err := table.end(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 11 {
		t.Fatalf("got %v, %v", rows, err)
	}
	for i, want := range []string{"'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "plain", "a=1", "", `with "quotes", and commas`} {
		if rows[i+1][0] != want || rows[i+1][1] != "-5" {
			t.Errorf("got %q, want %q and -5", rows[i+1], want)
		}
	}
}

// The share of a brokerage case is pending at once, and a payout of its own source pays it.
func TestShareOfACase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		s.affiliate()
		made := s.ok(s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-acme.example")), 201)
		id := made.text("case_id")
		for range 4 {
			s.ok(s.post(root+"/sandbox/brokerage/"+id+"/advance", ""), 200)
		}
		budget := int64(made.json["budget"].(float64))
		share := (budget*15/100*20 + 50) / 100 // of the service's fee
		var entries EarningsOut
		s.read("/api/partner/v1/me/commissions", &entries)
		if len(entries.Entries) != 1 || entries.Entries[0].CaseID != id || entries.Entries[0].State != "pending" || entries.Entries[0].AmountCents != share || entries.Entries[0].BalanceCents != share {
			t.Errorf("got %+v, want %d of case %s", entries, share, id)
		}
		payouts, err := s.operator.CreatePayouts(t.Context(), s.partner.ID, market.Sandbox, "", false)
		if err != nil || len(payouts) != 1 || payouts[0].Source != ledger.Brokerage || payouts[0].Amount.Cents != share {
			t.Errorf("got %+v, %v", payouts, err)
		}
		s.wantBooks()
	})
}

package settlement_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// compare compares everything with the model.
func (w *walk) compare() {
	w.Helper()
	report, err := w.operator.CheckLedger(w.Context())
	if err != nil || len(report.Violations) > 0 {
		w.Errorf("the check of the ledger: %v, %v", report, err)
	}
	for _, p := range w.parties {
		w.equal("statements", w.statementsOf(p), w.statementLines(p.id, p.env))
		w.equal("commissions", w.commissionsOf(p), w.commissionLines(p.id, p.env))
		w.equal("payouts", w.payoutsOf(p), w.payoutLines(p.id, p.env))
		for range 3 {
			f := w.filter()
			w.equal(fmt.Sprintf("totals of %+v", f), w.totalsOf(p, f), w.totalLines(p.id, p.env, f))
		}
		w.compareAccounts(p)
	}
}

func (w *walk) equal(what string, got, want []string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// filter is a random filter of transactions.
func (w *walk) filter() (f sale.TransactionFilter) {
	if w.rand.IntN(2) == 0 {
		f.Status = anyOf(w, []sale.State{sale.Settled, sale.Refunded, sale.ExternallyPaid, sale.TransferCompleted})
	}
	if w.rand.IntN(2) == 0 {
		f.Model = anyOf(w, []sale.PaymentModel{sale.PartnerCollected, sale.ServiceCollected})
	}
	day := func() time.Time {
		t := time.Date(2026, 9, 20+w.rand.IntN(100), 0, 0, 0, 0, time.UTC)
		if w.rand.IntN(2) == 0 {
			t = t.Add(time.Duration(w.rand.IntN(86400)) * time.Second)
		}
		return t
	}
	if w.rand.IntN(2) == 0 {
		f.From = day()
	}
	if w.rand.IntN(2) == 0 {
		f.To = day()
	}
	return f
}

func (w *walk) totalsOf(p *party, f sale.TransactionFilter) (all []string) {
	totals, err := w.sales.Totals(w.Context(), w.seller(p), f)
	w.must(err)
	for _, t := range totals {
		all = append(all, fmt.Sprint(t))
	}
	return all
}

func (w *walk) statementsOf(p *party) (all []string) {
	for _, s := range w.storedStatements() {
		if s.Owner == (ledger.Owner{Partner: p.id, Environment: p.env}) {
			all = append(all, storedLine(s))
		}
	}
	slices.Sort(all)
	return all
}

func (w *walk) commissionsOf(p *party) (all []string) {
	f := ledger.Filter{Owner: ledger.Owner{Partner: p.id, Environment: p.env}, Limit: 1 + w.rand.IntN(ledger.MaxPage)}
	for more := true; more; {
		w.must(w.db.Read(w.Context(), func(tx store.Tx) error {
			page, next, err := ledger.Commissions(w.Context(), tx, f)
			for _, c := range page {
				all = append(all, fmt.Sprintf("%s %s %d %s balance %d", c.Source, c.State, c.Amount.Cents, c.Amount.Currency, c.Balance))
			}
			f.After, more = next, next != nil
			return err
		}))
	}
	return all
}

func (w *walk) payoutsOf(p *party) (all []string) {
	f := ledger.Filter{Owner: ledger.Owner{Partner: p.id, Environment: p.env}, Limit: ledger.MaxPage}
	for more := true; more; {
		page, next, err := w.operator.Payouts(w.Context(), f)
		w.must(err)
		for _, d := range page {
			all = append(all, fmt.Sprintf("%s %s %d %s %s", d.ID, d.Source, d.Amount.Cents, d.Amount.Currency, d.Status))
		}
		f.After, more = next, next != nil
	}
	slices.Sort(all)
	return all
}

func (w *walk) compareAccounts(p *party) {
	got := map[string]map[ledger.Account]int64{}
	w.must(w.db.Read(w.Context(), func(tx store.Tx) error {
		all, err := ledger.Balances(w.Context(), tx, ledger.Owner{Partner: p.id, Environment: p.env})
		for _, b := range all {
			if got[b.Amount.Currency] == nil {
				got[b.Amount.Currency] = map[ledger.Account]int64{}
			}
			if b.Amount.Cents != 0 {
				got[b.Amount.Currency][b.Account] = b.Amount.Cents
			}
		}
		return err
	}))
	for _, currency := range currencies {
		want := w.accounts(p.id, p.env, currency)
		if !maps.Equal(got[currency], want) {
			w.Errorf("accounts of %s in %s, %s: got %v, want %v", p.id, p.env, currency, got[currency], want)
		}
	}
}

// storedLine is a statement as the model prints it.
func storedLine(s ledger.Statement) string {
	return fmt.Sprintf("%s %s sold %d refunded %d retained %d owed %d orders %d collected %d paid %t", s.Period, s.Currency,
		s.Gross, s.Refunded, s.Commission, s.Owed, s.Orders, s.ServiceCollected, s.Status == ledger.StatementPaid)
}

package settlement_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/settlement"
	"github.com/namewharf/namewharf/sale"
)

// run is a settlement of last month or, by force, of this one.
func (w *walk) run() settlement.Run {
	r := settlement.Run{Environment: market.Live, Batch: 1 + w.rand.IntN(9), Period: ledger.PeriodOf(ledger.PeriodOf(w.now).Start.Add(-time.Hour))}
	if w.rand.IntN(2) == 0 {
		p := w.parties[1+w.rand.IntN(2)]
		r.Environment, r.Period = market.Sandbox, ledger.PeriodOf(ledger.PeriodOf(w.local(p)).Start.Add(-time.Hour))
		if w.rand.IntN(3) == 0 {
			r.Force, r.Period = true, ledger.PeriodOf(w.local(p))
		}
	}
	if p := anyOf(w, w.parties); w.rand.IntN(2) == 0 && p.env == string(r.Environment) && (r.Force || !w.local(p).Before(r.Period.End)) {
		r.Partner = p.id
	}
	return r
}

// affected are the parties whose month a run settles.
func (w *walk) affected(r settlement.Run) (all []*party) {
	for _, p := range w.parties {
		if p.env == string(r.Environment) && (r.Partner == "" || r.Partner == p.id) && (r.Force || !w.local(p).Before(r.Period.End)) {
			all = append(all, p)
		}
	}
	return all
}

func (w *walk) settle() bool {
	r := w.run()
	r.DryRun = true
	previewed, err := w.operator.Settle(w.Context(), r)
	w.must(err)
	r.DryRun = false
	report, err := w.operator.Settle(w.Context(), r)
	w.must(err)
	for i, s := range report.Statements {
		s.ID = ""
		if i >= len(previewed.Statements) || s != previewed.Statements[i] {
			w.Errorf("a dry run said %+v, the run %+v", previewed.Statements, report.Statements)
			break
		}
	}
	for _, p := range w.affected(r) {
		w.model.close(p.id, p.env, r.Period)
		w.settleAll(p.id, p.env)
	}
	return len(report.Statements) > 0
}

// settleInterrupted ends a run after some transactions, does other things, and runs it again.
func (w *walk) settleInterrupted() bool {
	r := w.run()
	before := len(w.storedStatements())
	ctx, kill := context.WithCancel(w.Context())
	defer kill()
	left := w.rand.IntN(8)
	interrupted := r
	interrupted.Progress = func(int, int) {
		if left--; left < 0 {
			kill()
		}
	}
	_, err := w.operator.Settle(ctx, interrupted)
	if err != nil && !errors.Is(err, context.Canceled) {
		w.Fatal(err)
	}
	closed := w.storedStatements()
	for _, p := range w.affected(r) {
		if slices.ContainsFunc(closed[before:], func(s ledger.Statement) bool { return s.Owner == ledger.Owner{Partner: p.id, Environment: p.env} }) {
			w.model.close(p.id, p.env, r.Period)
		}
	}
	for range w.rand.IntN(4) {
		w.now = w.now.Add(time.Second)
		w.readStates()
		w.chargeBack()
	}
	w.now = w.now.Add(time.Second)
	w.restart()
	_, err = w.operator.Settle(w.Context(), r)
	w.must(err)
	for _, p := range w.affected(r) {
		w.model.close(p.id, p.env, r.Period)
		w.settleAll(p.id, p.env)
	}
	return len(closed) > before
}

// readStates settles the orders of the model that an interrupted run has settled.
func (w *walk) readStates() {
	for _, o := range w.ordersIn(sale.TransferCompleted) {
		stored, err := w.operator.Order(w.Context(), o.id)
		w.must(err)
		if stored.Status == sale.Settled && o.statement != nil {
			w.settled(o)
		}
	}
}

// storedStatements are all statements, in the order in which they were made.
func (w *walk) storedStatements() (all []ledger.Statement) {
	f := ledger.Filter{Limit: ledger.MaxPage}
	for {
		page, next, err := w.operator.Statements(w.Context(), f)
		w.must(err)
		all = append(all, page...)
		if f.After = next; next == nil {
			break
		}
	}
	slices.SortFunc(all, func(a, b ledger.Statement) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// Package settlement runs the end of a month: it puts the completed orders of partners into statements and settles them.
//
// For a partner, a [Run] collects the lines of its statements, which nobody sees meanwhile, then closes the statements in one
// transaction, and then settles their orders with their events, in batches. What a run that was interrupted left is ended by the next.
// An order has one line at most, whatever runs at the same time.
package settlement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// A Run is a settlement of a month.
type Run struct {
	DB    *store.DB
	Sales *sale.Service
	Now   func() time.Time
	By    audit.Author

	Period      ledger.Period
	Environment credential.Environment
	Partner     string // empty: all partners
	DryRun      bool   // change nothing
	Force       bool   // settle a month that is not over, in SANDBOX

	Batch    int                   // orders a transaction; 0: 500
	Progress func(done, total int) // of orders; nil: nobody is told
	Waiting  func()                // called when another run is to be waited for; nil: nobody is told
}

// A Report is what became of a run.
type Report struct {
	Period      string                 `json:"period"`
	Environment credential.Environment `json:"environment"`
	DryRun      bool                   `json:"dry_run"`
	Statements  []Statement            `json:"statements"`
	Skipped     []Skipped              `json:"skipped"` // partners whose month is not over by their test clock
	Settled     int                    `json:"orders_settled"`
}

// A Statement is a line of a report.
type Statement struct {
	Partner          string `json:"partner_id"`
	ID               string `json:"settlement_id,omitzero"` // a dry run has none
	Currency         string `json:"currency"`
	Gross            int64  `json:"gross_sold_cents"`
	Refunded         int64  `json:"refunded_cents"`
	Commission       int64  `json:"commission_retained_cents"`
	Owed             int64  `json:"amount_owed_cents"`
	Orders           int64  `json:"order_count"`
	ServiceCollected int64  `json:"service_collected_count"`
}

// A Skipped partner is one whose month is not over.
type Skipped struct {
	Partner string    `json:"partner_id"`
	Clock   time.Time `json:"clock"` // its time
}

func newStatement(s ledger.Statement) Statement {
	return Statement{s.Owner.Partner, s.ID, s.Currency, s.Gross, s.Refunded, s.Commission, s.Owed, s.Orders, s.ServiceCollected}
}

const (
	lease        = "settlement" // one run at a time
	pollLease    = 500 * time.Millisecond
	defaultBatch = 500
)

// Do settles the month. Another run is waited for. It fails with [fault.Conflict] for a month that is not over, with
// [fault.Validation] where that is forced in LIVE, and with [fault.NotFound] for an unknown partner.
func (r *Run) Do(ctx context.Context) (Report, error) {
	if r.Force && r.Environment != market.Sandbox {
		return Report{}, fault.Invalid("force", "is for SANDBOX")
	}
	r.Batch = cmp.Or(r.Batch, defaultBatch)
	if !r.Force && r.Environment == market.Live && r.Now().Before(r.Period.End) {
		return Report{}, r.notOver(r.Now())
	}
	report := Report{
		Period: r.Period.String(), Environment: r.Environment, DryRun: r.DryRun, Statements: []Statement{}, Skipped: []Skipped{},
	}
	if r.DryRun {
		return report, r.do(ctx, &report)
	}
	for told := false; ; {
		ran, err := r.DB.Exclusively(ctx, lease, func(ctx context.Context) error { return r.do(ctx, &report) })
		lost := errors.Is(err, store.ErrLeaseLost) && ctx.Err() == nil // the next attempt goes on
		switch {
		case lost:
		case err != nil:
			return Report{}, fault.Wrap("settle "+r.Period.String(), err)
		case ran:
			return report, nil
		case !told && r.Waiting != nil:
			told = true
			r.Waiting()
		}
		select {
		case <-ctx.Done():
			return Report{}, ctx.Err()
		case <-time.After(pollLease):
		}
	}
}

func (r *Run) notOver(now time.Time) error {
	return fault.New(fault.Conflict, "the month %s is not over: it is %s", r.Period, now.UTC().Format(time.DateTime)).
		WithHint("settle a month when it is over")
}

// do settles the month of all partners that have something to settle, or of one, and adds to the report what was done.
func (r *Run) do(ctx context.Context, report *Report) error {
	orders, err := r.parties(ctx)
	if err != nil {
		return err
	}
	report.Skipped = report.Skipped[:0]
	p := progress{tell: r.Progress}
	for _, n := range orders {
		p.total += n
	}
	for _, partner := range slices.Sorted(maps.Keys(orders)) {
		now, err := r.local(ctx, partner)
		switch {
		case err != nil:
			return err
		case !r.Force && now.Before(r.Period.End) && r.Partner != "":
			return r.notOver(now)
		case !r.Force && now.Before(r.Period.End):
			report.Skipped = append(report.Skipped, Skipped{partner, now})
			p.add(orders[partner])
			continue
		}
		m := month{Run: r, party: sale.Party{Partner: partner, Environment: string(r.Environment)}, progress: &p}
		err = m.settle(ctx, now)
		for _, s := range m.statements {
			report.Statements = append(report.Statements, newStatement(s))
		}
		report.Settled += m.settled
		if err != nil {
			return fmt.Errorf("partner %s: %w", partner, err)
		}
	}
	return nil
}

// parties are the partners that have something to settle, with how many orders.
func (r *Run) parties(ctx context.Context) (orders map[string]int, err error) {
	err = r.DB.Read(ctx, func(tx store.Tx) error {
		if orders, err = sale.UnsettledCounts(ctx, tx, string(r.Environment), r.Period.Start, r.Period.End); err != nil {
			return err
		}
		unfinished, err := ledger.Unfinished(ctx, tx, string(r.Environment), r.Period)
		for _, o := range unfinished {
			orders[o.Partner] += 0
		}
		return err
	})
	if err != nil || r.Partner == "" {
		return orders, err
	}
	return map[string]int{r.Partner: orders[r.Partner]}, nil
}

// local is the time of a partner. It fails with [fault.NotFound].
func (r *Run) local(ctx context.Context, partner string) (now time.Time, err error) {
	err = r.DB.Read(ctx, func(tx store.Tx) error {
		var known bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM partners WHERE id = $1)`, partner).Scan(&known); err != nil || !known {
			return err
		}
		now, err = wiring.LocalTime(ctx, tx, r.Now(), credential.Party{Partner: partner, Environment: r.Environment})
		return err
	})
	if err == nil && now.IsZero() {
		err = fault.New(fault.NotFound, "there is no such partner")
	}
	return now, err
}

// progress counts orders.
type progress struct {
	tell        func(done, total int)
	done, total int
}

func (p *progress) add(n int) {
	p.done += n
	if p.tell != nil && p.total > 0 {
		p.tell(min(p.done, p.total), p.total)
	}
}

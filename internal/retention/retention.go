// Package retention deletes expired rows of all tables, in every program: it combines the rules of the packages that own
// the tables, the flags that change them, and the metrics.
package retention

import (
	"context"
	"flag"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/namewharf/namewharf/account"
	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/internal/settings"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/oauthas"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/partner/admission"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/checkout"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// Settings are the retention flags. [Flags] defines them.
type Settings struct {
	Events, Deliveries, Audit, Log, Listings, Buyers *settings.Duration
}

const day = 24 * time.Hour

// Flags defines the flags.
func Flags(fs *flag.FlagSet) *Settings {
	lifetime := func(name string, days int, least time.Duration, usage string) *settings.Duration {
		return settings.DurationOf(fs, name, time.Duration(days)*day, least, usage)
	}
	return &Settings{
		Events:     lifetime("keep-events", 400, 0, "how `long` partners can read their events"),
		Deliveries: lifetime("keep-deliveries", 90, 0, "how `long` partners can read what became of sending an event"),
		Audit:      lifetime("keep-audit", 1100, 0, "how `long` the audit log is kept"),
		Log:        lifetime("keep-log", 400, 0, "how `long` people can read what happened to their account and their names"),
		Listings:   lifetime("keep-listings", 400, market.MinWithdrawn, "how `long` withdrawn listings are kept"),
		Buyers:     lifetime("keep-buyers", 3*365, 0, "how `long` orders say who the buyer was"),
	}
}

// Rules returns the rules of all tables.
func (s *Settings) Rules() []sweep.Rule {
	var rules []sweep.Rule
	for _, more := range [][]sweep.Rule{
		sweep.Store(),
		market.Retention(s.Listings.Duration),
		event.Retention(s.Events.Duration, s.Deliveries.Duration),
		sale.Retention(s.Buyers.Duration),
		brokerage.Retention(s.Buyers.Duration),
		referral.Retention(),
		ledger.Retention(),
		payment.Retention(),
		checkout.Retention(),
		testprovider.Retention(),
		audit.Retention(s.Audit.Duration),
		partner.Retention(),
		admission.Retention(),
		account.Retention(s.Log.Duration),
		portfolio.Retention(s.Log.Duration),
		oauthas.Retention(),
	} {
		rules = append(rules, more...)
	}
	return rules
}

// Start deletes rows by the rules, and by more rules of the program, until the returned function is called, which waits for
// the end. A nil registerer gets no metrics.
func (s *Settings) Start(ctx context.Context, db *store.DB, metrics prometheus.Registerer, log *slog.Logger, more ...sweep.Rule) (stop func()) {
	cfg := sweep.Config{DB: db, Rules: append(s.Rules(), more...), Logger: log}
	if metrics != nil {
		cfg.Observer = newGauges(metrics)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { sweep.New(cfg).Run(ctx) })
	return func() { cancel(); running.Wait() }
}

// gauges are the metrics for Prometheus.
type gauges struct {
	removed *prometheus.CounterVec
	overdue *prometheus.GaugeVec
	swept   prometheus.Gauge
}

func newGauges(metrics prometheus.Registerer) *gauges {
	g := &gauges{
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "namewharf_retention_rows_removed_total", Help: "Rows that were removed because their time was over, by table; of orders, the buyers.",
		}, []string{"table"}),
		overdue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "namewharf_retention_overdue_seconds", Help: "How long the oldest row that should be gone has been over, by table, after the last pass.",
		}, []string{"table"}),
		swept: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "namewharf_retention_last_pass_timestamp_seconds", Help: "When this process last looked at all tables; one process at a time does.",
		}),
	}
	metrics.MustRegister(g.removed, g.overdue, g.swept)
	return g
}

// Removed implements [sweep.Observer].
func (g *gauges) Removed(table string, rows int64) {
	g.removed.WithLabelValues(table).Add(float64(rows))
}

// Overdue implements [sweep.Observer].
func (g *gauges) Overdue(table string, oldest time.Duration) {
	g.overdue.WithLabelValues(table).Set(oldest.Seconds())
}

// Swept implements [sweep.Observer].
func (g *gauges) Swept(at time.Time) { g.swept.Set(float64(at.UnixMicro()) / 1e6) }

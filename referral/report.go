package referral

import (
	"context"
	"math"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Window is a time from From to before To; a zero end is none. Days are in UTC by the clock of the party, and belong to a
// window that they overlap.
type Window struct{ From, To time.Time }

// days are the ends of the window in microseconds: the beginning of its first day, and its end.
func (w Window) days() (from, to int64) {
	from, to = 0, math.MaxInt64
	if !w.From.IsZero() {
		from = store.Micros(dayOf(w.From))
	}
	if !w.To.IsZero() {
		to = store.Micros(w.To)
	}
	return from, to
}

// times are the ends of the window in microseconds.
func (w Window) times() (from, to int64) {
	_, to = w.days()
	if w.From.IsZero() {
		return 0, to
	}
	return store.Micros(w.From), to
}

// Clicks are the clicks on all links of a party.
type Clicks struct {
	Total  int64       `json:"total" jsonschema:"once a visitor, link and day"`
	Unique int64       `json:"unique" jsonschema:"sum of the visitors of each day"`
	ByDay  []DayClicks `json:"by_day"`
}

// DayClicks are the clicks of a day.
type DayClicks struct {
	Date   string `json:"date" jsonschema:"in UTC"`
	Clicks int64  `json:"clicks"`
	Unique int64  `json:"unique"`
}

// Clicks reports the clicks in a window, by day and in the order of time. Days without a click are left out.
func (s *Service) Clicks(ctx context.Context, p Party, w Window) (c Clicks, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		c = Clicks{}
		days, err := selectDays(ctx, tx, p, w)
		for _, d := range days {
			c.Total, c.Unique = c.Total+d.clicks, c.Unique+d.visitors
			c.ByDay = append(c.ByDay, DayClicks{dateOf(d.day), d.clicks, d.visitors})
		}
		return err
	})
	return c, fault.Wrap("report clicks", err)
}

func dateOf(day int64) string { return store.Time(day).UTC().Format(time.DateOnly) }

// A Sale is a sale that a party referred, in the words of the wire.
type Sale struct {
	PublicID        string    `json:"public_id" jsonschema:"of the order"`
	Buyer           string    `json:"buyer" jsonschema:"masked"`
	Domain          string    `json:"domain"`
	AmountCents     int64     `json:"amount_cents"`
	CommissionCents int64     `json:"commission_cents" jsonschema:"the partner's share as it accrued"`
	Currency        string    `json:"currency"`
	At              time.Time `json:"at"`
}

// A SalePage is a part of the sales.
type SalePage struct {
	Sales []Sale
	Next  *Position // nil: this is the end
}

// Sales returns the sales that a party referred in a window, the newest first, whatever became of them.
func (s *Service) Sales(ctx context.Context, p Party, w Window, after *Position, limit int) (page SalePage, err error) {
	if limit, err = pageSize(limit); err != nil {
		return SalePage{}, err
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		page.Next = nil
		page.Sales, err = selectSales(ctx, tx, p, w, after, limit+1)
		return err
	})
	if len(page.Sales) > limit {
		page.Sales = page.Sales[:limit]
		last := page.Sales[limit-1]
		page.Next = &Position{At: store.Micros(last.At), ID: last.PublicID}
	}
	return page, fault.Wrap("list referred sales", err)
}

// Analytics is what came of the links of a party: from clicks by checkouts to sales.
type Analytics struct {
	Clicks         int64     `json:"clicks"`
	UniqueVisitors int64     `json:"unique_visitors" jsonschema:"sum of the visitors of each day"`
	Checkouts      int64     `json:"checkouts" jsonschema:"in which a referred browser began to pay"`
	Sales          int64     `json:"sales"`
	ConversionRate float64   `json:"conversion_rate" jsonschema:"sales for each click, rounded to four digits; 0 without clicks"`
	Totals         []Total   `json:"totals"`
	ByDay          []DayFlow `json:"by_day" jsonschema:"every day of the window"`
}

// A Total is the sum of sales in a currency.
type Total struct {
	Currency        string `json:"currency"`
	GMVCents        int64  `json:"gmv_cents" jsonschema:"what buyers paid"`
	CommissionCents int64  `json:"commission_cents" jsonschema:"the partner's shares"`
}

// A DayFlow is what happened on a day.
type DayFlow struct {
	Date      string `json:"date" jsonschema:"in UTC"`
	Clicks    int64  `json:"clicks"`
	Checkouts int64  `json:"checkouts"`
	Sales     int64  `json:"sales"`
}

// The windows of [Service.Analytics].
const (
	MaxAnalytics     = 400 * 24 * time.Hour
	defaultAnalytics = 30 * 24 * time.Hour
)

// Analytics reports a window: the last 30 days by the clock of the party, unless it says otherwise. It fails with
// [fault.Validation] on a window of more than 400 days.
func (s *Service) Analytics(ctx context.Context, p Party, w Window, now time.Time) (a Analytics, err error) {
	if w.To.IsZero() {
		w.To = dayOf(now).Add(24 * time.Hour)
	}
	if w.From.IsZero() {
		w.From = w.To.Add(-defaultAnalytics)
	}
	switch {
	case w.To.Before(w.From):
		return Analytics{}, fault.Invalid("to", "must not be before from")
	case w.To.Sub(w.From) > MaxAnalytics:
		return Analytics{}, fault.Invalid("from", "must be at most 400 days before to")
	}
	flows := map[int64]*DayFlow{}
	for day := dayOf(w.From); day.Before(w.To); day = day.Add(24 * time.Hour) {
		a.ByDay = append(a.ByDay, DayFlow{Date: day.Format(time.DateOnly)})
	}
	for i := range a.ByDay {
		flows[store.Micros(dayOf(w.From).AddDate(0, 0, i))] = &a.ByDay[i]
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error { return a.read(ctx, tx, p, w, flows) })
	if err != nil {
		return Analytics{}, fault.Wrap("report analytics", err)
	}
	if a.Clicks > 0 {
		a.ConversionRate = math.Round(float64(a.Sales)/float64(a.Clicks)*1e4) / 1e4
	}
	return a, nil
}

// read fills the report. It may run more than once.
func (a *Analytics) read(ctx context.Context, tx store.Tx, p Party, w Window, flows map[int64]*DayFlow) error {
	a.Clicks, a.UniqueVisitors, a.Checkouts, a.Sales, a.Totals = 0, 0, 0, 0, nil
	days, err := selectDays(ctx, tx, p, w)
	if err != nil {
		return err
	}
	for _, d := range days {
		a.Clicks, a.UniqueVisitors = a.Clicks+d.clicks, a.UniqueVisitors+d.visitors
		if f := flows[d.day]; f != nil {
			f.Clicks = d.clicks
		}
	}
	checkouts, err := countByDay(ctx, tx, "referral_checkouts", p, w)
	if err != nil {
		return err
	}
	sales, err := countByDay(ctx, tx, "referral_sales", p, w)
	if err != nil {
		return err
	}
	for day, n := range checkouts {
		a.Checkouts += n
		if f := flows[day]; f != nil {
			f.Checkouts = n
		}
	}
	for day, n := range sales {
		a.Sales += n
		if f := flows[day]; f != nil {
			f.Sales = n
		}
	}
	a.Totals, err = selectTotals(ctx, tx, p, w)
	return err
}

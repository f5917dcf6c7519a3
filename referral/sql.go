package referral

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/store"
)

const linkColumns = `id, partner, environment, code, type, domain, product, label, created_at`

func scanLink(scan func(...any) error) (l Link, err error) {
	var created int64
	err = scan(&l.LinkID, &l.Partner, &l.Environment, &l.code, &l.Type, &l.Domain, &l.Product, &l.Label, &created)
	l.CreatedAt = store.Time(created)
	return l, err
}

func insertLink(ctx context.Context, tx store.Tx, l Link) error {
	_, err := tx.Exec(ctx, `INSERT INTO referral_links (`+linkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		l.LinkID, l.Partner, l.Environment, l.code, l.Type, l.Domain, l.Product, l.Label, store.Micros(l.CreatedAt))
	return err
}

func countLinks(ctx context.Context, tx store.Tx, p Party) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM referral_links WHERE partner = $1 AND environment = $2`, p.Partner, p.Environment).Scan(&n)
	return n, err
}

// selectLinkOf reads the link with a code. It fails with [sql.ErrNoRows].
func selectLinkOf(ctx context.Context, tx store.Tx, code string) (Link, error) {
	return scanLink(tx.QueryRow(ctx, `SELECT `+linkColumns+` FROM referral_links WHERE code = $1`, code).Scan)
}

func selectLinks(ctx context.Context, tx store.Tx, p Party, after *Position, limit int) ([]Link, error) {
	var c store.Conditions
	c.Add("partner = ? AND environment = ?", p.Partner, p.Environment)
	c.Newest("created_at", "id", time.Time{}, time.Time{}, after)
	scan := func(rows *sql.Rows) (Link, error) { return scanLink(rows.Scan) }
	return store.Collect(ctx, tx, scan, `SELECT `+linkColumns+` FROM referral_links WHERE `+c.String()+
		` ORDER BY created_at DESC, id DESC LIMIT `+c.Bind(limit), c.Args()...)
}

// reportLinks adds to links what came of them.
func reportLinks(ctx context.Context, tx store.Tx, links []Link) ([]LinkReport, error) {
	if len(links) == 0 {
		return nil, nil
	}
	all, at, ids := make([]LinkReport, len(links)), map[string]*LinkReport{}, make([]any, len(links))
	for i, l := range links {
		all[i] = LinkReport{Link: l, Currency: "USD"}
		at[l.LinkID], ids[i] = &all[i], l.LinkID
	}
	in := "(" + store.Binds(1, len(ids)) + ")"
	clicks := func(rows *sql.Rows) error {
		var id string
		var n int64
		err := rows.Scan(&id, &n)
		at[id].Clicks, at[id].UniqueVisitors = n, n // a link has one click of a visitor a day
		return err
	}
	if err := store.Each(ctx, tx, clicks, `SELECT link_id, clicks FROM referral_totals WHERE link_id IN `+in, ids...); err != nil {
		return nil, err
	}
	most := map[string]int64{}
	sales := func(rows *sql.Rows) error {
		var id, currency string
		var n, cents int64
		if err := rows.Scan(&id, &currency, &n, &cents); err != nil {
			return err
		}
		r := at[id]
		if r.Conversions += n; n > most[id] {
			most[id], r.SalesCents, r.Currency = n, cents, currency
		}
		return nil
	}
	return all, store.Each(ctx, tx, sales, `
		SELECT link_id, currency, COUNT(*), CAST(SUM(amount_cents) AS BIGINT) FROM referral_sales WHERE link_id IN `+in+`
		GROUP BY link_id, currency ORDER BY link_id, currency`, ids...)
}

func addClicks(ctx context.Context, tx store.Tx, link string, n int64) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO referral_totals (link_id, clicks) VALUES ($1, $2)
		ON CONFLICT (link_id) DO UPDATE SET clicks = referral_totals.clicks + excluded.clicks`, link, n)
	return err
}

func addDay(ctx context.Context, tx store.Tx, p Party, day int64, t tally) error {
	if t == (tally{}) {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO referral_days (partner, environment, day, clicks, visitors) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (partner, environment, day) DO UPDATE SET
			clicks = referral_days.clicks + excluded.clicks, visitors = referral_days.visitors + excluded.visitors`,
		p.Partner, p.Environment, day, t.clicks, t.visitors)
	return err
}

// addVisits adds to the number of digests that were made with a day's key, and returns it. The key may be gone.
func addVisits(ctx context.Context, tx store.Tx, day, n int64) (visits int64, err error) {
	err = tx.QueryRow(ctx, `UPDATE referral_keys SET visits = visits + $2 WHERE day = $1 RETURNING visits`, day, n).Scan(&visits)
	if store.IsNoRows(err) {
		return 0, nil
	}
	return visits, err
}

func upsertCheckout(ctx context.Context, tx store.Tx, id string, l Link, at time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO referral_checkouts (id, link_id, partner, environment, at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET link_id = excluded.link_id, partner = excluded.partner, environment = excluded.environment, at = excluded.at`,
		id, l.LinkID, l.Partner, l.Environment, store.Micros(at))
	return err
}

func deleteCheckout(ctx context.Context, tx store.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM referral_checkouts WHERE id = $1`, id)
	return err
}

// selectCheckout reads by which link a checkout came, and whose it is. It fails with [sql.ErrNoRows].
func selectCheckout(ctx context.Context, tx store.Tx, id string) (link string, p Party, err error) {
	err = tx.QueryRow(ctx, `SELECT link_id, partner, environment FROM referral_checkouts WHERE id = $1`, id).Scan(&link, &p.Partner, &p.Environment)
	return link, p, err
}

const saleColumns = `order_id, buyer, domain, amount_cents, commission_cents, currency, at`

func insertSale(ctx context.Context, tx store.Tx, link string, p Party, s Sale) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO referral_sales (`+saleColumns+`, link_id, partner, environment) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		s.PublicID, s.Buyer, s.Domain, s.AmountCents, s.CommissionCents, s.Currency, store.Micros(s.At), link, p.Partner, p.Environment)
	return err
}

func selectSales(ctx context.Context, tx store.Tx, p Party, w Window, after *Position, limit int) ([]Sale, error) {
	var c store.Conditions
	c.Add("partner = ? AND environment = ?", p.Partner, p.Environment)
	c.Newest("at", "order_id", w.From, w.To, after)
	scan := func(rows *sql.Rows) (s Sale, err error) {
		var at int64
		err = rows.Scan(&s.PublicID, &s.Buyer, &s.Domain, &s.AmountCents, &s.CommissionCents, &s.Currency, &at)
		s.At = store.Time(at)
		return s, err
	}
	return store.Collect(ctx, tx, scan, `SELECT `+saleColumns+` FROM referral_sales WHERE `+c.String()+
		` ORDER BY at DESC, order_id DESC LIMIT `+c.Bind(limit), c.Args()...)
}

// A partyDay is a row of referral_days.
type dayRow struct{ day, clicks, visitors int64 }

func selectDays(ctx context.Context, tx store.Tx, p Party, w Window) ([]dayRow, error) {
	from, to := w.days()
	scan := func(rows *sql.Rows) (d dayRow, err error) {
		err = rows.Scan(&d.day, &d.clicks, &d.visitors)
		return d, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT day, clicks, visitors FROM referral_days WHERE partner = $1 AND environment = $2 AND day >= $3 AND day < $4 ORDER BY day`,
		p.Partner, p.Environment, from, to)
}

const microsADay = 24 * 60 * 60 * 1_000_000

// countByDay counts the rows of a table that has the columns partner, environment and at, by the beginning of their day.
func countByDay(ctx context.Context, tx store.Tx, table string, p Party, w Window) (map[int64]int64, error) {
	from, to := w.times()
	all := map[int64]int64{}
	read := func(rows *sql.Rows) error {
		var day, n int64
		err := rows.Scan(&day, &n)
		all[day*microsADay] = n
		return err
	}
	return all, store.Each(ctx, tx, read, fmt.Sprintf(`
		SELECT at / %d, COUNT(*) FROM %s WHERE partner = $1 AND environment = $2 AND at >= $3 AND at < $4 GROUP BY 1`, microsADay, table),
		p.Partner, p.Environment, from, to)
}

func selectTotals(ctx context.Context, tx store.Tx, p Party, w Window) ([]Total, error) {
	from, to := w.times()
	scan := func(rows *sql.Rows) (t Total, err error) {
		err = rows.Scan(&t.Currency, &t.GMVCents, &t.CommissionCents)
		return t, err
	}
	return store.Collect(ctx, tx, scan, `
		SELECT currency, CAST(SUM(amount_cents) AS BIGINT), CAST(SUM(commission_cents) AS BIGINT) FROM referral_sales
		WHERE partner = $1 AND environment = $2 AND at >= $3 AND at < $4 GROUP BY currency ORDER BY currency`,
		p.Partner, p.Environment, from, to)
}

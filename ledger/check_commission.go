package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// derived compares what is kept beside the postings with them: commissions and payouts, and statements with their lines.
func (r *Report) derived(ctx context.Context, tx store.Tx) error {
	for _, check := range []func(context.Context, store.Tx) error{r.balances, r.days, r.payouts, r.statements, r.lines} {
		if err := check(ctx, tx); err != nil {
			return err
		}
	}
	return tx.QueryRow(ctx, `SELECT (SELECT COUNT(*) FROM commissions), (SELECT COUNT(*) FROM payouts),
		(SELECT COUNT(*) FROM settlements WHERE status <> 'preparing')`).Scan(&r.Commissions, &r.Payouts, &r.Statements)
}

// unequal runs a query for rows of a subject, an owner, a currency and two amounts that should be equal and are not.
func (r *Report) unequal(ctx context.Context, tx store.Tx, what string, report func(v *Violation, subject string), query string, args ...any) error {
	read := func(rows *sql.Rows) error {
		var subject string
		var owner Owner
		var v Violation
		var says, posted int64
		if err := rows.Scan(&subject, &owner.Partner, &owner.Environment, &v.Currency, &says, &posted); err != nil {
			return err
		}
		v.Problem = fmt.Sprintf("%s of partner %s in %s: %s, but %s is posted", what, owner.Partner, owner.Environment,
			money.Amount{Cents: says, Currency: v.Currency}, money.Amount{Cents: posted, Currency: v.Currency})
		report(&v, subject)
		r.found(v)
		return nil
	}
	if err := store.Each(ctx, tx, read, query, args...); err != nil {
		return fmt.Errorf("compare %s: %w", what, err)
	}
	return nil
}

// balances compares the sums of commissions and payouts by state with the accounts.
func (r *Report) balances(ctx context.Context, tx store.Tx) error {
	for _, c := range []struct {
		what    string
		account Account
		sign    int
		table   string // of owner, currency and cents
	}{
		{"what is accrued", CommissionAccrued, -1, `SELECT partner, environment, currency, amount_cents AS cents FROM commissions WHERE state = 'accrued'`},
		{"what is pending", CommissionPending, -1, `SELECT partner, environment, currency, amount_cents AS cents FROM commissions WHERE state = 'pending' AND payout_id = ''`},
		{"what commissions cost", CommissionCost, 1, `SELECT partner, environment, currency, amount_cents AS cents FROM commissions WHERE state <> 'reversed'`},
		{"what payouts are due", PayoutsDue, -1, `SELECT partner, environment, currency, amount_cents AS cents FROM payouts WHERE status = 'created'`},
		{"what statements are due", StatementsDue, 1, `SELECT partner, environment, currency, owed_cents AS cents FROM settlements WHERE status = 'open'`},
	} {
		err := r.unequal(ctx, tx, c.what, func(*Violation, string) {}, `
			SELECT '', partner, environment, currency, CAST(SUM(says) AS BIGINT), CAST(SUM(posted) AS BIGINT) FROM (
				SELECT partner, environment, currency, cents AS says, 0 AS posted FROM (`+c.table+`) kept
				UNION ALL SELECT partner, environment, currency, 0, $1 * cents FROM postings WHERE account = $2) both_sides
			GROUP BY partner, environment, currency HAVING SUM(says) <> SUM(posted) ORDER BY partner, environment, currency`, c.sign, c.account)
		if err != nil {
			return err
		}
	}
	return nil
}

// days compares the sums of commissions by day with the commissions.
func (r *Report) days(ctx context.Context, tx store.Tx) error {
	return r.unequal(ctx, tx, "the commissions of a day", func(v *Violation, day string) { v.Problem = "day " + day + ": " + v.Problem }, `
		SELECT CAST(day AS TEXT), partner, environment, currency, CAST(SUM(says) AS BIGINT), CAST(SUM(posted) AS BIGINT) FROM (
			SELECT partner, environment, currency, day, cents AS says, 0 AS posted FROM commission_days
			UNION ALL SELECT partner, environment, currency, at / 86400000000, 0, amount_cents FROM commissions WHERE state <> 'reversed') both_sides
		GROUP BY partner, environment, currency, day HAVING SUM(says) <> SUM(posted) ORDER BY partner, environment, currency, day`)
}

// payouts compares each payout with its commissions and with what is posted for it.
func (r *Report) payouts(ctx context.Context, tx store.Tx) error {
	subject := func(v *Violation, payout string) { v.Problem = "payout " + payout + ": " + v.Problem }
	err := r.unequal(ctx, tx, "a payout and its commissions", subject, `
		SELECT p.id, p.partner, p.environment, p.currency, p.amount_cents,
			CAST(COALESCE((SELECT SUM(c.amount_cents) FROM commissions c WHERE c.payout_id = p.id AND c.payout_id <> ''
				AND c.partner = p.partner AND c.environment = p.environment AND c.source = p.source AND c.currency = p.currency
				AND (c.state = 'paid_out') = (p.status = 'paid')), 0) AS BIGINT) AS sum
		FROM payouts p WHERE p.status <> 'failed' AND p.amount_cents <>
			COALESCE((SELECT SUM(c.amount_cents) FROM commissions c WHERE c.payout_id = p.id AND c.payout_id <> ''
				AND c.partner = p.partner AND c.environment = p.environment AND c.source = p.source AND c.currency = p.currency
				AND (c.state = 'paid_out') = (p.status = 'paid')), 0)
		ORDER BY p.id`)
	if err != nil {
		return err
	}
	return r.unequal(ctx, tx, "a payout", subject, `
		SELECT p.id, p.partner, p.environment, p.currency, p.amount_cents, -COALESCE(e.cents, 0) FROM payouts p
		LEFT JOIN postings e ON e.entry_id = p.id AND e.account = 'payouts_due' AND e.currency = p.currency AND e.partner = p.partner
		WHERE p.amount_cents <> -COALESCE(e.cents, 0) ORDER BY p.id`)
}

// statements compares each statement with its lines and with what is posted for it.
func (r *Report) statements(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		r.found(Violation{Problem: "statement " + id + " is not the sum of its lines"})
		return nil
	}
	err := store.Each(ctx, tx, read, `
		SELECT s.id FROM settlements s LEFT JOIN (SELECT l.settlement_id AS id, `+sumsOfLines+`
			FROM settlement_lines l WHERE l.settlement_id <> '' GROUP BY l.settlement_id) t ON t.id = s.id
		WHERE s.status <> 'preparing' AND (t.id IS NULL OR s.gross_cents <> t.gross OR s.refunded_cents <> t.refunded OR s.commission_cents <> t.commission
			OR s.owed_cents <> t.owed OR s.orders <> t.orders OR s.service_collected <> t.collected) ORDER BY s.id`)
	if err != nil {
		return fmt.Errorf("compare statements with their lines: %w", err)
	}
	return r.unequal(ctx, tx, "what is owed by a statement", func(v *Violation, id string) { v.Problem = "statement " + id + ": " + v.Problem }, `
		SELECT s.id, s.partner, s.environment, s.currency, s.owed_cents, COALESCE(e.cents, 0) FROM settlements s
		LEFT JOIN postings e ON e.entry_id = s.id AND e.account = 'statements_due' AND e.currency = s.currency AND e.partner = s.partner
		WHERE s.status <> 'preparing' AND s.owed_cents <> COALESCE(e.cents, 0) ORDER BY s.id`)
}

// lines compares each line of a statement with what is posted for its order.
func (r *Report) lines(ctx context.Context, tx store.Tx) error {
	read := func(rows *sql.Rows) error {
		v := Violation{Problem: "the line of a statement is not what is posted for the order"}
		if err := rows.Scan(&v.Order, &v.Currency); err != nil {
			return err
		}
		r.found(v)
		return nil
	}
	err := store.Each(ctx, tx, read, `
		SELECT l.order_id, l.currency FROM settlement_lines l
		LEFT JOIN postings price ON price.order_id = l.order_id AND price.order_id <> '' AND price.kind = 'sale' AND price.account = 'sales_proceeds'
		LEFT JOIN postings retained ON retained.order_id = l.order_id AND retained.order_id <> '' AND retained.kind = 'sale' AND retained.account = 'retained_commission'
		LEFT JOIN postings owed ON owed.order_id = l.order_id AND owed.order_id <> '' AND owed.kind = 'sale' AND owed.account = 'partner_receivable'
		LEFT JOIN commissions c ON c.order_id = l.order_id AND c.source = 'service_collected' AND c.reverses = ''
		WHERE price.partner IS NULL OR price.partner <> l.partner OR price.environment <> l.environment OR price.currency <> l.currency
			OR l.gross_cents <> (CASE WHEN l.type = 'reversal' THEN price.cents ELSE -price.cents END)
			OR l.owed_cents <> (CASE WHEN l.type = 'reversal' THEN -COALESCE(owed.cents, 0) ELSE COALESCE(owed.cents, 0) END)
			OR l.commission_cents <> (CASE WHEN l.type = 'reversal' THEN -1 ELSE 1 END) * (COALESCE(retained.cents, 0) + COALESCE(c.amount_cents, 0))
		ORDER BY l.order_id`)
	if err != nil {
		return fmt.Errorf("compare lines of statements with the postings: %w", err)
	}
	return nil
}

package brokerage

import (
	"context"
	"database/sql"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

const caseColumns = `id, partner, environment, domain, tier, status, buyer_email, budget_cents, currency, price_cents, share_cents,
	created_at, updated_at, version`

func scanCase(scan func(...any) error) (c Case, err error) {
	var created, updated int64
	err = scan(&c.CaseID, &c.Partner, &c.Environment, &c.Domain, &c.Tier, &c.Status, &c.BuyerEmail, &c.Budget, &c.Currency,
		&c.PriceCents, &c.PartnerShareCents, &created, &updated, &c.version)
	c.CreatedAt, c.UpdatedAt = store.Time(created), store.Time(updated)
	return c, err
}

// insertCase adds a case, unless the domain has an open one.
func insertCase(ctx context.Context, tx store.Tx, c Case, digest, sealed []byte) (added bool, err error) {
	n, err := tx.Exec(ctx, `
		INSERT INTO brokerage_cases (`+caseColumns+`, token_digest, token_sealed)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING`,
		c.CaseID, c.Partner, c.Environment, c.Domain, c.Tier, c.Status, c.BuyerEmail, c.Budget, c.Currency, c.PriceCents, c.PartnerShareCents,
		store.Micros(c.CreatedAt), store.Micros(c.UpdatedAt), c.version, digest, sealed)
	return n == 1, err
}

func hasOpenCase(ctx context.Context, tx store.Tx, environment string, domain fqdn.Name) (open bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM brokerage_cases WHERE environment = $1 AND domain = $2 AND status NOT IN ('COMPLETED', 'CLOSED'))`,
		environment, domain.String()).Scan(&open)
	return open, err
}

// ofParty adds the condition that a case is the party's.
func ofParty(c *store.Conditions, p Party) {
	if !p.all() {
		c.Add("partner = ? AND environment = ?", p.Partner, p.Environment)
	}
}

// selectCase reads a case of the party. It fails with [sql.ErrNoRows].
func selectCase(ctx context.Context, tx store.Tx, p Party, id string) (Case, error) {
	var c store.Conditions
	c.Add("id = ?", id)
	ofParty(&c, p)
	return scanCase(tx.QueryRow(ctx, `SELECT `+caseColumns+` FROM brokerage_cases WHERE `+c.String(), c.Args()...).Scan)
}

// selectCaseOf reads the case of a token by its digest. It fails with [sql.ErrNoRows].
func selectCaseOf(ctx context.Context, tx store.Tx, digest []byte) (Case, error) {
	return scanCase(tx.QueryRow(ctx, `SELECT `+caseColumns+` FROM brokerage_cases WHERE token_digest = $1`, digest).Scan)
}

// selectCases reads one case more than a page holds.
func selectCases(ctx context.Context, tx store.Tx, p Party, f Filter) ([]Case, error) {
	var c store.Conditions
	ofParty(&c, p)
	if f.Status != "" {
		c.Add("status = ?", f.Status)
	}
	if f.Environment != "" {
		c.Add("environment = ?", f.Environment)
	}
	c.Newest("created_at", "id", f.From, f.To, f.After)
	scan := func(rows *sql.Rows) (Case, error) { return scanCase(rows.Scan) }
	return store.Collect(ctx, tx, scan, `SELECT `+caseColumns+` FROM brokerage_cases WHERE `+c.String()+
		` ORDER BY created_at DESC, id DESC LIMIT `+c.Bind(f.Limit+1), c.Args()...)
}

// moveCase changes the state of a case if it is one of from. The time of the change is now or, if the clock went back, that of
// the last change. A price of zero leaves it. It fails with [sql.ErrNoRows] otherwise.
func moveCase(ctx context.Context, tx store.Tx, id string, from []State, to State, price int64, now time.Time) (Case, error) {
	args := []any{id, to, price, store.Micros(now)}
	for _, s := range from {
		args = append(args, s)
	}
	return scanCase(tx.QueryRow(ctx, `
		UPDATE brokerage_cases SET status = $2, price_cents = CASE WHEN CAST($3 AS BIGINT) = 0 THEN price_cents ELSE CAST($3 AS BIGINT) END,
			updated_at = CASE WHEN updated_at > $4 THEN updated_at ELSE $4 END, version = version + 1
		WHERE id = $1 AND status IN (`+store.Binds(5, len(from))+`) RETURNING `+caseColumns, args...).Scan)
}

// touchCase takes the next number of the timeline of a case.
func touchCase(ctx context.Context, tx store.Tx, id string, now time.Time) (version int, at time.Time, err error) {
	var micros int64
	err = tx.QueryRow(ctx, `
		UPDATE brokerage_cases SET updated_at = CASE WHEN updated_at > $2 THEN updated_at ELSE $2 END, version = version + 1
		WHERE id = $1 RETURNING version, updated_at`, id, store.Micros(now)).Scan(&version, &micros)
	return version, store.Time(micros), err
}

func insertStep(ctx context.Context, tx store.Tx, caseID string, version int, s Step) error {
	_, err := tx.Exec(ctx, `INSERT INTO brokerage_timeline (case_id, version, at, status, note, private_note) VALUES ($1, $2, $3, $4, $5, $6)`,
		caseID, version, store.Micros(s.At), s.Status, s.Note, s.Private)
	return err
}

func selectSteps(ctx context.Context, tx store.Tx, caseID string) ([]Step, error) {
	scan := func(rows *sql.Rows) (s Step, err error) {
		var at int64
		err = rows.Scan(&at, &s.Status, &s.Note, &s.Private)
		s.At = store.Time(at)
		return s, err
	}
	return store.Collect(ctx, tx, scan, `SELECT at, status, note, private_note FROM brokerage_timeline WHERE case_id = $1 ORDER BY version`, caseID)
}

func insertOffer(ctx context.Context, tx store.Tx, caseID string, o Offer) error {
	_, err := tx.Exec(ctx, `INSERT INTO brokerage_offers (id, case_id, at, amount_cents, currency, message) VALUES ($1, $2, $3, $4, $5, $6)`,
		store.NewID("off"), caseID, store.Micros(o.At), o.Amount.Cents, o.Amount.Currency, o.Message)
	return err
}

func selectOffers(ctx context.Context, tx store.Tx, caseID string) ([]Offer, error) {
	scan := func(rows *sql.Rows) (o Offer, err error) {
		var at int64
		err = rows.Scan(&at, &o.Amount.Cents, &o.Amount.Currency, &o.Message)
		o.At = store.Time(at)
		return o, err
	}
	return store.Collect(ctx, tx, scan, `SELECT at, amount_cents, currency, message FROM brokerage_offers WHERE case_id = $1 ORDER BY id DESC`, caseID)
}

// offersSince counts the offers of a case since a time of the real clock.
func offersSince(ctx context.Context, tx store.Tx, caseID string, since time.Time) (n int, err error) {
	err = tx.QueryRow(ctx, `SELECT COUNT(*) FROM brokerage_offers WHERE case_id = $1 AND id >= $2`, caseID, store.IDAt("off", since)).Scan(&n)
	return n, err
}

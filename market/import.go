package market

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// ImportOptions says how [Import] reads a file.
type ImportOptions struct {
	Environment Environment
	DryRun      bool // say what would happen, change nothing
	Partial     bool // take the good rows where there are bad ones

	// Suffix says why a name cannot be listed because of its suffix, in words that complete "the domain …"; nil
	// lets every name of at least two labels pass.
	Suffix func(fqdn.Name) error

	// Audit records the import in the transactions of the change; may be nil. Action is the recorded action,
	// "listing.import" where that is empty; Source says where the names come from, such as the name of a file.
	Audit  Auditor
	Action string
	Source string

	// Progress is called with the number of rows done and of all rows. It may be nil.
	Progress func(done, total int)
}

// An Auditor records who did what, in the transaction of the change.
type Auditor interface {
	Record(ctx context.Context, tx store.Tx, action, subject string, details map[string]any) error
}

// A Report is what [Import] did, or would have done.
type Report struct {
	Rows      int      // rows of the file, without its header
	Created   int      // names that were not for sale before
	Updated   int      // names already listed; they keep their ListedAt
	Unchanged int      // names already listed just so
	Bad       []BadRow // in the order of the file
	Applied   bool     // whether the good rows were taken
}

// A BadRow says what is wrong with one row of the file.
type BadRow struct {
	Line   int    `json:"line"`             // of the file, from 1, where the row begins
	Column string `json:"column,omitempty"` // empty: the row as a whole
	Reason string `json:"reason"`
}

func (b BadRow) String() string {
	if b.Column == "" {
		return fmt.Sprintf("line %d: %s", b.Line, b.Reason)
	}
	return fmt.Sprintf("line %d: %s: %s", b.Line, b.Column, b.Reason)
}

// Import is [Import] into the database of the market, and makes the result visible.
func (m *Market) Import(ctx context.Context, r io.Reader, o ImportOptions) (Report, error) {
	report, err := Import(ctx, m.db, r, o)
	return report, errors.Join(err, m.Refresh(ctx))
}

// rowsAtOnce is how many rows one statement reads or writes. SQLite looks through the names of all binds to find each, so
// that more rows make it slower.
const rowsAtOnce = 50

// Import lists the names of a CSV file. Its first row names the columns, in any order: domain and price_cents, and
// optionally floor_price_cents (the price where empty), currency (USD where empty), description and keywords (separated by
// commas, semicolons or bars, else by spaces). A name already listed is updated; one that is sold, or that an account
// lists, is a bad row.
//
// With bad rows nothing is imported, unless o.Partial is set; the report lists them. All rows are written in one
// transaction, with o.Partial in several: then, on error, the report says what is done. The whole file is held in memory.
// A file without a usable header fails with a [fault.Validation] error.
func Import(ctx context.Context, db *store.DB, r io.Reader, o ImportOptions) (Report, error) {
	if o.Environment.ordinal() < 0 {
		return Report{}, errEnvironment()
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	drafts, report, err := readCSV(r, o.Suffix)
	if err != nil {
		return Report{}, err
	}
	// In the order of the index on domains, writing touches each of its pages once; and so does a later scan of the
	// table in the order of names.
	slices.SortFunc(drafts, func(a, b draft) int { return strings.Compare(a.domain, b.domain) })
	i := importer{db: db, options: o, drafts: drafts, report: report, look: manyRows}
	switch {
	case o.DryRun || len(report.Bad) > 0 && !o.Partial:
		err = i.dryRun(ctx)
	case o.Partial:
		err = i.byBatch(ctx)
	default:
		err = i.atOnce(ctx)
	}
	i.report.sort()
	if err != nil {
		return i.report, fmt.Errorf("import listings: %w", err)
	}
	return i.report, nil
}

// importer writes the good rows of a file.
type importer struct {
	db      *store.DB
	options ImportOptions
	drafts  []draft
	report  Report
	look    int // after how many rows to settle again
}

// tally counts the outcomes of some rows.
type tally struct {
	created, updated, unchanged int
	bad                         []BadRow
}

func (t *tally) add(more tally) {
	t.created += more.created
	t.updated += more.updated
	t.unchanged += more.unchanged
	t.bad = append(t.bad, more.bad...)
}

func (i *importer) take(t tally) {
	i.report.Created += t.created
	i.report.Updated += t.updated
	i.report.Unchanged += t.unchanged
	i.report.Bad = append(i.report.Bad, t.bad...)
}

// dryRun counts what would happen.
func (i *importer) dryRun(ctx context.Context) error {
	return i.db.Read(ctx, func(tx store.Tx) error {
		for at := 0; at < len(i.drafts); at += rowsAtOnce {
			_, t, err := i.judge(ctx, tx, i.drafts[at:min(at+rowsAtOnce, len(i.drafts))])
			if err != nil {
				return err
			}
			i.take(t)
			i.options.Progress(min(at+rowsAtOnce, len(i.drafts)), len(i.drafts))
		}
		return nil
	})
}

// errBad ends the transaction of an import that takes all rows or none.
var errBad = errors.New("bad rows")

// atOnce takes all rows in one transaction, or none.
func (i *importer) atOnce(ctx context.Context) error {
	var all tally
	err := i.db.Tx(ctx, func(tx store.Tx) error {
		all = tally{}
		if err := i.write(ctx, tx, i.drafts, &all, 0); err != nil {
			return err
		}
		if len(all.bad) > 0 {
			return errBad
		}
		if err := i.audit(ctx, tx, all); err != nil {
			return err
		}
		return i.settle(ctx, tx)
	})
	if err != nil && !errors.Is(err, errBad) {
		return err
	}
	i.take(all)
	i.report.Applied = err == nil
	return nil
}

// batch is how many rows a transaction of a partial import writes: few enough that others do not wait long.
const batch = 100 * rowsAtOnce

// byBatch takes the good rows in several transactions.
func (i *importer) byBatch(ctx context.Context) error {
	for at := 0; at < len(i.drafts); at += batch {
		var some tally
		err := i.db.Tx(ctx, func(tx store.Tx) error {
			some = tally{}
			if err := i.write(ctx, tx, i.drafts[at:min(at+batch, len(i.drafts))], &some, at); err != nil {
				return err
			}
			return i.audit(ctx, tx, some)
		})
		if err != nil {
			return err
		}
		i.take(some)
		i.report.Applied = true
	}
	i.report.Applied = true
	return i.db.Tx(ctx, func(tx store.Tx) error { return i.settle(ctx, tx) })
}

// audit records what a transaction changed. An import that changes nothing is recorded too.
func (i *importer) audit(ctx context.Context, tx store.Tx, t tally) error {
	if i.options.Audit == nil {
		return nil
	}
	details := map[string]any{"created": t.created, "updated": t.updated, "unchanged": t.unchanged}
	if i.options.Source != "" {
		details["source"] = i.options.Source
	}
	return i.options.Audit.Record(ctx, tx, cmp.Or(i.options.Action, "listing.import"), string(i.options.Environment), details)
}

// settle updates the statistics of PostgreSQL, which would otherwise use the plans of an empty table: full scans.
func (i *importer) settle(ctx context.Context, tx store.Tx) error {
	if i.db.Engine() != store.Postgres || len(i.drafts) < manyRows {
		return nil
	}
	_, err := tx.Exec(ctx, `ANALYZE listings`)
	return err
}

// manyRows is from how many rows on an import may change how statements are best run.
const manyRows = 1000

// write takes rows under one change number.
func (i *importer) write(ctx context.Context, tx store.Tx, drafts []draft, sum *tally, before int) error {
	change, err := takeChange(ctx, tx, i.options.Environment)
	if err != nil {
		return err
	}
	now := store.Micros(i.db.Now())
	for at := 0; at < len(drafts); at += rowsAtOnce {
		end := min(at+rowsAtOnce, len(drafts))
		writes, t, err := i.judge(ctx, tx, drafts[at:end])
		if err != nil {
			return err
		}
		sum.add(t)
		if err := upsert(ctx, tx, i.options.Environment, writes, now, change); err != nil {
			return err
		}
		i.options.Progress(before+end, len(i.drafts))
		if before+end >= i.look {
			if err := i.settle(ctx, tx); err != nil {
				return err
			}
			i.look = 8 * (before + end)
		}
	}
	return nil
}

// judge compares at most rowsAtOnce rows with the database: which are to be written, and what that makes of them.
func (i *importer) judge(ctx context.Context, tx store.Tx, drafts []draft) ([]draft, tally, error) {
	have, err := currentListings(ctx, tx, i.options.Environment, drafts)
	if err != nil {
		return nil, tally{}, err
	}
	var t tally
	writes := make([]draft, 0, len(drafts))
	for _, d := range drafts {
		old, known := have[d.domain]
		switch {
		case !known:
			t.created++
		case old.sold:
			t.bad = append(t.bad, BadRow{d.line, columnDomain, "was sold here and cannot be listed again by import"})
			continue
		case old.seller != "":
			t.bad = append(t.bad, BadRow{d.line, columnDomain, "is for sale here by an account, which alone may change that"})
			continue
		case old.draft == d.at(old.line):
			t.unchanged++
			continue
		default:
			t.updated++
		}
		writes = append(writes, d)
	}
	return writes, t, nil
}

// A currentListing is the state of a domain before the import: listed with the fields of the draft, or sold.
type currentListing struct {
	draft
	sold   bool
	seller string
}

// currentListings reads the state of the domains. A domain that is neither listed nor sold is left out.
func currentListings(ctx context.Context, tx store.Tx, env Environment, drafts []draft) (map[string]currentListing, error) {
	args := make([]any, 1, 1+len(drafts))
	args[0] = env
	for _, d := range drafts {
		args = append(args, d.domain)
	}
	in := store.Binds(2, len(drafts))
	// Two queries, each on an index of its own: the engines do not use partial indexes for status IN (…).
	have := map[string]currentListing{}
	read := func(rows *sql.Rows) error {
		var s currentListing
		err := rows.Scan(&s.domain, &s.price, &s.floor, &s.currency, &s.description, &s.keywords, &s.seller, &s.sold)
		if old, known := have[s.domain]; !known || old.sold { // sold once and listed again: it is listed
			have[s.domain] = s
		}
		return err
	}
	err := store.Each(ctx, tx, read, `
		SELECT domain, price_cents, floor_price_cents, currency, description, keywords, seller_id, 0 AS sold
		FROM listings WHERE environment = $1 AND status = 'listed' AND domain IN (`+in+`)
		UNION ALL
		SELECT domain, 0, 0, '', '', '', '', 1
		FROM listings WHERE environment = $1 AND status = 'sold' AND domain IN (`+in+`)`, args...)
	return have, err
}

// upsert writes at most rowsAtOnce rows.
func upsert(ctx context.Context, tx store.Tx, env Environment, drafts []draft, now, change int64) error {
	if len(drafts) == 0 {
		return nil
	}
	const own = 7 // binds of a row; environment, now and change are shared
	var values strings.Builder
	args := []any{env, now, change}
	for i, d := range drafts {
		if i > 0 {
			values.WriteString(", ")
		}
		n := len(args)
		fmt.Fprintf(&values, "($%d, $1, $%d, $%d, $%d, $%d, $%d, $%d, '', 'listed', $2, $2, $3)", n+1, n+2, n+3, n+4, n+5, n+6, n+own)
		args = append(args, store.NewID("lst"), d.domain, d.price, d.floor, d.currency, d.description, d.keywords)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO listings (id, environment, domain, price_cents, floor_price_cents, currency, description, keywords,
			seller_id, status, listed_at, updated_at, change)
		VALUES `+values.String()+`
		ON CONFLICT (environment, domain) WHERE status = 'listed' DO UPDATE SET
			price_cents = excluded.price_cents, floor_price_cents = excluded.floor_price_cents, currency = excluded.currency,
			description = excluded.description, keywords = excluded.keywords,
			updated_at = excluded.updated_at, change = excluded.change`, args...)
	return err
}

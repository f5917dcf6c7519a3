package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A Rule is the retention rule of a table. A table whose rows expire has Key and Age, or Plan; one without either is not swept,
// and Kept says what limits it.
type Rule struct {
	Table string        // the table
	Kept  string        // how long a row lives and what removes it, for the documentation
	Keep  time.Duration // how long after the time in Age a row expires

	Key   string // columns that identify a row, such as "id"
	Age   string // column with the time of a row
	In    Unit   // unit of Age
	Where string // further condition for expired rows; empty: none
	Set   string // assignments that clear columns of an expired row; empty: the row is removed

	// Plan replaces Key for tables that need more than the removal of rows by age. On a snapshot it finds up to limit rows that
	// had expired at the time over, and returns the removal for a transaction; nil if there are none. Age is then optional, and
	// only used to report the oldest expired row.
	Plan func(ctx context.Context, tx store.Tx, over time.Time, limit int) (remove Removal, err error)
}

// A Removal removes rows and returns how many.
type Removal func(ctx context.Context, tx store.Tx) (removed int64, err error)

// A Unit is the encoding of a time in a column.
type Unit struct {
	name   string
	prefix string // of ids
}

// Seconds is the unit of Unix seconds. The zero Unit is microseconds, see [store.Micros].
var Seconds = Unit{name: "seconds"}

// IDs is the unit of ids of [store.NewID] with the prefix.
func IDs(prefix string) Unit { return Unit{name: "ids", prefix: prefix} }

// value encodes a time.
func (u Unit) value(at time.Time) any {
	switch u.name {
	case "seconds":
		return at.Unix()
	case "ids":
		return store.IDAt(u.prefix, at)
	}
	return store.Micros(at)
}

// scan decodes a time.
func (u Unit) scan(row store.Row) (at time.Time, err error) {
	if u.name == "ids" {
		var id string
		if err := row.Scan(&id); err != nil {
			return time.Time{}, err
		}
		at, _ = store.IDTime(u.prefix, id)
		return at, nil
	}
	var n int64
	if err := row.Scan(&n); err != nil {
		return time.Time{}, err
	}
	if u.name == "seconds" {
		return time.Unix(n, 0), nil
	}
	return store.Time(n), nil
}

// swept reports whether the rule removes rows.
func (r Rule) swept() bool { return r.Key != "" || r.Plan != nil }

// check refuses an incomplete rule.
func (r Rule) check() error {
	switch {
	case r.Table == "" || r.Kept == "":
		return fmt.Errorf("a retention rule needs a table and how long a row lives")
	case r.Key != "" && (r.Age == "" || r.Plan != nil), r.Key == "" && (r.Set != "" || r.Plan == nil && r.Age != ""):
		return fmt.Errorf("the rule of table %s needs Key and Age, or Plan", r.Table)
	case r.Keep < 0:
		return fmt.Errorf("the retention rule of table %s has a negative time", r.Table)
	}
	return nil
}

// where is the further condition, if any.
func (r Rule) where() string {
	if r.Where == "" {
		return ""
	}
	return " AND " + r.Where
}

// plan finds expired rows on a snapshot, without a write transaction if there are none.
func (r Rule) plan(ctx context.Context, tx store.Tx, now time.Time, limit int) (Removal, error) {
	if r.Plan != nil {
		return r.Plan(ctx, tx, now.Add(-r.Keep), limit)
	}
	var one int
	err := tx.QueryRow(ctx, fmt.Sprintf("SELECT 1 FROM %s WHERE %s <= $1%s LIMIT 1", r.Table, r.Age, r.where()), r.bound(now)).Scan(&one)
	if store.IsNoRows(err) {
		return nil, nil
	}
	return func(ctx context.Context, tx store.Tx) (int64, error) {
		return tx.Exec(ctx, r.statement(), r.bound(now), limit)
	}, err
}

// bound is the value of Age for rows that expire now.
func (r Rule) bound(now time.Time) any { return r.In.value(now.Add(-r.Keep)) }

// statement removes at most $2 rows whose Age is at most $1.
func (r Rule) statement() string {
	verb := "DELETE FROM " + r.Table
	if r.Set != "" {
		verb = "UPDATE " + r.Table + " SET " + r.Set
	}
	return fmt.Sprintf("%s WHERE (%s) IN (SELECT %s FROM %s WHERE %s <= $1%s ORDER BY %s LIMIT $2)",
		verb, r.Key, r.Key, r.Table, r.Age, r.where(), r.Age)
}

// overdue is how long ago the oldest row expired; zero: none has, or the rule has no Age.
func (r Rule) overdue(ctx context.Context, tx store.Tx, now time.Time) (time.Duration, error) {
	if r.Age == "" {
		return 0, nil
	}
	query := fmt.Sprintf("SELECT %s FROM %s WHERE %s <= $1%s ORDER BY %s LIMIT 1", r.Age, r.Table, r.Age, r.where(), r.Age)
	oldest, err := r.In.scan(tx.QueryRow(ctx, query, r.bound(now)))
	if store.IsNoRows(err) {
		return 0, nil
	}
	return max(0, now.Sub(oldest)-r.Keep), err
}

package sweep

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/store"
)

// A Rule says how long the rows of a table live. A table whose rows are removed by time has Key and Age, or Plan; one
// without either is not swept, and Kept says what bounds it.
type Rule struct {
	Table string        // the table
	Kept  string        // how long a row lives and what removes it, as the documentation says it
	Keep  time.Duration // how long after the time in Age a row is kept

	Key   string // columns that name a row, such as "id"
	Age   string // column with the time by which a row's age goes
	In    Unit   // what Age holds
	Where string // a further condition of rows that may go; empty: none
	Set   string // assignments that take something out of a row, instead of removing it; empty: it is removed

	// Plan stands for Key where more is to be done than to remove rows by their age. It looks, on a snapshot, for up to
	// limit rows that were over at a time, and returns what removes them in a transaction and tells how many it removed;
	// nil where there are none. Age serves to tell how old the oldest is; it may be empty.
	Plan func(ctx context.Context, tx store.Tx, over time.Time, limit int) (remove Removal, err error)
}

// A Removal removes rows and returns how many.
type Removal func(ctx context.Context, tx store.Tx) (removed int64, err error)

// A Unit is how a column tells a time.
type Unit struct {
	name   string
	prefix string // of ids
}

// The units. The zero Unit is microseconds, as [store.Micros] has them.
var Seconds = Unit{name: "seconds"} // of Unix time

// IDs is the unit of ids with the prefix that [store.NewID] made.
func IDs(prefix string) Unit { return Unit{name: "ids", prefix: prefix} }

// value is what a column of the unit has for a time.
func (u Unit) value(at time.Time) any {
	switch u.name {
	case "seconds":
		return at.Unix()
	case "ids":
		return store.IDAt(u.prefix, at)
	}
	return store.Micros(at)
}

// scan reads the time of a column of the unit.
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

// swept reports whether the rule removes anything.
func (r Rule) swept() bool { return r.Key != "" || r.Plan != nil }

// check says what is wrong with a rule.
func (r Rule) check() error {
	switch {
	case r.Table == "" || r.Kept == "":
		return fmt.Errorf("a rule needs a table and says how long a row lives")
	case r.Key != "" && (r.Age == "" || r.Plan != nil), r.Key == "" && (r.Set != "" || r.Plan == nil && r.Age != ""):
		return fmt.Errorf("the rule of table %s needs Key and Age, or Plan", r.Table)
	case r.Keep < 0:
		return fmt.Errorf("the rule of table %s keeps rows for less than no time", r.Table)
	}
	return nil
}

// where is the further condition.
func (r Rule) where() string {
	if r.Where == "" {
		return ""
	}
	return " AND " + r.Where
}

// plan finds out what to remove next, on a snapshot: a look that finds nothing holds up nobody.
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

// bound is what Age has for rows that are over just now.
func (r Rule) bound(now time.Time) any { return r.In.value(now.Add(-r.Keep)) }

// statement removes at most $2 rows that are over at $1.
func (r Rule) statement() string {
	verb := "DELETE FROM " + r.Table
	if r.Set != "" {
		verb = "UPDATE " + r.Table + " SET " + r.Set
	}
	return fmt.Sprintf("%s WHERE (%s) IN (SELECT %s FROM %s WHERE %s <= $1%s ORDER BY %s LIMIT $2)",
		verb, r.Key, r.Key, r.Table, r.Age, r.where(), r.Age)
}

// overdue is for how long the oldest row has been over; zero: none is, or the rule does not say by which column.
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

package admission

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// bucket names a credential's bucket for a policy. A bucket is stored as the time at which it is full again, in
// microseconds.
func bucket(p *ratelimit.Policy, keyID string) string { return keyID + " " + p.Name() }

// take draws a token from a bucket that is full again at full, and returns when it is full after that.
func take(p *ratelimit.Policy, full, now int64) (d ratelimit.Draw, fullThen int64) {
	d = p.Draw(time.Duration(full-now)*time.Microsecond, 1)
	return d, now + int64((d.Reset()+time.Microsecond-1)/time.Microsecond)
}

// drawAll draws a token for each request of a group that is no replay and has a bucket.
func drawAll(ctx context.Context, tx store.Tx, group []*request, now int64) error {
	full := map[string]int64{}
	for _, w := range group {
		if !w.replayed && w.bucket != "" {
			full[w.bucket] = 0
		}
	}
	names := slices.Sorted(maps.Keys(full)) // one order in all processes, against deadlocks
	for part := range slices.Chunk(names, bucketsAtOnce) {
		if err := readBuckets(ctx, tx, part, full); err != nil {
			return fmt.Errorf("read limits: %w", err)
		}
	}
	drawn := map[string]bool{}
	for _, w := range group {
		if w.replayed || w.bucket == "" {
			continue
		}
		var then int64
		if w.draw, then = take(w.limit, full[w.bucket], now); !w.draw.Refused() {
			full[w.bucket], drawn[w.bucket] = then, true
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !drawn[name] })
	for part := range slices.Chunk(names, bucketsAtOnce) {
		if err := writeBuckets(ctx, tx, part, full); err != nil {
			return fmt.Errorf("write limits: %w", err)
		}
	}
	return nil
}

// bucketsAtOnce is how many rows one statement reads or writes: few enough that SQLite resolves its parameters fast, and
// that the statements of all sizes stay prepared.
const bucketsAtOnce = 32

func readBuckets(ctx context.Context, tx store.Tx, names []string, into map[string]int64) error {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	read := func(rows *sql.Rows) error {
		var name string
		var full int64
		err := rows.Scan(&name, &full)
		into[name] = full
		return err
	}
	return store.Each(ctx, tx, read, `SELECT bucket, full_at FROM partner_limits WHERE bucket IN (`+store.Binds(1, len(names))+`)`, args...)
}

func writeBuckets(ctx context.Context, tx store.Tx, names []string, full map[string]int64) error {
	args := make([]any, 0, 2*len(names))
	for _, name := range names {
		args = append(args, name, full[name])
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO partner_limits (bucket, full_at) VALUES `+pairs(len(names))+`
		ON CONFLICT (bucket) DO UPDATE SET full_at = excluded.full_at`, args...)
	return err
}

// pairs returns "($1, $2), ($3, $4)" for two rows of two columns.
func pairs(rows int) string {
	all := make([]string, rows)
	for i := range all {
		all[i] = "(" + store.Binds(2*i+1, 2) + ")"
	}
	return strings.Join(all, ", ")
}

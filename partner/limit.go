package partner

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// The limit classes of the partner API.
const (
	ClassSearch    op.Class = "search"    // the inventory
	ClassWrite     op.Class = "write"     // every POST and PUT
	ClassReporting op.Class = "reporting" // the rest
)

// Quotas of a credential a minute (section 8 of the contract).
const (
	SearchQuota    = 60
	WriteQuota     = 20
	ReportingQuota = 30
)

var limits = map[op.Class]*ratelimit.Policy{
	ClassSearch:    newPolicy(ClassSearch, SearchQuota),
	ClassWrite:     newPolicy(ClassWrite, WriteQuota),
	ClassReporting: newPolicy(ClassReporting, ReportingQuota),
}

func newPolicy(class op.Class, quota int) *ratelimit.Policy {
	return ratelimit.NewPolicy(string(class), ratelimit.PerMinute(quota))
}

// bucket names the bucket of a credential: each has one for each policy. A bucket is kept as the time at which it is
// full again, in microseconds.
func bucket(p *ratelimit.Policy, keyID string) string { return keyID + " " + p.Name() }

// take draws a token from a bucket that is full again at a time, if there is one, and says when it is full then.
func take(p *ratelimit.Policy, full, now int64) (d ratelimit.Draw, fullThen int64) {
	d = p.Draw(time.Duration(full-now)*time.Microsecond, 1)
	return d, now + int64((d.Reset()+time.Microsecond-1)/time.Microsecond)
}

// tell writes the RateLimit fields of a draw, if there was one.
func tell(h http.Header, d ratelimit.Draw) {
	if d.Policy != nil {
		ratelimit.WriteHeader(h, []ratelimit.Draw{d})
	}
}

// refusal is nil for a token that was drawn.
func refusal(d ratelimit.Draw) error {
	if !d.Refused() {
		return nil
	}
	detail, hint := d.Reason()
	return fault.New(fault.RateLimited, "%s", detail).WithHint("%s", hint).WithRetry(d.Wait())
}

// drawAll draws a token for each request of a group that is not replayed and draws on a bucket at all.
func drawAll(ctx context.Context, tx store.Tx, group []*admission, now int64) error {
	full := map[string]int64{}
	for _, w := range group {
		if !w.replayed && w.bucket != "" {
			full[w.bucket] = 0
		}
	}
	names := slices.Sorted(maps.Keys(full)) // all processes write them in this order
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

// bucketsAtOnce is how many rows one statement reads or writes: few enough that SQLite finds its binds soon, and that the
// statements of all sizes stay prepared.
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

// pairs is "($1, $2), ($3, $4)" for two rows of two columns.
func pairs(rows int) string {
	all := make([]string, rows)
	for i := range all {
		all[i] = "(" + store.Binds(2*i+1, 2) + ")"
	}
	return strings.Join(all, ", ")
}

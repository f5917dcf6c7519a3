package partner

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
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

var limits = map[op.Class]*limit{
	ClassSearch:    newLimit(ClassSearch, SearchQuota),
	ClassWrite:     newLimit(ClassWrite, WriteQuota),
	ClassReporting: newLimit(ClassReporting, ReportingQuota),
}

// A limit is a token bucket for each credential: a full minute's quota at once, then as much as flows back. A bucket is
// kept as the time at which it is full again (the generic cell rate algorithm), in microseconds.
type limit struct {
	class  op.Class
	quota  int64
	every  int64    // microseconds in which one token flows back
	policy []string // the RateLimit-Policy header
}

const window = int64(time.Minute / time.Microsecond)

func newLimit(class op.Class, quota int64) *limit {
	return &limit{class, quota, window / quota, []string{fmt.Sprintf("%q;q=%d;w=%d", string(class), quota, int(time.Minute/time.Second))}}
}

// bucket names the bucket of a credential.
func (l *limit) bucket(keyID string) string { return keyID + " " + string(l.class) }

// A draw is what became of one request's token.
type draw struct {
	limit *limit
	now   int64
	full  int64 // when the bucket is full again
	drawn bool
}

// take draws a token from a bucket that is full again at a time, if there is one.
func (l *limit) take(full, now int64) draw {
	full = max(full, now)
	if full+l.every-now > window {
		return draw{l, now, full, false}
	}
	return draw{l, now, full + l.every, true}
}

// tell writes the RateLimit fields (draft-ietf-httpapi-ratelimit-headers-11), named as net/http canonicalises them.
func (d draw) tell(h http.Header) {
	if d.limit == nil {
		return
	}
	const second = int64(time.Second / time.Microsecond)
	missing := d.full - d.now
	left := append(make([]byte, 0, 40), '"')
	left = append(left, d.limit.class...)
	left = append(left, `";r=`...)
	left = strconv.AppendInt(left, (window-missing)/d.limit.every, 10)
	left = append(left, ";t="...)
	left = strconv.AppendInt(left, (missing+second-1)/second, 10)
	h["Ratelimit-Policy"] = d.limit.policy
	h["Ratelimit"] = []string{string(left)}
}

// err is nil for a token that was drawn.
func (d draw) err() error {
	if d.limit == nil || d.drawn {
		return nil
	}
	wait := time.Duration(d.full+d.limit.every-d.now-window) * time.Microsecond
	return fault.New(fault.RateLimited, "the limit %q of %d a minute is used up", string(d.limit.class), d.limit.quota).
		WithHint("wait the seconds in Retry-After").WithRetry(wait)
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
		if w.draw = w.limit.take(full[w.bucket], now); w.draw.drawn {
			full[w.bucket], drawn[w.bucket] = w.draw.full, true
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
	rows, err := tx.Query(ctx, `SELECT bucket, full_at FROM partner_limits WHERE bucket IN `+tuples(1, len(names)), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var full int64
		if err := rows.Scan(&name, &full); err != nil {
			return err
		}
		into[name] = full
	}
	return rows.Err()
}

func writeBuckets(ctx context.Context, tx store.Tx, names []string, full map[string]int64) error {
	args := make([]any, 0, 2*len(names))
	for _, name := range names {
		args = append(args, name, full[name])
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO partner_limits (bucket, full_at) VALUES `+tuples(len(names), 2)+`
		ON CONFLICT (bucket) DO UPDATE SET full_at = excluded.full_at`, args...)
	return err
}

// tuples is "($1, $2), ($3, $4)" for two rows of two columns.
func tuples(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i%columns > 0:
			b.WriteString(", ")
		case i > 0:
			b.WriteString("), (")
		default:
			b.WriteByte('(')
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteByte(')')
	return b.String()
}

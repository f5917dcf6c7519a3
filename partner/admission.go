package partner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// Bounds of one transaction of admissions.
const (
	groupSize = 512
	groupTime = 30 * time.Second
)

// admissions lets each signed request through once, and only as many as its credential may send. Requests that come
// while a transaction runs are written together in the next: their nonces, and what they draw from their buckets. So
// what a nonce costs is a share of a durable commit, and of any number of processes on one database one lets it through.
type admissions struct {
	db      *store.DB
	now     func() time.Time
	limited bool

	mu      sync.Mutex
	waiting []*admission
	closed  bool
	wake    chan struct{} // holds a token while there may be somebody waiting
}

// A nonceID is a nonce of a credential in the database: half of a SHA-256, so that rows are small and of one size.
type nonceID [16]byte

func newNonceID(keyID, nonce string) nonceID {
	text := binary.AppendUvarint(make([]byte, 0, 192), uint64(len(keyID)))
	text = append(append(text, keyID...), nonce...)
	sum := sha256.Sum256(text)
	return nonceID(sum[:])
}

// An admission is a request that waits. What it comes to may be read once done is closed.
type admission struct {
	id      nonceID
	expires int64 // the last second in which the request is valid
	bucket  string
	limit   *limit

	done     chan struct{}
	replayed bool
	draw     draw
	err      error // of ours
}

var errShut = errors.New("admit a request: shut down")

func newAdmissions(db *store.DB, now func() time.Time, limited bool) *admissions {
	return &admissions{db: db, now: now, limited: limited, wake: make(chan struct{}, 1)}
}

// admit waits until the nonce is written. A nonce that was used before is [fault.ReplayDetected]; it draws nothing. What
// came of the draw is no error here.
func (a *admissions) admit(ctx context.Context, keyID, nonce string, expires int64, l *limit) (draw, error) {
	w := &admission{id: newNonceID(keyID, nonce), expires: expires, limit: l, done: make(chan struct{})}
	if a.limited {
		w.bucket = l.bucket(keyID)
	}
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return draw{}, errShut
	}
	a.waiting = append(a.waiting, w)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		return draw{}, ctx.Err()
	}
	switch {
	case w.err != nil:
		return draw{}, fmt.Errorf("admit a request: %w", w.err)
	case w.replayed:
		return draw{}, fault.New(fault.ReplayDetected, "the nonce was used before").WithHint("send a fresh random nonce with every request, repetitions too")
	}
	return w.draw, nil
}

// run writes groups until the context ends.
func (a *admissions) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			a.close()
			return
		case <-a.wake:
		}
		for group := a.next(); len(group) > 0; group = a.next() {
			a.write(ctx, group)
		}
	}
}

// next takes a group from those who wait.
func (a *admissions) next() []*admission {
	a.mu.Lock()
	defer a.mu.Unlock()
	group := a.waiting
	if len(group) <= groupSize {
		a.waiting = nil
		return group
	}
	a.waiting = group[groupSize:]
	return group[:groupSize:groupSize]
}

// close refuses who waits and who comes.
func (a *admissions) close() {
	a.mu.Lock()
	a.closed = true
	group := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	settle(group, errShut)
}

// settle ends the waiting of a group.
func settle(group []*admission, err error) {
	for _, w := range group {
		w.err = err
		close(w.done)
	}
}

// errSeen ends the first try to write a group: some nonce of it was used before.
var errSeen = errors.New("a nonce was used before")

// write admits a group. It is first tried without asking which nonces were used before, because none is as a rule.
func (a *admissions) write(ctx context.Context, group []*admission) {
	ctx, cancel := context.WithTimeout(ctx, groupTime)
	defer cancel()
	fresh := firsts(group)
	err := a.try(ctx, fresh, false)
	if errors.Is(err, errSeen) {
		err = a.try(ctx, fresh, true)
	}
	settle(group, err)
}

// firsts are the admissions of a group in the order of their nonces, in which every process writes them. Where a nonce
// is there more than once, one is the first, and the others are marked as replayed.
func firsts(group []*admission) []*admission {
	fresh := slices.Clone(group)
	slices.SortStableFunc(fresh, func(a, b *admission) int { return bytes.Compare(a.id[:], b.id[:]) })
	n := 0
	for i, w := range fresh {
		if w.replayed = i > 0 && fresh[n-1].id == w.id; !w.replayed {
			fresh[n] = w
			n++
		}
	}
	return fresh[:n]
}

func (a *admissions) try(ctx context.Context, fresh []*admission, ask bool) error {
	return a.db.Tx(ctx, func(tx store.Tx) error {
		now := a.now()
		if err := insertNonces(ctx, tx, fresh, now.Unix(), ask); err != nil {
			return err
		}
		if !a.limited {
			return nil
		}
		return drawAll(ctx, tx, fresh, store.Micros(now))
	})
}

// insertNonces writes nonces. It fails with errSeen when some were used before, unless it is to ask which; those are
// marked then.
func insertNonces(ctx context.Context, tx store.Tx, fresh []*admission, now int64, ask bool) error {
	for part := range parts(fresh) {
		args := make([]any, 1, 1+2*len(part))
		args[0] = now
		for _, w := range part {
			args = append(args, w.id[:], w.expires)
		}
		query := nonceInserts[len(part)]
		if !ask {
			n, err := tx.Exec(ctx, query, args...)
			if err != nil {
				return err
			}
			if n != int64(len(part)) {
				return errSeen
			}
			continue
		}
		written, err := queryIDs(ctx, tx, query+" RETURNING id", args)
		if err != nil {
			return err
		}
		for _, w := range part {
			w.replayed = !written[w.id]
		}
	}
	return nil
}

func queryIDs(ctx context.Context, tx store.Tx, query string, args []any) (map[nonceID]bool, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[nonceID]bool{}
	for rows.Next() {
		var id []byte
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[nonceID(id)] = true
	}
	return ids, rows.Err()
}

// drawAll draws a token for each admission that is not replayed, in their order.
func drawAll(ctx context.Context, tx store.Tx, fresh []*admission, now int64) error {
	buckets := map[string]int64{}
	for _, w := range fresh {
		if !w.replayed {
			buckets[w.bucket] = 0
		}
	}
	names := slices.Sorted(maps.Keys(buckets))
	for part := range parts(names) {
		if err := readBuckets(ctx, tx, part, buckets); err != nil {
			return err
		}
	}
	changed := map[string]bool{}
	for _, w := range fresh {
		if w.replayed {
			continue
		}
		w.draw = w.limit.take(buckets[w.bucket], now)
		if w.draw.drawn {
			buckets[w.bucket], changed[w.bucket] = w.draw.full, true
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !changed[name] })
	for part := range parts(names) {
		args := make([]any, 0, 2*len(part))
		for _, name := range part {
			args = append(args, name, buckets[name])
		}
		if _, err := tx.Exec(ctx, bucketWrites[len(part)], args...); err != nil {
			return err
		}
	}
	return nil
}

func readBuckets(ctx context.Context, tx store.Tx, names []string, into map[string]int64) error {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	rows, err := tx.Query(ctx, bucketReads[len(names)], args...)
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

// sizes are the numbers of rows that statements are written for, so that there are few to prepare.
var sizes = [...]int{64, 16, 4, 1}

// parts cuts a list into parts of those sizes.
func parts[T any](list []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for _, size := range sizes {
			for ; len(list) >= size; list = list[size:] {
				if !yield(list[:size]) {
					return
				}
			}
		}
	}
}

// Statements by the number of rows.
var (
	nonceInserts = statements(func(n int) string {
		return `INSERT INTO partner_nonces (id, expires_at) VALUES ` + tuples(2, n, 2) +
			` ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at WHERE partner_nonces.expires_at < $1`
	})
	bucketReads = statements(func(n int) string {
		return `SELECT bucket, full_at FROM partner_limits WHERE bucket IN ` + tuples(1, 1, n)
	})
	bucketWrites = statements(func(n int) string {
		return `INSERT INTO partner_limits (bucket, full_at) VALUES ` + tuples(1, n, 2) +
			` ON CONFLICT (bucket) DO UPDATE SET full_at = excluded.full_at`
	})
)

func statements(text func(rows int) string) map[int]string {
	all := make(map[int]string, len(sizes))
	for _, n := range sizes {
		all[n] = text(n)
	}
	return all
}

// tuples is "($1, $2), ($3, $4)" for two rows of two columns from bind 1 on.
func tuples(first, rows, columns int) string {
	var b strings.Builder
	for row := range rows {
		if row > 0 {
			b.WriteString(", ")
		}
		for column := range columns {
			fmt.Fprintf(&b, "%c$%d", "(,"[min(column, 1)], first+row*columns+column)
		}
		b.WriteByte(')')
	}
	return b.String()
}

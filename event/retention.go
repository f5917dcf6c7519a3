package event

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// Retention returns the retention rules of this package's tables: events and, usually for a shorter time, deliveries. Both
// count by the real clock, not by a partner's test clock. Pending deliveries and their events stay.
func Retention(events, deliveries time.Duration) []sweep.Rule {
	return []sweep.Rule{
		{
			Table: "events", Kept: "400 days (`-keep-events`), and as long as they are to be sent; the last of a partner for ever", Keep: events,
			Age: "id", In: sweep.IDs(idPrefix), Plan: planEvents,
		},
		{
			Table: "webhook_deliveries", Kept: "90 days (`-keep-deliveries`) from their event on, no longer than it, and as long as they are to be sent",
			Keep: deliveries, Plan: planDeliveries,
		},
		{Table: "event_streams", Kept: "for ever: one row for each partner and environment"},
		{Table: "webhook_endpoints", Kept: "until the partner removes its webhook: one row for each partner and environment"},
	}
}

// A span is a range of numbers of a stream.
type span struct {
	stream      Stream
	first, last int64
}

// planEvents finds the oldest events. Only the first events of a stream are removed, so that its history has no gaps: those
// after an event with a pending delivery stay. The last event of a stream stays, so that an id of a removed event can be told
// from one that never existed.
func planEvents(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	bound := store.IDAt(idPrefix, over)
	spans, keeps := map[Stream]*span{}, map[Stream]int64{}
	for after := ""; len(spans) == 0; {
		page, err := eventsUpTo(ctx, tx, after, bound, limit)
		if err != nil || len(page) == 0 {
			return nil, err
		}
		after = page[len(page)-1].id
		for _, e := range page {
			keep, ok := keeps[e.stream]
			if !ok {
				if keep, err = firstKept(ctx, tx, e.stream); err != nil {
					return nil, err
				}
				keeps[e.stream] = keep
			}
			if e.number >= keep {
				continue
			}
			s := spans[e.stream]
			if s == nil {
				s = &span{e.stream, e.number, e.number}
				spans[e.stream] = s
			}
			s.first, s.last = min(s.first, e.number), max(s.last, e.number)
		}
	}
	ordered := slices.SortedFunc(maps.Keys(spans), Stream.compare)
	return func(ctx context.Context, tx store.Tx) (removed int64, err error) {
		for _, s := range ordered {
			n, err := removeEvents(ctx, tx, *spans[s])
			if err != nil {
				return 0, err
			}
			removed += n
		}
		return removed, nil
	}, nil
}

// A place identifies an event by its id and by its number in the stream.
type place struct {
	id     string
	stream Stream
	number int64
}

// eventsUpTo reads the places of events, ordered by id.
func eventsUpTo(ctx context.Context, tx store.Tx, after, bound string, limit int) ([]place, error) {
	scan := func(rows *sql.Rows) (e place, err error) {
		err = rows.Scan(&e.id, &e.stream.Partner, &e.stream.Environment, &e.number)
		return e, err
	}
	return store.Collect(ctx, tx, scan,
		`SELECT id, partner, environment, number FROM events WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3`, after, bound, limit)
}

// firstKept returns the number of the first event of the stream that must stay whatever its age: one with a pending delivery,
// or else the last.
func firstKept(ctx context.Context, tx store.Tx, s Stream) (number int64, err error) {
	err = tx.QueryRow(ctx, `
		SELECT COALESCE(
			(SELECT MIN(number) FROM webhook_deliveries WHERE partner = $1 AND environment = $2 AND status = 'pending'),
			(SELECT MAX(number) FROM events WHERE partner = $1 AND environment = $2), 0)`, s.Partner, s.Environment).Scan(&number)
	return number, err
}

// removeEvents removes events with their deliveries, unless one has become pending meanwhile.
func removeEvents(ctx context.Context, tx store.Tx, s span) (int64, error) {
	var pending bool
	err := tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE partner = $1 AND environment = $2 AND status = 'pending' AND number <= $3)`,
		s.stream.Partner, s.stream.Environment, s.last).Scan(&pending)
	if err != nil || pending {
		return 0, err
	}
	const those = ` WHERE partner = $1 AND environment = $2 AND number BETWEEN $3 AND $4`
	args := []any{s.stream.Partner, s.stream.Environment, s.first, s.last}
	if _, err := tx.Exec(ctx, `DELETE FROM webhook_deliveries`+those, args...); err != nil {
		return 0, fmt.Errorf("remove the deliveries of events: %w", err)
	}
	return tx.Exec(ctx, `DELETE FROM events`+those, args...)
}

// planDeliveries finds the oldest expired deliveries of streams, up to limit in total.
func planDeliveries(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	firsts, err := firstDeliveries(ctx, tx)
	if err != nil {
		return nil, err
	}
	bound := store.IDAt(idPrefix, over)
	var spans []span
	for _, first := range firsts {
		found, n, err := deliveriesUpTo(ctx, tx, first, bound, limit)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		spans = append(spans, found)
		if limit -= n; limit <= 0 {
			break
		}
	}
	if len(spans) == 0 {
		return nil, nil
	}
	return func(ctx context.Context, tx store.Tx) (removed int64, err error) {
		for _, s := range spans {
			n, err := tx.Exec(ctx, `
				DELETE FROM webhook_deliveries
				WHERE partner = $1 AND environment = $2 AND number BETWEEN $3 AND $4 AND status <> 'pending'`,
				s.stream.Partner, s.stream.Environment, s.first, s.last)
			if err != nil {
				return 0, err
			}
			removed += n
		}
		return removed, nil
	}, nil
}

// firstDeliveries reads the first delivery of each stream that is not pending.
func firstDeliveries(ctx context.Context, tx store.Tx) (all []place, err error) {
	read := func(rows *sql.Rows) error {
		var p place
		var number sql.NullInt64
		err := rows.Scan(&p.stream.Partner, &p.stream.Environment, &number)
		if p.number = number.Int64; number.Valid {
			all = append(all, p)
		}
		return err
	}
	err = store.Each(ctx, tx, read, `
		SELECT s.partner, s.environment, (
			SELECT d.number FROM webhook_deliveries d
			WHERE d.partner = s.partner AND d.environment = s.environment AND d.status <> 'pending' ORDER BY d.number LIMIT 1)
		FROM event_streams s ORDER BY s.partner, s.environment`)
	return all, err
}

// deliveriesUpTo finds the first deliveries of a stream whose events have ids up to bound, and at most how many there are.
func deliveriesUpTo(ctx context.Context, tx store.Tx, first place, bound string, limit int) (found span, n int, err error) {
	rows, err := tx.Query(ctx, `
		SELECT number, id FROM events WHERE partner = $1 AND environment = $2 AND number >= $3 ORDER BY number LIMIT $4`,
		first.stream.Partner, first.stream.Environment, first.number, limit)
	if err != nil {
		return span{}, 0, err
	}
	defer rows.Close()
	found = span{stream: first.stream, first: first.number}
	for rows.Next() {
		var id string
		var number int64
		if err := rows.Scan(&number, &id); err != nil {
			return span{}, 0, err
		}
		if id > bound {
			break
		}
		found.last = number
		n++
	}
	return found, n, rows.Err()
}

package event

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

// Retention says how long the rows of this package's tables live: events and, for a shorter time usually, what became of
// sending them. Both go by the real clock, which a partner's test clock runs ahead of. What is still to be sent is kept.
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

// A span is neighbouring numbers of a stream.
type span struct {
	stream      Stream
	first, last int64
}

// planEvents finds the oldest events. A stream loses its first events only, so that its history has no gaps: an event
// that is to be sent keeps all that follow it. The last event of a stream stays, by which one that was removed is told
// from one that never was.
func planEvents(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	rows, err := tx.Query(ctx, `
		SELECT partner, environment, number FROM events e
		WHERE id <= $1
			AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d
				WHERE d.partner = e.partner AND d.environment = e.environment AND d.status = 'pending' AND d.number <= e.number)
			AND EXISTS (SELECT 1 FROM events f WHERE f.partner = e.partner AND f.environment = e.environment AND f.number > e.number)
		ORDER BY id LIMIT $2`, store.IDAt(idPrefix, over), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var spans []span
	for rows.Next() {
		var s Stream
		var number int64
		if err := rows.Scan(&s.Partner, &s.Environment, &number); err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(spans, func(one span) bool { return one.stream == s }); i >= 0 {
			spans[i].first, spans[i].last = min(spans[i].first, number), max(spans[i].last, number)
			continue
		}
		spans = append(spans, span{s, number, number})
	}
	if len(spans) == 0 {
		return nil, rows.Err()
	}
	slices.SortFunc(spans, func(a, b span) int { return a.stream.compare(b.stream) })
	return func(ctx context.Context, tx store.Tx) (removed int64, err error) {
		for _, s := range spans {
			n, err := removeEvents(ctx, tx, s)
			if err != nil {
				return 0, err
			}
			removed += n
		}
		return removed, nil
	}, rows.Err()
}

// removeEvents removes events with their deliveries, unless one has become due to be sent again meanwhile.
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

// planDeliveries finds the first deliveries of some stream that are over.
func planDeliveries(ctx context.Context, tx store.Tx, over time.Time, limit int) (sweep.Removal, error) {
	const joined = `
		FROM webhook_deliveries d JOIN events e ON e.partner = d.partner AND e.environment = d.environment AND e.number = d.number
		WHERE d.status <> 'pending' AND d.partner = `
	bound := store.IDAt(idPrefix, over)
	var s Stream
	err := tx.QueryRow(ctx, `
		SELECT s.partner, s.environment FROM event_streams s
		WHERE (SELECT e.id `+joined+` s.partner AND d.environment = s.environment ORDER BY d.number LIMIT 1) <= $1 LIMIT 1`, bound).
		Scan(&s.Partner, &s.Environment)
	if store.IsNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT d.number, e.id `+joined+`$1 AND d.environment = $2 ORDER BY d.number LIMIT $3`,
		s.Partner, s.Environment, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := span{stream: s}
	for rows.Next() {
		var number int64
		var id string
		if err := rows.Scan(&number, &id); err != nil {
			return nil, err
		}
		if id > bound {
			break
		}
		if found.first == 0 {
			found.first = number
		}
		found.last = number
	}
	return func(ctx context.Context, tx store.Tx) (int64, error) {
		return tx.Exec(ctx, `
			DELETE FROM webhook_deliveries
			WHERE partner = $1 AND environment = $2 AND number BETWEEN $3 AND $4 AND status <> 'pending'`,
			s.Partner, s.Environment, found.first, found.last)
	}, rows.Err()
}

package event

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/store"
)

// nextNumber takes the next number of the stream, whose row is locked until tx ends, and reports whether the stream has an
// active endpoint. The time of the event is at, or that of the event before if that is later.
func nextNumber(ctx context.Context, tx store.Tx, s Stream, at time.Time) (number int64, when time.Time, sends bool, err error) {
	return nextNumbers(ctx, tx, s, 1, at)
}

// nextNumbers is nextNumber for several events; it returns the last of their numbers.
func nextNumbers(ctx context.Context, tx store.Tx, s Stream, n int, at time.Time) (last int64, when time.Time, sends bool, err error) {
	var flag, micros int64
	err = tx.QueryRow(ctx, `
		INSERT INTO event_streams (partner, environment, last, last_at) VALUES ($1, $2, $4, $3)
		ON CONFLICT (partner, environment) DO UPDATE SET last = event_streams.last + $4,
			last_at = CASE WHEN event_streams.last_at < excluded.last_at THEN excluded.last_at ELSE event_streams.last_at END
		RETURNING last, last_at, sends`, s.Partner, s.Environment, store.Micros(at), n).Scan(&last, &micros, &flag)
	return last, store.Time(micros), flag == 1, err
}

func insertEvent(ctx context.Context, tx store.Tx, s Stream, number int64, e Event) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO events (partner, environment, number, id, type, data, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		s.Partner, s.Environment, number, e.ID, e.Type, string(e.Data), store.Micros(e.CreatedAt))
	return err
}

// insertEvents adds events numbered from first on.
func insertEvents(ctx context.Context, tx store.Tx, s Stream, first int64, all []Event, at time.Time) error {
	rows := make([][]any, len(all))
	for i, e := range all {
		rows[i] = []any{s.Partner, s.Environment, first + int64(i), e.ID, e.Type, string(e.Data), store.Micros(at)}
	}
	_, err := store.InsertAll(ctx, tx, `INSERT INTO events (partner, environment, number, id, type, data, created_at)`, "", rows)
	return err
}

// insertDeliveries has the events with the numbers from first to last sent.
func insertDeliveries(ctx context.Context, tx store.Tx, s Stream, first, last int64, due time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_deliveries (partner, environment, number, status, attempt, retries, due_at, claimed_until, attempts)
		SELECT partner, environment, number, 'pending', 0, 0, $5, 0, '[]' FROM events
		WHERE partner = $1 AND environment = $2 AND number BETWEEN $3 AND $4`,
		s.Partner, s.Environment, first, last, store.Micros(due))
	return err
}

func insertDelivery(ctx context.Context, tx store.Tx, s Stream, number int64, due time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_deliveries (partner, environment, number, status, attempt, retries, due_at, claimed_until, attempts)
		VALUES ($1, $2, $3, 'pending', 0, 0, $4, 0, '[]')`,
		s.Partner, s.Environment, number, store.Micros(due))
	return err
}

// numberOf finds the number of an event of the stream.
func numberOf(ctx context.Context, tx store.Tx, s Stream, id string) (number int64, found bool, err error) {
	if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return 0, false, nil // PostgreSQL fails for text that it could not have stored
	}
	err = tx.QueryRow(ctx, `SELECT number FROM events WHERE id = $1 AND partner = $2 AND environment = $3`,
		id, s.Partner, s.Environment).Scan(&number)
	if store.IsNoRows(err) {
		return 0, false, nil
	}
	return number, err == nil, err
}

// firstOf returns the first stored event of the stream; number 0: there is none.
func firstOf(ctx context.Context, tx store.Tx, s Stream) (id string, number int64, err error) {
	err = tx.QueryRow(ctx, `SELECT id, number FROM events WHERE partner = $1 AND environment = $2 ORDER BY number LIMIT 1`,
		s.Partner, s.Environment).Scan(&id, &number)
	if store.IsNoRows(err) {
		return "", 0, nil
	}
	return id, number, err
}

func eventsAfter(ctx context.Context, tx store.Tx, s Stream, number int64, limit int) ([]Event, error) {
	scan := func(rows *sql.Rows) (Event, error) {
		_, e, err := s.scanEvent(rows)
		return e, err
	}
	return store.Collect(ctx, tx, scan, selectEvents+`partner = $1 AND environment = $2 AND number > $3 ORDER BY number LIMIT $4`,
		s.Partner, s.Environment, number, limit)
}

// eventsOf reads the events of the stream with the numbers, which are sorted.
func eventsOf(ctx context.Context, tx store.Tx, s Stream, numbers []int64) (map[int64]Event, error) {
	all := make(map[int64]Event, len(numbers))
	err := inParts(numbers, func(part []int64) error {
		among, args := s.among(part)
		read := func(rows *sql.Rows) error {
			number, e, err := s.scanEvent(rows)
			all[number] = e
			return err
		}
		return store.Each(ctx, tx, read, selectEvents+among, args...)
	})
	return all, err
}

const selectEvents = `SELECT number, id, type, data, created_at FROM events WHERE `

// scanEvent reads a row of selectEvents.
func (s Stream) scanEvent(rows *sql.Rows) (number int64, e Event, err error) {
	var created int64
	e.Partner = s.Partner
	err = rows.Scan(&number, &e.ID, &e.Type, (*text)(&e.Data), &created)
	e.CreatedAt = store.Time(created)
	return number, e, err
}

// text scans a TEXT column into a copy of its bytes.
type text json.RawMessage

// Scan implements [sql.Scanner].
func (t *text) Scan(value any) error {
	switch v := value.(type) {
	case string:
		*t = text(v)
	case []byte:
		*t = append(text(nil), v...)
	default:
		return fmt.Errorf("a %T where text was stored", value)
	}
	return nil
}

// An endpointRow is a stored endpoint, with columns of its stream.
type endpointRow struct {
	url           string
	secret        []byte // sealed
	previous      []byte // sealed; empty: none
	previousUntil time.Time
	created       time.Time
	active        bool
	advanced      time.Duration
}

// endpointOf reads the endpoint of the stream.
func endpointOf(ctx context.Context, tx store.Tx, s Stream) (r endpointRow, found bool, err error) {
	var until, created, sends, advanced int64
	err = tx.QueryRow(ctx, `
		SELECT e.url, e.secret, e.previous, e.previous_until, e.created_at, s.sends, s.advanced
		FROM webhook_endpoints e JOIN event_streams s ON s.partner = e.partner AND s.environment = e.environment
		WHERE e.partner = $1 AND e.environment = $2`, s.Partner, s.Environment).
		Scan(&r.url, &r.secret, &r.previous, &until, &created, &sends, &advanced)
	if store.IsNoRows(err) {
		return endpointRow{}, false, nil
	}
	r.previousUntil, r.created, r.active = store.Time(until), store.Time(created), sends == 1
	r.advanced = time.Duration(advanced) * time.Microsecond
	return r, err == nil, err
}

// putEndpoint stores the endpoint, with now as the time of the last success.
func putEndpoint(ctx context.Context, tx store.Tx, s Stream, r endpointRow, now time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO webhook_endpoints (partner, environment, url, secret, previous, previous_until, success_at, failed_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)
		ON CONFLICT (partner, environment) DO UPDATE SET url = excluded.url, secret = excluded.secret,
			previous = excluded.previous, previous_until = excluded.previous_until, success_at = excluded.success_at`,
		s.Partner, s.Environment, r.url, r.secret, append([]byte{}, r.previous...), store.Micros(r.previousUntil), store.Micros(now), store.Micros(r.created))
	return err
}

// startStream creates the stream or enables its deliveries, and returns how far its clock is ahead.
func startStream(ctx context.Context, tx store.Tx, s Stream) (time.Duration, error) {
	var advanced int64
	err := tx.QueryRow(ctx, `
		INSERT INTO event_streams (partner, environment, last, sends) VALUES ($1, $2, 0, 1)
		ON CONFLICT (partner, environment) DO UPDATE SET sends = 1
		RETURNING advanced`, s.Partner, s.Environment).Scan(&advanced)
	return time.Duration(advanced) * time.Microsecond, err
}

// stopStream disables the deliveries of the stream, and cancels the pending ones.
func stopStream(ctx context.Context, tx store.Tx, s Stream) error {
	if _, err := tx.Exec(ctx, `UPDATE event_streams SET sends = 0 WHERE partner = $1 AND environment = $2`, s.Partner, s.Environment); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		UPDATE webhook_deliveries SET status = 'failed', claimed_until = 0
		WHERE partner = $1 AND environment = $2 AND status = 'pending'`, s.Partner, s.Environment)
	return err
}

// deleteEndpoint deletes the endpoint of the stream, and reports whether there was one.
func deleteEndpoint(ctx context.Context, tx store.Tx, s Stream) (found bool, err error) {
	n, err := tx.Exec(ctx, `DELETE FROM webhook_endpoints WHERE partner = $1 AND environment = $2`, s.Partner, s.Environment)
	return n > 0, err
}

// disable disables the endpoint if a delivery failed finally and none has succeeded for [disableAfter], and reports
// whether it did.
func disable(ctx context.Context, tx store.Tx, s Stream, now time.Time) (off bool, err error) {
	var one int
	err = tx.QueryRow(ctx, `
		SELECT 1 FROM webhook_endpoints e JOIN event_streams s ON s.partner = e.partner AND s.environment = e.environment
		WHERE e.partner = $1 AND e.environment = $2 AND s.sends = 1 AND e.failed_at > e.success_at AND e.success_at <= $3`,
		s.Partner, s.Environment, store.Micros(now.Add(-disableAfter))).Scan(&one)
	if store.IsNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, stopStream(ctx, tx, s)
}

// advance moves the due times of the stream, and the times from which they are measured, back by a duration.
func advance(ctx context.Context, tx store.Tx, s Stream, by time.Duration) error {
	for _, query := range []string{
		`
		INSERT INTO event_streams (partner, environment, last, advanced) VALUES ($1, $2, 0, CAST($3 AS BIGINT))
		ON CONFLICT (partner, environment) DO UPDATE SET advanced = event_streams.advanced + excluded.advanced`, `
		UPDATE webhook_endpoints SET previous_until = previous_until - CAST($3 AS BIGINT),
			success_at = success_at - CAST($3 AS BIGINT), failed_at = failed_at - CAST($3 AS BIGINT)
		WHERE partner = $1 AND environment = $2`, `
		UPDATE webhook_deliveries SET due_at = due_at - CAST($3 AS BIGINT)
		WHERE partner = $1 AND environment = $2 AND status = 'pending'`,
	} {
		if _, err := tx.Exec(ctx, query, s.Partner, s.Environment, by.Microseconds()); err != nil {
			return err
		}
	}
	return nil
}

// A deliveryRow is a stored delivery, with its event.
type deliveryRow struct {
	number   int64
	event    Event
	status   Status
	attempt  int
	retries  int
	due      time.Time
	attempts []Attempt
}

// deliveries reads the deliveries of the stream that a condition selects, and then their events: with a join, PostgreSQL with
// old statistics would read the stream once for each row.
func deliveries(ctx context.Context, tx store.Tx, s Stream, where string, args ...any) ([]deliveryRow, error) {
	all, err := store.Collect(ctx, tx, scanDelivery, `
		SELECT number, status, attempt, retries, due_at, attempts FROM webhook_deliveries
		WHERE partner = $1 AND environment = $2 AND `+where, append([]any{s.Partner, s.Environment}, args...)...)
	if err != nil {
		return nil, err
	}
	numbers := make([]int64, len(all))
	for i, r := range all {
		numbers[i] = r.number
	}
	slices.Sort(numbers)
	events, err := eventsOf(ctx, tx, s, numbers)
	for i, r := range all {
		all[i].event = events[r.number]
	}
	return all, err
}

func scanDelivery(rows *sql.Rows) (deliveryRow, error) {
	var r deliveryRow
	var due int64
	var attempts []byte
	if err := rows.Scan(&r.number, &r.status, &r.attempt, &r.retries, &due, (*text)(&attempts)); err != nil {
		return deliveryRow{}, err
	}
	if err := json.Unmarshal(attempts, &r.attempts); err != nil {
		return deliveryRow{}, fmt.Errorf("read the attempts of a delivery: %w", err)
	}
	r.due = store.Time(due)
	return r, nil
}

// dueDeliveries reads the due deliveries of the stream that are not claimed, the longest due first.
func dueDeliveries(ctx context.Context, tx store.Tx, s Stream, now time.Time, limit int) ([]deliveryRow, error) {
	return deliveries(ctx, tx, s, `status = 'pending' AND due_at <= $3 AND claimed_until <= $3
		ORDER BY due_at, number LIMIT $4`, store.Micros(now), limit)
}

// parts are the sizes of lists in statements: a few, so that few statements are prepared.
var parts = []int{64, 16, 4, 1}

// inParts calls do for the list in parts of these sizes.
func inParts[E any](list []E, do func(part []E) error) error {
	for _, size := range parts {
		for len(list) >= size {
			if err := do(list[:size]); err != nil {
				return err
			}
			list = list[size:]
		}
	}
	return nil
}

// claim claims deliveries of the stream until a time, and returns the numbers of those that no other process has claimed
// meanwhile. Numbers are sorted.
func claim(ctx context.Context, tx store.Tx, s Stream, numbers []int64, now, until time.Time) (got map[int64]bool, err error) {
	got = make(map[int64]bool, len(numbers))
	err = inParts(numbers, func(part []int64) error {
		among, args := s.among(part, store.Micros(until), store.Micros(now))
		claimed, err := store.Collect(ctx, tx, store.ScanOne[int64], `
			UPDATE webhook_deliveries SET claimed_until = $1
			WHERE `+among+` AND status = 'pending' AND claimed_until <= $2
			RETURNING number`, args...)
		for _, n := range claimed {
			got[n] = true
		}
		return err
	})
	return got, err
}

// unclaim releases claims. Numbers are sorted.
func unclaim(ctx context.Context, tx store.Tx, s Stream, numbers []int64) error {
	return inParts(numbers, func(part []int64) error {
		among, args := s.among(part)
		_, err := tx.Exec(ctx, `UPDATE webhook_deliveries SET claimed_until = 0 WHERE `+among, args...)
		return err
	})
}

// among returns the condition that selects the numbers of the stream, which are sorted, and its arguments appended to args. It
// includes their range, since PostgreSQL without statistics would read the whole stream for a list.
func (s Stream) among(numbers []int64, args ...any) (where string, all []any) {
	n := len(args) + 1
	all = append(args, s.Partner, s.Environment, numbers[0], numbers[len(numbers)-1])
	for _, number := range numbers {
		all = append(all, number)
	}
	where = fmt.Sprintf(`partner = $%d AND environment = $%d AND number BETWEEN $%d AND $%d AND number IN (%s)`,
		n, n+1, n+2, n+3, store.Binds(n+4, len(numbers)))
	return where, all
}

// settle writes the outcomes of attempts. A failure does not change a delivery that is no longer pending: its endpoint was
// removed, or another process has delivered it.
func settle(ctx context.Context, tx store.Tx, all []outcome) error {
	return inParts(all, func(part []outcome) error {
		const columns = 8
		var values strings.Builder
		args := make([]any, 0, columns*len(part))
		for i, o := range part {
			if i > 0 {
				values.WriteString(`), (`)
			}
			values.WriteString(typed(len(args)+1, columns))
			attempts, err := json.Marshal(o.attempts)
			if err != nil {
				return err
			}
			args = append(args, o.stream.Partner, o.stream.Environment, string(o.status), string(attempts),
				o.number, o.attempt, o.retries, store.Micros(o.due))
		}
		_, err := tx.Exec(ctx, `
			WITH o (partner, environment, status, attempts, number, attempt, retries, due_at) AS (VALUES (`+values.String()+`))
			UPDATE webhook_deliveries AS d SET status = o.status, attempts = o.attempts, attempt = o.attempt,
				retries = o.retries, due_at = o.due_at, claimed_until = 0
			FROM o
			WHERE d.partner = o.partner AND d.environment = o.environment AND d.number = o.number
				AND (d.status = 'pending' OR o.status = 'delivered')`, args...)
		return err
	})
}

// touch stores when a delivery of the stream succeeded or failed finally; a zero time changes nothing.
func touch(ctx context.Context, tx store.Tx, s Stream, success, failure time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_endpoints SET
			success_at = CASE WHEN success_at < $3 THEN $3 ELSE success_at END,
			failed_at = CASE WHEN failed_at < $4 THEN $4 ELSE failed_at END
		WHERE partner = $1 AND environment = $2`, s.Partner, s.Environment, store.Micros(success), store.Micros(failure))
	return err
}

// redeliver makes a delivery due. A pending one keeps its count of retries; for another it starts again.
func redeliver(ctx context.Context, tx store.Tx, s Stream, number int64, now time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE webhook_deliveries SET status = 'pending', due_at = $4,
			retries = CASE WHEN status = 'pending' THEN retries ELSE 0 END
		WHERE partner = $1 AND environment = $2 AND number = $3`, s.Partner, s.Environment, number, store.Micros(now))
	return err
}

// dueStreams finds the streams with deliveries due.
func dueStreams(ctx context.Context, tx store.Tx, now time.Time) ([]Stream, error) {
	return streams(ctx, tx, `
		SELECT s.partner, s.environment FROM event_streams s
		WHERE s.sends = 1 AND EXISTS (
			SELECT 1 FROM webhook_deliveries d
			WHERE d.partner = s.partner AND d.environment = s.environment AND d.status = 'pending'
				AND d.due_at <= $1 AND d.claimed_until <= $1)`, store.Micros(now))
}

// dueToDisable finds the streams whose endpoints [disable] would disable.
func dueToDisable(ctx context.Context, tx store.Tx, now time.Time) ([]Stream, error) {
	return streams(ctx, tx, `
		SELECT s.partner, s.environment
		FROM event_streams s JOIN webhook_endpoints e ON e.partner = s.partner AND e.environment = s.environment
		WHERE s.sends = 1 AND e.failed_at > e.success_at AND e.success_at <= $1`, store.Micros(now.Add(-disableAfter)))
}

func streams(ctx context.Context, tx store.Tx, query string, args ...any) ([]Stream, error) {
	scan := func(rows *sql.Rows) (s Stream, err error) {
		err = rows.Scan(&s.Partner, &s.Environment)
		return s, err
	}
	return store.Collect(ctx, tx, scan, query, args...)
}

// typed is [store.Binds] for a row of settle, with the casts that PostgreSQL needs: four texts, then numbers.
func typed(first, n int) string {
	var b strings.Builder
	for i := range n {
		typ := "TEXT"
		if i >= 4 {
			typ = "BIGINT"
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "CAST($%d AS %s)", first+i, typ)
	}
	return b.String()
}

// advancedOf returns how far the stream's clock is ahead.
func advancedOf(ctx context.Context, tx store.Tx, s Stream) (time.Duration, error) {
	var advanced int64
	err := tx.QueryRow(ctx, `SELECT advanced FROM event_streams WHERE partner = $1 AND environment = $2`,
		s.Partner, s.Environment).Scan(&advanced)
	if store.IsNoRows(err) {
		return 0, nil
	}
	return time.Duration(advanced) * time.Microsecond, err
}

package event

import (
	"context"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// A Status is the state of a delivery.
type Status string

// The states of a delivery.
const (
	Pending   Status = "pending"   // waits for the first or another attempt
	Delivered Status = "delivered" // the endpoint accepted it
	Failed    Status = "failed"    // the retries are used up, or the endpoint was removed or disabled
)

// A Delivery is the delivery of an event to the endpoint.
type Delivery struct {
	ID        string    `json:"delivery_id"`
	EventID   string    `json:"event_id"`
	EventType string    `json:"event_type"`
	Status    Status    `json:"status"`
	Attempts  []Attempt `json:"attempts"` // the last MaxAttempts
	NextTryAt time.Time `json:"next_try_at,omitzero"`
}

// An Attempt is the result of sending an event once.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code,omitzero"` // of the answer, if there was one
	Error      string    `json:"error,omitzero"`       // why there was no answer
	LatencyMS  int64     `json:"latency_ms"`
}

// MaxAttempts is how many attempts of a delivery are stored; the schedule makes ten.
const MaxAttempts = 20

// A DeliveryFilter selects deliveries. The zero DeliveryFilter selects the latest ones of every status.
type DeliveryFilter struct {
	Status Status // empty: all
	Cursor string // from the previous page; empty: the first page
	Limit  int    // 0: DefaultPage
}

// Deliveries returns the deliveries of the stream, the latest events first, and the cursor of the next page, which is empty at
// the end. It fails with [fault.Validation] on status, cursor and limit, and with [fault.Gone] for a cursor of a removed event.
func (l *Log) Deliveries(ctx context.Context, s Stream, f DeliveryFilter) (page []Delivery, next string, err error) {
	limit, err := pageSize(f.Limit)
	if err != nil {
		return nil, "", err
	}
	switch f.Status {
	case "", Pending, Delivered, Failed:
	default:
		return nil, "", fault.Invalid("status", "must be %s, %s or %s", Pending, Delivered, Failed)
	}
	var rows []deliveryRow
	var advanced time.Duration
	err = l.cfg.DB.Read(ctx, func(tx store.Tx) error {
		before := int64(1) << 62
		if f.Cursor != "" {
			var found bool
			if before, found, err = numberOf(ctx, tx, s, eventID(f.Cursor)); err != nil {
				return err
			} else if !found {
				return l.missing(ctx, tx, s, "cursor", "must be the next_cursor of another page", eventID(f.Cursor))
			}
		}
		if advanced, err = advancedOf(ctx, tx, s); err != nil {
			return err
		}
		rows, err = deliveries(ctx, tx, s, `number < $3 AND ($4 = '' OR status = $4) ORDER BY number DESC LIMIT $5`,
			before, string(f.Status), limit+1)
		return err
	})
	if err != nil {
		return nil, "", fault.Wrap("read deliveries", err)
	}
	page = make([]Delivery, 0, len(rows))
	for _, r := range rows {
		page = append(page, r.delivery(advanced))
	}
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].ID
	}
	return page, next, nil
}

// Redeliver sends an event again at once, whatever the status of its delivery, and returns the delivery. If the endpoint does
// not accept it, the retries start again. It fails with [fault.NotFound] for an id that is not of the stream and without an
// endpoint, and with [fault.Conflict] if the endpoint is disabled.
func (l *Log) Redeliver(ctx context.Context, s Stream, id string) (d Delivery, err error) {
	err = l.cfg.DB.Tx(ctx, func(tx store.Tx) (err error) {
		d, err = l.RedeliverIn(ctx, tx, s, id)
		return err
	})
	if err != nil {
		return Delivery{}, fault.Wrap("deliver again", err)
	}
	l.Wake(s)
	return d, nil
}

// RedeliverIn is [Log.Redeliver] in the caller's transaction. After the commit, call [Log.Wake] to send the event at once.
func (l *Log) RedeliverIn(ctx context.Context, tx store.Tx, s Stream, id string) (Delivery, error) {
	row, err := activeEndpoint(ctx, tx, s)
	if err != nil {
		return Delivery{}, err
	}
	missing := fault.New(fault.NotFound, "no such delivery")
	number, found, err := numberOf(ctx, tx, s, eventID(id))
	if err != nil {
		return Delivery{}, err
	} else if !found {
		return Delivery{}, missing
	}
	if err := redeliver(ctx, tx, s, number, l.cfg.Now()); err != nil {
		return Delivery{}, err
	}
	rows, err := deliveries(ctx, tx, s, `number = $3`, number)
	if err != nil {
		return Delivery{}, err
	} else if len(rows) == 0 { // the event was appended before there was an endpoint
		return Delivery{}, missing
	}
	return rows[0].delivery(row.advanced), l.audit(ctx, tx, s, "webhook.redeliver", id, map[string]any{})
}

// The id of a delivery is that of its event with another prefix.
const (
	eventPrefix    = "evt_"
	deliveryPrefix = "dlv_"
)

func deliveryID(event string) string { return deliveryPrefix + strings.TrimPrefix(event, eventPrefix) }

// eventID is the id of the event of a delivery; empty for an id of another kind.
func eventID(delivery string) string {
	rest, ok := strings.CutPrefix(delivery, deliveryPrefix)
	if !ok {
		return ""
	}
	return eventPrefix + rest
}

// delivery is the row as the partner sees it, whose test clock is ahead by advanced.
func (r deliveryRow) delivery(advanced time.Duration) Delivery {
	d := Delivery{
		ID: deliveryID(r.event.ID), EventID: r.event.ID, EventType: r.event.Type, Status: r.status, Attempts: r.attempts,
	}
	if d.Attempts == nil {
		d.Attempts = []Attempt{}
	}
	if d.Status == Pending {
		d.NextTryAt = r.due.Add(advanced)
	}
	return d
}

// Package event is the ordered event log of each partner and its delivery to webhooks: an outbox and a dispatcher.
//
// An event is appended in the transaction of the change that causes it, so that both commit or neither does. Its number
// comes from a row of its stream, which the transaction locks until it commits. Events therefore become visible in
// their order, and a reader that follows [Log.History] never misses one.
//
// A stream has at most one webhook endpoint. Appending an event to a stream with an endpoint makes a delivery, in the
// same transaction. The dispatcher ([Log.Deliver]) attempts it until the endpoint accepts it or the retries are used up.
// Any number of processes may run a dispatcher on one database: each claims deliveries for a short time, so that other
// processes take over the work of one that dies. Delivery is at least once.
//
// Due times are stored by the real clock. When a partner advances its test clock, [Log.Advance] moves the due times of its
// stream by as much. Partners see times of their own clock.
package event

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
)

// A Stream names the events of one partner in one environment.
type Stream struct {
	Partner     string
	Environment string
}

// An Event is an event as [Log.History] returns it and webhooks receive it.
type Event struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	CreatedAt time.Time       `json:"created_at"`
	Partner   string          `json:"partner_id"`
	Data      json.RawMessage `json:"data"`
}

// idPrefix marks the ids of events.
const idPrefix = "evt"

// TestType is the type of the events that [Log.Test] makes.
const TestType = "webhook.test"

// Config configures [New]. DB and Secrets are required.
type Config struct {
	DB      *store.DB
	Secrets store.Sealer     // encrypts the secrets of webhooks
	Now     func() time.Time // nil: the store's clock
	Logger  *slog.Logger     // of the dispatcher; nil: silent

	// Audit records changes of webhooks, in their transaction; nil: they are not recorded.
	Audit func(ctx context.Context, tx store.Tx, s Stream, action, subject string, details map[string]any) error

	Allow    []netip.Prefix // non-public addresses that webhooks may reach, those on loopback also without TLS
	RootCAs  *x509.CertPool // nil: the system's
	Resolver *net.Resolver  // nil: the system's
}

// A Log stores the events of all streams and sends them. It is safe for concurrent use.
type Log struct {
	cfg Config
	out *egress.Client

	wake  chan struct{} // of capacity 1: woken is not empty
	mu    sync.Mutex
	woken map[Stream]struct{}
}

// New returns the log. It panics if cfg is not complete.
func New(cfg Config) *Log {
	if cfg.DB == nil || cfg.Secrets == nil {
		panic("event: the configuration is not complete")
	}
	if cfg.Now == nil {
		cfg.Now = cfg.DB.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Log{
		cfg: cfg, out: newClient(cfg),
		wake: make(chan struct{}, 1), woken: map[Stream]struct{}{},
	}
}

// Append adds an event to the stream in tx, with data as JSON, and creates its delivery if the stream has an active endpoint.
// The time at is by the partner's clock. No event is earlier than the one before it, even if the clocks of processes differ.
// Until tx ends no other transaction can append to the stream, so call Append last in tx. After the commit, call [Log.Wake]
// to send the event at once.
func (l *Log) Append(ctx context.Context, tx store.Tx, s Stream, typ string, data any, at time.Time) (Event, error) {
	e, err := newEvent(s, typ, data, at)
	if err != nil {
		return Event{}, err
	}
	return l.AppendEvent(ctx, tx, s, e)
}

// newEvent makes an event to append.
func newEvent(s Stream, typ string, data any, at time.Time) (Event, error) {
	text, err := json.Marshal(data)
	if err != nil {
		return Event{}, fmt.Errorf("encode a %s event: %w", typ, err)
	}
	return Event{ID: store.NewID(idPrefix), Type: typ, CreatedAt: at, Partner: s.Partner, Data: text}, nil
}

// AppendEvent is [Log.Append] for an event of [Log.TestIn]. It returns the stored event.
func (l *Log) AppendEvent(ctx context.Context, tx store.Tx, s Stream, e Event) (Event, error) {
	number, at, sends, err := nextNumber(ctx, tx, s, e.CreatedAt)
	if err == nil {
		e.CreatedAt = at
		err = insertEvent(ctx, tx, s, number, e)
	}
	if err == nil && sends {
		err = insertDelivery(ctx, tx, s, number, l.cfg.Now())
	}
	if err != nil {
		return Event{}, fmt.Errorf("append a %s event: %w", e.Type, err)
	}
	return e, nil
}

// AppendAll is [Log.Append] for several events of one type, in their order.
func (l *Log) AppendAll(ctx context.Context, tx store.Tx, s Stream, typ string, data []any, at time.Time) error {
	if len(data) == 0 {
		return nil
	}
	all := make([]Event, len(data))
	for i, d := range data {
		var err error
		if all[i], err = newEvent(s, typ, d, at); err != nil {
			return err
		}
	}
	last, when, sends, err := nextNumbers(ctx, tx, s, len(all), at)
	if err == nil {
		err = insertEvents(ctx, tx, s, last-int64(len(all))+1, all, when)
	}
	if err == nil && sends {
		err = insertDeliveries(ctx, tx, s, last-int64(len(all))+1, last, l.cfg.Now())
	}
	if err != nil {
		return fmt.Errorf("append %s events: %w", typ, err)
	}
	return nil
}

// Wake makes the dispatcher of this process send the due deliveries of the stream at once. Without it, the dispatcher finds
// them by polling several times a second.
func (l *Log) Wake(s Stream) {
	l.mu.Lock()
	l.woken[s] = struct{}{}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// takeWoken returns the streams that Wake was called with since the last call.
func (l *Log) takeWoken() []Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.woken))
	clear(l.woken)
	return all
}

// Sizes of a page of events or deliveries.
const (
	DefaultPage = 50
	MaxPage     = 100
)

// History returns the events of the stream, in order, that follow the one with the id after, or the first ones if that is
// empty. A limit of 0 is [DefaultPage]. next is the value of after for the next page, empty at the end. It fails with
// [fault.Validation] on after_id for an id that is not of the stream, with [fault.Gone] for that of a removed event, and with
// [fault.Validation] on limit if that is above [MaxPage] or negative.
func (l *Log) History(ctx context.Context, s Stream, after string, limit int) (events []Event, next string, err error) {
	if limit, err = pageSize(limit); err != nil {
		return nil, "", err
	}
	err = l.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var number int64
		if after != "" {
			var found bool
			if number, found, err = numberOf(ctx, tx, s, after); err != nil {
				return err
			} else if !found {
				return l.missing(ctx, tx, s, "after_id", "must be the id of an event in this history", after)
			}
		}
		events, err = eventsAfter(ctx, tx, s, number, limit+1)
		return err
	})
	if err != nil {
		return nil, "", fault.Wrap("read events", err)
	}
	if len(events) > limit {
		events = events[:limit]
		next = events[limit-1].ID
	}
	return events, next, nil
}

// missing is the fault for an id without an event: [fault.Gone] if the event was removed by retention, else
// [fault.Validation].
func (l *Log) missing(ctx context.Context, tx store.Tx, s Stream, field, otherwise, id string) error {
	first, number, err := firstOf(ctx, tx, s)
	if err != nil {
		return err
	}
	if _, made := store.IDTime(idPrefix, id); !made || number <= 1 || id >= first {
		return fault.Invalid(field, "%s", otherwise)
	}
	return fault.New(fault.Gone, "%s names an event that has been removed", field).
		WithHint("leave %s out to read from the first stored event, and compare your orders with GET /orders", field)
}

func pageSize(limit int) (int, error) {
	switch {
	case limit == 0:
		return DefaultPage, nil
	case limit < 0 || limit > MaxPage:
		return 0, fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	}
	return limit, nil
}

// Advance moves a partner's test clock forward by a time that must not be negative: the retries of the stream, the end of its
// old secret and the disabling of its endpoint come earlier by as much. After the commit, call [Log.Wake] to send due
// deliveries at once.
func (l *Log) Advance(ctx context.Context, tx store.Tx, s Stream, by time.Duration) error {
	if by < 0 {
		return errors.New("advance a stream: the clock cannot go back")
	}
	err := advance(ctx, tx, s, by)
	if err == nil {
		_, err = disable(ctx, tx, s, l.cfg.Now())
	}
	if err != nil {
		return fmt.Errorf("advance a stream: %w", err)
	}
	return nil
}

// body is the body of a webhook request: compact JSON, the same bytes at every attempt.
func (e Event) body() ([]byte, error) {
	return op.Marshal(e) // does not change the data
}

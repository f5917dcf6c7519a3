// Package event is the ordered event log of each partner and its delivery to webhooks: an outbox and a dispatcher.
//
// An event is appended in the transaction of the change that causes it, so that both commit or neither does. Its number
// comes from a row of its stream, which the transaction locks until it commits. Events therefore become visible in
// their order, and a reader that follows [Log.History] never misses one.
//
// A stream has at most one webhook endpoint. Appending an event to a stream with an endpoint makes a delivery, in the
// same transaction. The dispatcher ([Log.Deliver]) attempts it until the endpoint accepts it or the retries are used up.
// Any number of processes may run a dispatcher on one database: each claims deliveries for a short time, so that other
// processes take over the work of one that dies. An event may arrive more than once, and is never lost.
//
// Due times are stored by the real clock. When a partner advances its test clock, [Log.Advance] moves the due times of its
// stream by as much. The times that partners see are those of their own clock.
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

// An Event is something that happened, as partners see it: what [Log.History] returns and what is sent.
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

// Config is what a [Log] needs.
type Config struct {
	DB      *store.DB
	Secrets store.Sealer     // for the secrets of webhooks
	Now     func() time.Time // nil: the store's clock
	Logger  *slog.Logger     // of the dispatcher; nil: silent

	// Audit records what was done to webhooks, in the transaction of the change; nil: it is not recorded.
	Audit func(ctx context.Context, tx store.Tx, s Stream, action, subject string, details map[string]any) error

	Allow    []netip.Prefix // addresses that webhooks may reach although they are not public, loopback ones without TLS
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

// New returns the log. It panics where something in cfg is missing.
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

// Append adds an event to the stream as part of tx, with data as JSON, and makes its delivery if the stream has an
// active endpoint. The time at is by the partner's clock. No event is earlier than the one before it, even if the clocks of
// the processes differ. Until tx ends no other transaction can append to the stream, so Append should be the last thing
// that tx does. After the commit, [Log.Wake] has it sent at once.
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

// AppendEvent is [Log.Append] for an event that [Log.TestIn] made. It returns the event as it is in the history.
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

// Wake tells the dispatcher of this process that the stream has deliveries due. It only makes them start sooner: a
// dispatcher also polls, several times a second.
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

// History returns the events of the stream that follow the one with the id after, or the first ones if that is empty,
// in their order. A limit of 0 is [DefaultPage]. Next is the id to go on after, empty when there are no more events.
// It fails with [fault.Validation] on after_id for an id that is not of the stream, with [fault.Gone] for one
// from before the events that are kept, and with [fault.Validation] on limit if that is above [MaxPage] or negative.
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
	return fault.New(fault.Gone, "%s names an event that is older than those that are kept", field).
		WithHint("read from the first event that is kept by leaving %s out, and compare your orders with GET /orders", field)
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

// Advance moves a partner's test clock forward: the retries of the stream, the end of its old secret and the disabling of
// its endpoint come earlier by as much. By must not be negative. After the commit, call [Log.Wake] to send at once what
// became due.
func (l *Log) Advance(ctx context.Context, tx store.Tx, s Stream, by time.Duration) error {
	if by < 0 {
		return errors.New("advance a stream: the clock cannot go back")
	}
	err := advance(ctx, tx, s, by)
	if err == nil {
		_, err = switchOff(ctx, tx, s, l.cfg.Now())
	}
	if err != nil {
		return fmt.Errorf("advance a stream: %w", err)
	}
	return nil
}

// body is the body of a webhook request: compact JSON, the same bytes at every attempt.
func (e Event) body() ([]byte, error) {
	return op.Marshal(e) // the data stays as it was appended
}

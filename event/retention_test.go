package event_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/store/sweep"
)

const (
	keepEvents     = 400 * 24 * time.Hour
	keepDeliveries = 90 * 24 * time.Hour
)

// sweepAt removes the rows that have expired at a time.
func (d *fixture) sweepAt(now time.Time) {
	d.Helper()
	s := sweep.New(sweep.Config{DB: d.db, Rules: event.Retention(keepEvents, keepDeliveries), Now: func() time.Time { return now }})
	if err := s.Pass(d.Context()); err != nil {
		d.Fatal(err)
	}
}

func (d *fixture) exec(query string, args ...any) {
	d.Helper()
	err := d.db.Tx(d.Context(), func(tx store.Tx) error { _, err := tx.Exec(d.Context(), query, args...); return err })
	if err != nil {
		d.Fatal(err)
	}
}

func (d *fixture) count(table string) (n int) {
	d.Helper()
	err := d.db.Read(d.Context(), func(tx store.Tx) error { return tx.QueryRow(d.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n) })
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// A reader that follows the history from a removed event gets [fault.Gone]: neither a silent gap nor an unknown id.
func TestRemovedEventsAreGone(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		old, mine := d.append(acme, 300), d.append(sandbox, 2)
		d.sweepAt(time.Now().Add(keepEvents - time.Minute))
		if n := d.count("events"); n != 302 {
			t.Fatalf("%d events before their time is over", n)
		}
		time.Sleep(5 * time.Millisecond) // ids have a resolution of a millisecond
		cut := time.Now()
		young := d.append(acme, 3)
		foreign := d.append(event.Stream{Partner: "prt_other", Environment: "LIVE"}, 1)
		d.sweepAt(cut.Add(keepEvents))
		if got, want := ids(d.history(acme)), ids(young); !slices.Equal(got, want) {
			t.Errorf("what is left: %v, want %v", got, want)
		}
		for _, e := range []event.Event{old[0], old[299]} {
			_, _, err := d.History(t.Context(), acme, e.ID, 0)
			wantCode(t, "an event that was removed", err, fault.Gone)
			if fault.From(err).Hint == "" {
				t.Error("no hint")
			}
		}
		_, _, err := d.History(t.Context(), sandbox, mine[0].ID, 0)
		wantCode(t, "where all events but the last were removed", err, fault.Gone)
		if page, _, err := d.History(t.Context(), sandbox, mine[1].ID, 0); err != nil || len(page) != 0 {
			t.Errorf("after the last event: %v, %v", page, err)
		}
		for name, id := range map[string]string{
			"one that never was": store.NewID("evt"),
			"another partner's":  foreign[0].ID,
			"no id of an event":  "evt_1",
			"an order":           store.NewID("ord"),
		} {
			_, _, err := d.History(t.Context(), acme, id, 0)
			wantCode(t, name, err, fault.Validation)
		}
		_, _, err = d.History(t.Context(), event.Stream{Partner: "prt_none", Environment: "LIVE"}, old[0].ID, 0)
		wantCode(t, "a stream without events", err, fault.Validation)
		if after := d.append(acme, 1); !slices.Equal(ids(d.history(acme)), append(ids(young), ids(after)...)) {
			t.Error("the stream does not go on")
		}
	})
}

// Pending deliveries and all later ones stay, so that there is no gap.
func TestPendingDeliveriesAreKept(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		taken := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		d := newLog(t, db)
		before := d.append(acme, 2)
		d.register(acme, taken.URL)
		events := d.append(acme, 5)
		set := func(number int, status string) {
			d.exec(`UPDATE webhook_deliveries SET status = $1 WHERE number = $2`, status, number)
		}
		for _, number := range []int{3, 4, 6, 7} {
			set(number, "delivered")
		}
		d.sweepAt(time.Now().Add(keepDeliveries + time.Hour))
		if n := d.count("webhook_deliveries"); n != 1 {
			t.Errorf("%d deliveries are left, want the one that is to be sent", n)
		}
		if got, want := len(d.history(acme)), len(before)+len(events); got != want {
			t.Errorf("%d events, want %d", got, want)
		}
		d.sweepAt(time.Now().Add(keepEvents + time.Hour))
		if got, want := ids(d.history(acme)), ids(events[2:]); !slices.Equal(got, want) {
			t.Errorf("what is left: %v, want what is to be sent and all behind it, %v", got, want)
		}
		d.start()
		taken.want(t, 1)
		d.eventually(func() bool { return d.delivery(acme, events[2].ID).Status == event.Delivered }, func() { t.Error("it is not delivered") })
		d.sweepAt(time.Now().Add(keepEvents + time.Hour))
		if events, deliveries := d.count("events"), d.count("webhook_deliveries"); events != 1 || deliveries != 0 {
			t.Errorf("%d events and %d deliveries in the end", events, deliveries)
		}
	})
}

// Many streams, each with few rows to remove, take one pass.
func TestManyStreamsInOnePass(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		for i := range 40 {
			s := event.Stream{Partner: fmt.Sprintf("prt_%d", i), Environment: "LIVE"}
			d.register(s, "http://127.0.0.1:1/")
			d.append(s, 1)
		}
		d.exec(`UPDATE webhook_deliveries SET status = 'failed'`)
		d.sweepAt(time.Now().Add(keepDeliveries + time.Hour))
		if n := d.count("webhook_deliveries"); n != 0 {
			t.Errorf("%d deliveries are left", n)
		}
		d.sweepAt(time.Now().Add(keepEvents + time.Hour))
		if n := d.count("events"); n != 40 {
			t.Errorf("%d events are left, want the last of each stream", n)
		}
	})
}

// The times of a stream's events never go back, though clocks do and a transaction that began earlier may end later.
func TestTimesNeverGoBack(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db := storetest.Open(t, cfg)
		at := func(d *fixture, offset time.Duration) event.Event {
			var e event.Event
			err := d.db.Tx(t.Context(), func(tx store.Tx) (err error) {
				e, err = d.Append(t.Context(), tx, acme, "order.recorded", 1, time.Unix(1_800_000_000, 0).Add(offset))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		d := newLog(t, db)
		at(d, 0)
		at(d, time.Hour)
		at(d, -time.Hour) // a clock that was set back
		again := newLog(t, storetest.Open(t, cfg))
		if e := at(again, time.Minute); !e.CreatedAt.Equal(time.Unix(1_800_000_000, 0).Add(time.Hour)) { // after a restart
			t.Errorf("the event says %v, want the time of the one before", e.CreatedAt)
		}
		at(again, 2*time.Hour)
		var last time.Time
		for i, e := range again.history(acme) {
			if e.CreatedAt.Before(last) {
				t.Errorf("event %d is of %v, after one of %v", i+1, e.CreatedAt, last)
			}
			last = e.CreatedAt
		}
		if other := newLog(t, db).append(sandbox, 1); other[0].CreatedAt.After(time.Now()) {
			t.Errorf("another stream goes by %v", other[0].CreatedAt)
		}
	})
}

package event_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func ids(events []event.Event) []string {
	all := make([]string, len(events))
	for i, e := range events {
		all[i] = e.ID
	}
	return all
}

func TestHistoryFollowsTheStream(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		want := ids(d.append(acme, 20))
		other := d.append(sandbox, 1)
		if got := ids(d.history(acme)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		page, next, err := d.History(t.Context(), acme, want[9], 10)
		if err != nil || !slices.Equal(ids(page), want[10:]) || next != "" {
			t.Errorf("the last page: got %v, next %q, error %v; want the last ten, and no cursor", ids(page), next, err)
		}
		if page, next, err = d.History(t.Context(), acme, want[19], 0); err != nil || len(page) != 0 || page == nil || next != "" {
			t.Errorf("after the end: got %v, next %q, error %v; want an empty page", page, next, err)
		}
		for _, after := range []string{"evt_unknown", other[0].ID, "'", "evt_\x00"} {
			_, _, err := d.History(t.Context(), acme, after, 10)
			wantCode(t, fmt.Sprintf("after %q", after), err, fault.Validation)
		}
		for _, limit := range []int{-1, event.MaxPage + 1} {
			_, _, err := d.History(t.Context(), acme, "", limit)
			wantCode(t, fmt.Sprintf("limit %d", limit), err, fault.Validation)
		}
		if page, _, err := d.History(t.Context(), event.Stream{Partner: "prt_none", Environment: "LIVE"}, "", 0); err != nil || page == nil || len(page) != 0 {
			t.Errorf("a stream without events: got %v, error %v; want an empty page", page, err)
		}
	})
}

func TestEventAsJSON(t *testing.T) {
	t.Parallel()
	e := event.Event{
		ID: "evt_1", Type: "order.recorded", CreatedAt: time.Date(2026, 11, 21, 6, 30, 0, 120e6, time.UTC), Partner: "prt_1",
		Data: json.RawMessage(`{"order":{"public_id":"ord_1"}}`),
	}
	got, err := json.Marshal(e)
	want := `{"id":"evt_1","type":"order.recorded","created_at":"2026-11-21T06:30:00.12Z","partner_id":"prt_1","data":{"order":{"public_id":"ord_1"}}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, error %v; want %s", got, err, want)
	}
}

// TestNothingIsMissedByReaders has concurrent writers, some of which fail, while a reader follows the history.
func TestNothingIsMissedByReaders(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newLog(t, db)
		const writers, each = 4, 15
		var wg sync.WaitGroup
		var mu sync.Mutex
		committed := map[string]bool{}
		for range writers {
			wg.Go(func() {
				for i := range each {
					var e event.Event
					err := db.Tx(t.Context(), func(tx store.Tx) (err error) {
						if e, err = d.Append(t.Context(), tx, acme, "order.recorded", i, time.Now()); err == nil && i%5 == 4 {
							err = errRegret
						}
						return err
					})
					if err == nil {
						mu.Lock()
						committed[e.ID] = true
						mu.Unlock()
					} else if !errors.Is(err, errRegret) {
						t.Errorf("append: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { wg.Wait(); close(done) }()
		var followed []string
		for over := false; ; {
			after := ""
			if n := len(followed); n > 0 {
				after = followed[n-1]
			}
			page, _, err := d.History(t.Context(), acme, after, 3)
			if err != nil {
				t.Fatal(err)
			}
			followed = append(followed, ids(page)...)
			if over && len(page) == 0 {
				break
			}
			select {
			case <-done:
				over = true
			default:
			}
		}
		if whole := ids(d.history(acme)); !slices.Equal(followed, whole) || len(whole) != len(committed) {
			t.Errorf("a follower saw %d events, the history has %d, %d were committed", len(followed), len(whole), len(committed))
		}
		for _, id := range followed {
			if !committed[id] {
				t.Errorf("%s is in the history and was not committed", id)
			}
		}
	})
}

var errRegret = errors.New("on second thoughts")

// TestStalledTransactionLeavesNoGap holds a transaction open after its event has a number. Readers do not see a later event
// before that one.
func TestStalledTransactionLeavesNoGap(t *testing.T) {
	t.Parallel()
	for _, outcome := range []error{nil, errRegret} {
		t.Run(fmt.Sprintf("ends with %v", outcome), func(t *testing.T) {
			t.Parallel()
			db := storetest.Open(t, store.Config{URL: storetest.Postgres(t)})
			d := newLog(t, db)
			first := ids(d.append(acme, 1))
			appended, release, stalled := make(chan string, 20), make(chan struct{}), make(chan error, 1)
			go func() {
				stalled <- db.Tx(t.Context(), func(tx store.Tx) error {
					e, err := d.Append(t.Context(), tx, acme, "order.recorded", "stalled", time.Now())
					if err != nil {
						return err
					}
					appended <- e.ID
					<-release
					return outcome
				})
			}()
			want := append(first, <-appended)
			later := make(chan []string, 1)
			go func() { later <- ids(d.append(acme, 3)) }()
			d.append(sandbox, 3) // another stream is not held up
			if got := ids(d.history(acme)); !slices.Equal(got, first) {
				t.Errorf("while the transaction is open: got %v, want %v", got, first)
			}
			close(release)
			if err := <-stalled; !errors.Is(err, outcome) {
				t.Errorf("the stalled transaction: got error %v, want %v", err, outcome)
			}
			if outcome != nil {
				want = first
			}
			want = append(slices.Clone(want), <-later...)
			if got := ids(d.history(acme)); !slices.Equal(got, want) {
				t.Errorf("afterwards: got %v, want %v", got, want)
			}
		})
	}
}

func TestEventsArriveInOrderOfTheirStream(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, nil)
		d.register(acme, r.URL)
		var got []string
		for i := range 5 { // each when the one before has arrived
			d.append(acme, 1)
			got = append(got, r.want(t, i+1)[i].Get("X-Service-Event-Id"))
		}
		if want := ids(d.history(acme)); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		sent := d.append(acme, 40)
		r.want(t, 45)
		for _, e := range sent {
			d.wantDelivery(acme, e.ID, event.Delivered, 1)
		}
		if n := len(r.got()); n != 45 {
			t.Errorf("got %d requests, want 45: each event once", n)
		}
	})
}

func TestOnlyEventsAfterRegistrationAreSent(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newFixture(t, db)
		r := newReceiver(t, nil)
		before := d.append(acme, 1)[0]
		d.register(acme, r.URL)
		d.append(sandbox, 1)
		after := d.append(acme, 1)[0]
		if got := r.want(t, 1)[0].Get("X-Service-Event-Id"); got != after.ID {
			t.Errorf("got event %s, want %s", got, after.ID)
		}
		_, err := d.Redeliver(t.Context(), acme, "dlv_"+before.ID[len("evt_"):])
		wantCode(t, "redeliver what was before", err, fault.NotFound)
	})
}

func TestAppendRefusesWhatIsNotJSON(t *testing.T) {
	t.Parallel()
	d := newLog(t, storetest.Open(t, store.Config{Dir: t.TempDir()}))
	err := d.db.Tx(t.Context(), func(tx store.Tx) error {
		_, err := d.Append(context.Background(), tx, acme, "x", func() {}, time.Now())
		return err
	})
	if err == nil {
		t.Error("a function was appended as data")
	}
}

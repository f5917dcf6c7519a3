package event_test

import (
	"testing"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

func TestEventsArriveInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		d := newDesk(t, db)
		r := newReceiver(t, nil)
		d.register(acme, r.URL+"/hook")
		sent := d.append(acme, 20)
		got := r.want(t, len(sent))
		if len(got) != 20 {
			t.Errorf("got %d requests, want 20", len(got))
		}
		for _, e := range sent {
			d.wantDelivery(acme, e.ID, event.Delivered, 1)
		}
		if h := d.history(acme); len(h) != 20 {
			t.Errorf("history has %d events, want 20", len(h))
		}
	})
}

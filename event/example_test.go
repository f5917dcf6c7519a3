package event_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/store"
)

// An event is appended in the transaction of its cause, and the dispatcher sends it.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	arrived := make(chan string)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("X-Service-Event-Type")
	}))
	defer receiver.Close()

	log := event.New(event.Config{
		DB: db, Secrets: newSealer(), // AES-GCM
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	dispatcher := make(chan error)
	go func() { dispatcher <- log.Deliver(ctx) }()

	partner := event.Stream{Partner: "prt_1", Environment: "SANDBOX"}
	if _, err := log.Register(ctx, partner, receiver.URL, "a secret of the partner"); err != nil {
		fmt.Println(err)
	}
	err = db.Tx(ctx, func(tx store.Tx) error {
		_, err := log.Append(ctx, tx, partner, "order.recorded", map[string]string{"public_id": "ord_1"}, time.Now())
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	log.Wake(partner)
	fmt.Println(<-arrived)

	stop()
	fmt.Println(<-dispatcher)
	// Output:
	// order.recorded
	// <nil>
}

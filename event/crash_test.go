package event_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// crashVariable makes the test binary the victim of TestKilledDispatcherLosesNothing: its value is a directory or a
// database URL.
const crashVariable = "NAMEWHARF_TEST_DISPATCHER"

func TestMain(m *testing.M) {
	if where := os.Getenv(crashVariable); where != "" {
		workUntilKilled(where)
	}
	os.Exit(m.Run())
}

// workUntilKilled appends and sends events, and prints the id of each once it is committed.
func workUntilKilled(where string) {
	fatal := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	cfg := store.Config{Dir: where}
	if strings.HasPrefix(where, "postgres:") {
		cfg = store.Config{URL: where}
	}
	db, err := store.Open(ctx, cfg)
	if err != nil {
		fatal(err)
	}
	l := event.New(event.Config{DB: db, Secrets: newSealer(), Allow: loopback})
	var wg sync.WaitGroup
	wg.Go(func() { fatal(l.Deliver(ctx)) })
	for range 4 {
		wg.Go(func() {
			for {
				var e event.Event
				err := db.Tx(ctx, func(tx store.Tx) (err error) {
					e, err = l.Append(ctx, tx, acme, "order.recorded", 1, time.Now())
					return err
				})
				if err != nil {
					fatal(err)
				}
				l.Wake(acme)
				fmt.Println(e.ID)
			}
		})
	}
	wg.Wait()
}

// TestKilledDispatcherLosesNothing kills a process that appends and sends, three times. Exactly the committed events are in
// the history and arrive.
func TestKilledDispatcherLosesNothing(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		r := newReceiver(t, nil)
		db := storetest.Open(t, cfg)
		newLog(t, db).register(acme, r.URL)
		if db.Engine() == store.SQLite { // so that the victim's successor has to recover the log
			db.Close()
		}
		var acknowledged []string
		for range 3 {
			acknowledged = append(acknowledged, runVictim(t, cfg.Dir+cfg.URL, 60)...)
		}
		if db.Engine() == store.SQLite {
			db = storetest.Open(t, cfg)
		}
		d := newFixture(t, db, func(c *event.Config) { // for which the claims of the dead have expired
			c.Now = func() time.Time { return time.Now().Add(time.Minute) }
		})
		history := ids(d.history(acme))
		for _, id := range acknowledged {
			if !slices.Contains(history, id) {
				t.Errorf("%s was committed and is not in the history", id)
			}
		}
		var left []event.Delivery
		d.eventually(func() bool {
			var err error
			if left, _, err = d.Deliveries(t.Context(), acme, event.DeliveryFilter{Status: event.Pending}); err != nil {
				t.Fatal(err)
			}
			return len(left) == 0
		}, func() { t.Fatalf("not delivered: %+v", left) })
		arrived := map[string]int{}
		for _, got := range r.got() {
			arrived[got.Get("X-Service-Event-Id")]++
		}
		again := 0
		for _, id := range history {
			if arrived[id] == 0 {
				t.Errorf("%s is written down as delivered and did not arrive", id)
			}
			again += arrived[id] - 1
			delete(arrived, id)
		}
		if len(arrived) > 0 {
			t.Errorf("arrived without being in the history: %v", arrived)
		}
		t.Logf("%d events, %d acknowledged, %d arrived again", len(history), len(acknowledged), again)
	})
}

// runVictim starts a process that works, kills it after enough events, and returns all that it acknowledged.
func runVictim(t *testing.T, where string, enough int) (acknowledged []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+where)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const length = len("evt_") + 26
	scanner := bufio.NewScanner(out)
	for scanner.Scan() {
		if id := scanner.Text(); len(id) == length { // the last may be cut short
			acknowledged = append(acknowledged, id)
		}
		if len(acknowledged) == enough {
			cmd.Process.Kill()
		}
	}
	cmd.Wait() // reports the kill
	if len(acknowledged) < enough {
		t.Fatalf("the process ended after %d events, want at least %d", len(acknowledged), enough)
	}
	return acknowledged
}

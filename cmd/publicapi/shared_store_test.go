package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// outcome is the result of a request as sent on the wire: "ok", or the code of an error.
func outcome(t *testing.T, l *loadgen.Conn, request []byte) string {
	t.Helper()
	a, err := l.Send(request)
	if err != nil {
		t.Errorf("send: %v", err)
		return ""
	}
	if a.Status < 300 {
		return "ok"
	}
	code, _ := refusal(a)
	return code
}

func signed(t *testing.T, by signature.Credential, method, path, body, key string) []byte {
	t.Helper()
	request, err := loadgen.AppendRequest(nil, by, method, loadgen.Root+path, body, key)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// TestReplayIsRefusedEverywhere shows that a request is let through once by all processes on a store together, whichever
// comes to it, and that none of them forgets when it is killed.
func TestReplayIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	eachEngine(t, 4, func(t *testing.T, c *fixture) {
		a, b := c.service(t, "-rate-limits", "off").start(), c.service(t, "-rate-limits", "off").start()
		requests := [][]byte{
			signed(t, c.by, "GET", "/availability?domain="+name(0), "", ""),
			signed(t, c.by, "POST", "/quotes", `{"domain":"`+name(0)+`"}`, ""),
			signed(t, c.by, "POST", "/orders", `{"domain":"`+name(0)+`","expected_price":9900}`, uuid.NewString()),
		}
		atA, atB := a.line(c.by), b.line(c.by)
		for i, r := range requests {
			for at, step := range []struct {
				line *loadgen.Conn
				want string
			}{{atA, "ok"}, {atB, "replay_detected"}, {atA, "replay_detected"}} {
				if got := outcome(t, step.line, r); got != step.want {
					t.Errorf("request %d, time %d: got %s, want %s", i, at+1, got, step.want)
				}
			}
		}
		a.kill()
		a.start()
		b.kill()
		b.start()
		atA, atB = a.line(c.by), b.line(c.by)
		for i, r := range requests {
			for _, line := range []*loadgen.Conn{atA, atB} {
				if got := outcome(t, line, r); got != "replay_detected" {
					t.Errorf("request %d after a kill: got %s, want replay_detected", i, got)
				}
			}
		}
		for i := range 40 {
			r := signed(t, c.by, "GET", "/availability?domain="+name(1), "", "")
			var got [2]string
			var wg sync.WaitGroup
			for at, line := range []*loadgen.Conn{atA, atB} {
				wg.Go(func() { got[at] = outcome(t, line, r) })
			}
			wg.Wait()
			slices.Sort(got[:])
			if got != [2]string{"ok", "replay_detected"} {
				t.Errorf("request %d to both at once: got %v, want one of them to let it through", i, got)
			}
		}
	})
}

// TestLimitsHoldTogether shows that a credential may ask no more often where it asks two processes, nor where one is
// killed.
func TestLimitsHoldTogether(t *testing.T) {
	t.Parallel()
	eachEngine(t, 1, func(t *testing.T, c *fixture) {
		a, b := c.service(t).start(), c.service(t).start()
		begun := time.Now()
		passed := map[string]int{}
		ask := func(times int) {
			lines := []*loadgen.Conn{a.line(c.by), b.line(c.by)}
			for n := range times {
				passed[outcome(t, lines[n%2], signed(t, c.by, "GET", "/availability?domain="+name(0), "", ""))]++
			}
		}
		ask(partner.SearchQuota + 20)
		a.kill()
		a.start()
		ask(20)
		most := partner.SearchQuota + int(time.Since(begun).Seconds()*partner.SearchQuota/60) + 1
		if passed["ok"] < partner.SearchQuota || passed["ok"] > most || passed["ok"]+passed["rate_limited"] != partner.SearchQuota+40 {
			t.Errorf("got %v, want %d to %d let through and the others limited", passed, partner.SearchQuota, most)
		}
	})
}

// TestTwoSellOneInventory shows that two processes on one store, one of which is killed, sell each name once, and that who
// follows the events at one of them sees what both did.
func TestTwoSellOneInventory(t *testing.T) {
	t.Parallel()
	const names = 200
	eachEngine(t, names, func(t *testing.T, c *fixture) {
		a, b := c.service(t, "-rate-limits", "off").start(), c.service(t, "-rate-limits", "off").start()
		f := follow(t, b, c.by)
		m := newCrowd(t, c.by, names, a, b)
		time.Sleep(time.Second / 2)
		a.kill()
		a.start()
		time.Sleep(time.Second / 2)
		m.finish()
		seen := f.finish()
		m.check(seen)
		m.repeat()
		replayed, err := history(a.line(c.by), "")
		if err != nil || !slices.Equal(seen, replayed) {
			t.Errorf("who followed one process saw %d events, the history at the other has %d, not the same in the same order: %v", len(seen), len(replayed), err)
		}
		a.end()
		b.end()
		m.audit(c)
	})
}

var errTakenBack = errors.New("taken back")

// TestStalledTransactionsMakeNoGap shows that who follows the events misses none while another session holds the stream, an
// event that it has appended, or listings, and orders go on coming in.
func TestStalledTransactionsMakeNoGap(t *testing.T) {
	t.Parallel()
	const names = 500
	c := newFixture(t, store.Config{URL: storetest.Postgres(t)}, names)
	db := storetest.Open(t, c.cfg)
	keys, err := seal.Load(c.keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	log := event.New(event.Config{DB: db, Secrets: keys})
	appends := func(ctx context.Context, tx store.Tx) error {
		_, err := log.Append(ctx, tx, event.Stream{Partner: c.partner.ID, Environment: string(market.Live)}, event.TestType, struct{}{}, time.Now())
		return err
	}
	s := c.service(t, "-rate-limits", "off").start()
	f := follow(t, s, c.by)
	m := newCrowd(t, c.by, names, s)
	const held = 400 * time.Millisecond
	for _, stall := range []struct {
		holds string
		do    func(ctx context.Context, tx store.Tx) error
		end   error
	}{
		{"an event", appends, nil},
		{"an event that is taken back", appends, errTakenBack},
		{"the stream", holds(`UPDATE event_streams SET last = last`), nil},
		{"a listing", holds(`UPDATE listings SET updated_at = updated_at WHERE domain = '` + name(names/4) + `'`), nil},
		{"all listings", holds(`UPDATE listings SET updated_at = updated_at`), errTakenBack},
	} {
		time.Sleep(held / 4)
		var err error
		for again := true; again; again = store.IsRetryable(err) { // the orders may win more often than the store tries again
			err = db.Tx(t.Context(), func(tx store.Tx) error {
				if err := stall.do(t.Context(), tx); err != nil {
					return err
				}
				time.Sleep(held)
				return stall.end
			})
		}
		if !errors.Is(err, stall.end) {
			t.Fatalf("a transaction that holds %s: %v", stall.holds, err)
		}
	}
	time.Sleep(held / 4)
	m.finish()
	seen := f.finish()
	replayed, err := history(s.line(c.by), "")
	if err != nil || !slices.Equal(seen, replayed) {
		t.Errorf("who followed saw %d events, the history has %d, not the same in the same order: %v", len(seen), len(replayed), err)
	}
	orders := slices.DeleteFunc(slices.Clone(seen), func(e happened) bool { return e.Type == event.TestType })
	if others := len(seen) - len(orders); others != 1 || len(orders) == 0 {
		t.Errorf("got %d events of orders and %d of stalled transactions, want some and 1", len(orders), others)
	}
	m.check(orders)
}

func holds(query string) func(context.Context, store.Tx) error {
	return func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, query)
		return err
	}
}

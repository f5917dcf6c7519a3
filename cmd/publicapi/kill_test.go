package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/internal/loadgen"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// How TestKilled goes about it. The whole ordeal is
//
//	go run ./store/storetest/withpg go test -run TestKilled -v ./cmd/publicapi -args -kills 20 -kill-gap 3s -order-rate 300
var (
	kills     = flag.Int("kills", 5, "how often TestKilled kills the program; from 20 on it also waits for all webhooks")
	killGap   = flag.Duration("kill-gap", time.Second, "how long TestKilled lets the program live, on average")
	orderRate = flag.Int("order-rate", 100, "orders a second of TestKilled")
)

const (
	buyers  = 32
	repeats = 200 // orders that are sent again in the end
)

// TestKilled kills the program with SIGKILL again and again, while partners place orders and repeat what was not
// answered. Afterwards every order that was acknowledged is there, once, with one event and balanced postings; nothing was
// sold twice; and who follows the events has seen all of them in order.
func TestKilled(t *testing.T) {
	t.Parallel()
	names := int(float64(*orderRate**kills)*killGap.Seconds()*1.5) + buyers**kills
	eachEngine(t, names, func(t *testing.T, c *fixture) {
		postbox := newPostbox(t)
		s := c.service(t, "-rate-limits", "off", "-webhook-allow-private", "127.0.0.0/8").start()
		if a, err := s.line(c.by).Do("PUT", "/api/partner/webhooks", fmt.Sprintf(`{"url":%q,"secret":"0123456789abcdef"}`, postbox.url), ""); err != nil || a.Status != 200 {
			t.Fatalf("PUT webhooks: %d %s, %v", a.Status, a.Body, err)
		}
		f := follow(t, s, c.by)
		m := newCrowd(t, c.by, names, s)
		m.killAtRandom()
		m.finish()
		seen := f.finish()

		m.check(seen)
		m.repeat()
		line := s.line(c.by)
		replayed, err := history(line, "")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(replayed, seen) {
			t.Errorf("who followed saw %d events, the history from the start has %d, not the same in the same order", len(seen), len(replayed))
		}
		if *kills >= 20 {
			postbox.await(seen)
		}
		postbox.check(seen)
		s.end()
		m.audit(c)
		t.Logf("%d orders acknowledged, %d refunded, %d requests repeated, %d orders answered again, %d rivals refused, %d events, %d webhooks",
			len(m.orders), m.refunds, m.repeats.Load(), m.replays.Load(), m.lost.Load(), len(seen), postbox.count())
	})
}

// killAtRandom kills the process at random moments, while many ask it something, and sometimes before it is up.
func (m *crowd) killAtRandom() {
	m.t.Helper()
	s, t := m.services[0], m.t
	begun, slowest := time.Now(), time.Duration(0)
	for n := range *kills {
		time.Sleep(time.Until(begun.Add(time.Duration((float64(n) + 0.25 + rand.Float64()) * float64(*killGap)))))
		select {
		case m.rush <- struct{}{}:
		default:
		}
		time.Sleep(rand.N(20 * time.Millisecond))
		s.kill()
		if rand.N(5) == 0 {
			s.begin()
			time.Sleep(rand.N(100 * time.Millisecond))
			s.kill()
		}
		again := time.Now()
		s.start()
		slowest = max(slowest, time.Since(again))
	}
	t.Logf("%d kills in %v; the slowest start took %v", *kills, time.Since(begun).Round(time.Millisecond), slowest.Round(time.Millisecond))
}

// A crowd places orders, and has some refunded, each until it is answered.
type crowd struct {
	t        *testing.T
	services []*service
	by       signature.Credential
	names    int
	rush     chan struct{} // has all buyers order at once
	stop     context.CancelFunc
	wg       sync.WaitGroup

	repeats, replays, lost atomic.Int64

	mu      sync.Mutex
	orders  []acknowledged
	refunds int
	sold    map[string]bool // names that were ordered, and whether an answer said that they are sold
}

// An acknowledged order was answered with 201.
type acknowledged struct {
	key, body string
	domain    string
	answer    string
	id        string
	refunded  bool
}

// newCrowd begins to place orders, at a rate that does not wait for answers.
func newCrowd(t *testing.T, by signature.Credential, names int, services ...*service) *crowd {
	ctx, stop := context.WithCancel(t.Context())
	m := &crowd{t: t, services: services, by: by, names: names, stop: stop, rush: make(chan struct{}), sold: map[string]bool{}}
	due := make(chan int, names)
	m.wg.Go(func() {
		defer close(due)
		tick := time.NewTicker(time.Second / time.Duration(*orderRate))
		defer tick.Stop()
		for n := 0; n < names; {
			some := 1
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-m.rush:
				some = buyers
			}
			for range min(some, names-n) {
				due <- n
				n++
			}
		}
	})
	for range buyers {
		m.wg.Go(func() {
			b := &buyer{crowd: m}
			defer b.hangUp()
			for n := range due {
				if ctx.Err() != nil {
					return
				}
				b.order(n)
			}
		})
	}
	t.Cleanup(m.finish)
	return m
}

// finish ends the orders that are under way, and places no more.
func (m *crowd) finish() {
	m.stop()
	m.wg.Wait()
}

// A buyer is one of the crowd.
type buyer struct {
	*crowd
	line *loadgen.Conn
}

func (b *buyer) hangUp() {
	if b.line != nil {
		_ = b.line.Close()
		b.line = nil
	}
}

func (m *crowd) anyService() *service { return m.services[rand.N(len(m.services))] }

// giveUp is how long a buyer repeats one request.
const giveUp = time.Minute

// insist sends a request until it is answered by something that is final.
func (b *buyer) insist(method, path, body, key string) (a loadgen.Response, ok bool) {
	begun := time.Now()
	for try := 0; time.Since(begun) < giveUp; try++ {
		if try > 0 {
			b.repeats.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
		var err error
		if b.line == nil {
			if b.line, err = b.anyService().dial(b.by); err != nil {
				continue
			}
		}
		if a, err = b.line.Do(method, loadgen.Root+path, body, key); err != nil {
			b.hangUp()
			continue
		}
		_, message := refusal(a)
		switch {
		case a.Status < 300, a.Status == 409 && strings.HasPrefix(message, "the domain is sold"):
			return a, true
		case a.Status != 409:
			b.t.Errorf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
			return a, false
		}
	}
	b.t.Errorf("%s %s %s: no final answer in %v; the last was %d %s", method, path, body, giveUp, a.Status, a.Body)
	return a, false
}

// order sells the name with the number, or for one in 16 the one before, for which another asks at the same time.
func (b *buyer) order(n int) {
	domain, key := name(n), uuid.NewString()
	if n%16 == 15 {
		domain = name(n - 1)
	}
	body := fmt.Sprintf(`{"domain":%q,"expected_price":%d,"buyer":{"email":"buyer%d@mail.example"}}`, domain, priceCents, n)
	if n%2 == 0 {
		a, ok := b.insist("POST", "/quotes", fmt.Sprintf(`{"domain":%q}`, domain), "")
		if !ok || a.Status != 201 {
			b.lose(domain, a, ok)
			return
		}
		var quote struct {
			ID string `json:"quote_id"`
		}
		if err := json.Unmarshal(a.Body, &quote); err != nil {
			b.t.Errorf("quote: %v", err)
			return
		}
		body = fmt.Sprintf(`{"quote_id":%q,"external_payment_ref":%q}`, quote.ID, key)
	}
	a, ok := b.insist("POST", "/orders", body, key)
	if !ok || a.Status != 201 {
		b.lose(domain, a, ok)
		return
	}
	if a.Replayed {
		b.replays.Add(1)
	}
	var o struct {
		PublicID string `json:"public_id"`
		Domain   string
	}
	if err := json.Unmarshal(a.Body, &o); err != nil || o.Domain != domain {
		b.t.Errorf("the order of %s was answered %s: %v", domain, a.Body, err)
	}
	order := acknowledged{key: key, body: body, domain: domain, answer: string(a.Body), id: o.PublicID}
	if n%16 == 7 {
		a, ok := b.insist("POST", "/refunds", fmt.Sprintf(`{"order_id":%q}`, o.PublicID), uuid.NewString())
		order.refunded = ok && a.Status == 201
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders = append(b.orders, order)
	if order.refunded {
		b.refunds++
	}
}

// lose takes note of an answer that the name is sold.
func (b *buyer) lose(domain string, a loadgen.Response, final bool) {
	if !final {
		return
	}
	b.lost.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sold[domain] = true
}

// check holds what was acknowledged against itself and against the events.
func (m *crowd) check(events []happened) {
	m.t.Helper()
	told := map[string]int{}
	ids := map[string]bool{}
	for _, e := range events {
		if ids[e.ID] {
			m.t.Errorf("event %s came twice", e.ID)
		}
		ids[e.ID] = true
		told[e.Type+" "+e.Data.Order.PublicID+" "+e.Data.Order.Domain]++
	}
	sold, orders := map[string]bool{}, map[string]bool{}
	for _, o := range m.orders {
		if sold[o.domain] || orders[o.id] {
			m.t.Errorf("order %s of %s is acknowledged under two keys", o.id, o.domain)
		}
		sold[o.domain], orders[o.id] = true, true
		refunds := 0
		if o.refunded {
			refunds = 1
		}
		recorded, refunded := told["order.recorded "+o.id+" "+o.domain], told["order.refunded "+o.id+" "+o.domain]
		if recorded != 1 || refunded != refunds {
			m.t.Errorf("order %s of %s has %d events order.recorded, want 1, and %d order.refunded, want %d", o.id, o.domain, recorded, refunded, refunds)
		}
	}
	if len(events) != len(m.orders)+m.refunds {
		m.t.Errorf("got %d events, want one for each of %d orders and %d refunds", len(events), len(m.orders), m.refunds)
	}
	for domain := range m.sold {
		if !sold[domain] {
			m.t.Errorf("%s was said to be sold, and nobody has it", domain)
		}
	}
}

// repeat sends orders again with their keys.
func (m *crowd) repeat() {
	m.t.Helper()
	line := m.anyService().line(m.by)
	for _, at := range rand.Perm(len(m.orders))[:min(repeats, len(m.orders))] {
		o := m.orders[at]
		a, err := line.Do("POST", loadgen.Root+"/orders", o.body, o.key)
		if err != nil {
			m.t.Fatal(err)
		}
		if a.Status != 201 || !a.Replayed || string(a.Body) != o.answer {
			m.t.Errorf("order %s repeated: got %d %s, replayed %t; want %s", o.id, a.Status, a.Body, a.Replayed, o.answer)
		}
	}
}

// audit checks the store, which is no longer in use.
func (m *crowd) audit(c *fixture) {
	t := m.t
	t.Helper()
	db := storetest.Open(t, c.cfg)
	report, err := c.operator(t, db).CheckLedger(t.Context())
	if err != nil || len(report.Violations) > 0 || report.Orders != len(m.orders) {
		t.Errorf("ledger check: got %v, %v; want %d orders and no violation", report, err, len(m.orders))
	}
	health, err := db.Check(t.Context())
	if err != nil || len(health.Problems) > 0 {
		t.Errorf("store check: got %v, %v", health, err)
	}
	orders, both := len(m.orders), len(m.orders)+m.refunds
	for what, of := range map[string]struct {
		query string
		want  int
	}{
		"orders":                       {`SELECT COUNT(*) FROM orders`, orders},
		"listings with an order":       {`SELECT COUNT(DISTINCT listing_id) FROM orders`, orders},
		"listings sold":                {`SELECT COUNT(*) FROM listings WHERE status = 'sold'`, orders - m.refunds},
		"refunds":                      {`SELECT COUNT(*) FROM refunds`, m.refunds},
		"answers kept":                 {`SELECT COUNT(*) FROM partner_answers`, both},
		"steps of timelines":           {`SELECT COUNT(*) FROM order_timeline`, both},
		"events":                       {`SELECT COUNT(*) FROM events`, both},
		"the number of the last event": {`SELECT MAX(number) FROM events`, both},
		"the number of the stream":     {`SELECT last FROM event_streams`, both},
	} {
		var got int
		err := db.Read(t.Context(), func(tx store.Tx) error { return tx.QueryRow(t.Context(), of.query).Scan(&got) })
		if err != nil || got != of.want {
			t.Errorf("%s: got %d, %v; want %d", what, got, err, of.want)
		}
	}
}

// A follower polls the events after the last that it has seen.
type follower struct {
	seen chan []happened
	stop context.CancelFunc
}

func follow(t *testing.T, s *service, by signature.Credential) *follower {
	ctx, stop := context.WithCancel(t.Context())
	f := &follower{make(chan []happened, 1), stop}
	go func() {
		var seen []happened
		var line *loadgen.Conn
		for last := false; ; {
			var some []happened
			var err error
			ending := ctx.Err() != nil
			if line == nil {
				line, err = s.dial(by)
			}
			if err == nil {
				after := ""
				if len(seen) > 0 {
					after = seen[len(seen)-1].ID
				}
				some, err = history(line, after)
				seen = append(seen, some...)
			}
			if err != nil && line != nil {
				_ = line.Close()
				line = nil
			}
			if last = ending && err == nil; last {
				f.seen <- seen
				_ = line.Close()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return f
}

// finish returns all that was seen, when there is no more.
func (f *follower) finish() []happened {
	f.stop()
	return <-f.seen
}

// A postbox receives webhooks.
type postbox struct {
	t   *testing.T
	url string
	mu  sync.Mutex
	got map[string]int
}

func newPostbox(t *testing.T) *postbox {
	p := &postbox{t: t, got: map[string]int{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got[r.Header.Get("X-Service-Event-Id")]++
	}))
	t.Cleanup(s.Close)
	p.url = s.URL
	return p
}

func (p *postbox) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got)
}

// await waits until all events have come: what a killed process was about to send another takes over in half a minute.
func (p *postbox) await(events []happened) {
	for deadline := time.Now().Add(2 * time.Minute); p.count() < len(events); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Errorf("%d of %d events were delivered in time", p.count(), len(events))
			return
		}
	}
}

// check finds events that were delivered and are none.
func (p *postbox) check(events []happened) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[string]bool{}
	for _, e := range events {
		known[e.ID] = true
	}
	for id := range p.got {
		if !known[id] {
			p.t.Errorf("event %q was delivered and is not in the history", id)
		}
	}
}

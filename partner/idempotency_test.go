package partner

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/serve/middleware"
	"github.com/namewharf/namewharf/serve/rest"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// posts are requests for each POST that take effect, as often as they are made.
func posts(s *testServer) map[string]func() request {
	s.Helper()
	sold := func() string {
		s.Helper()
		return s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900,"buyer":{"email":"ada@buyer.example","name":"Ada"}}`), 201).text("public_id")
	}
	return map[string]func() request{
		"partner_create_quote": func() request { return s.post(root+"/quotes", `{"domain":"brewhaven.example"}`) },
		"partner_create_order": func() request { return s.post(root+"/orders", orderBody) },
		"partner_create_refund": func() request {
			return s.post(root+"/refunds", `{"order_id":"`+sold()+`"}`)
		},
		"partner_create_checkout": func() request {
			return s.post(root+"/checkout-session", strings.Replace(checkoutBody, "brewhaven", "coffeeshop", 1))
		},
		"partner_test_webhook": func() request { return s.post(webhooks+"/test", "") },
		"partner_redeliver": func() request {
			s.ok(s.post(webhooks+"/test", ""), 200)
			id := objects(s.ok(s.get(webhooks+"/deliveries"), 200), "deliveries")[0]["delivery_id"].(string)
			return s.post(webhooks+"/deliveries/"+id+"/redeliver", "")
		},
		"partner_advance_clock": func() request { return s.post(root+"/sandbox/clock", `{"advance_seconds":60}`) },
		"partner_create_case":   func() request { return s.post(root+"/brokerage", fmt.Sprintf(caseBody, "parked-every.example")) },
		"partner_play_case": func() request {
			return s.post(root+"/sandbox/brokerage/"+s.caseOf("parked-play.example").CaseID+"/close", "")
		},
		"partner_create_link": func() request {
			s.affiliate()
			return s.post(root+"/links", `{"type":"generic"}`)
		},
		"partner_play_order": func() request {
			return s.post(root+"/sandbox/orders/"+sold()+"/fail", "")
		},
	}
}

// caused is what one effect of each POST adds to tables: events and lines of the audit log.
var caused = map[string][2]int{
	"partner_create_quote": {0, 0}, "partner_create_order": {1, 0}, "partner_create_refund": {1, 1}, "partner_test_webhook": {1, 0},
	"partner_create_case": {0, 1}, "partner_play_case": {0, 1}, "partner_redeliver": {0, 1}, "partner_create_link": {0, 0}, "partner_advance_clock": {0, 1}, "partner_play_order": {1, 1},
	"partner_create_checkout": {0, 0},
}

// effects returns the number of rows that requests have written, by table.
func (s *testServer) effects() string {
	s.Helper()
	var all []string
	for _, query := range []string{
		`SELECT COUNT(*) FROM orders`, `SELECT COUNT(*) FROM order_timeline`, `SELECT COUNT(*) FROM refunds`, `SELECT COUNT(*) FROM events`,
		`SELECT COUNT(*) FROM postings`, `SELECT COUNT(*) FROM audit_log`, `SELECT COUNT(*) FROM partner_answers`,
		`SELECT COUNT(*) FROM webhook_deliveries`, `SELECT COUNT(*) FROM checkout_sessions`, `SELECT COUNT(*) FROM brokerage_timeline`, `SELECT COUNT(*) FROM referral_links`, `SELECT SUM(sandbox_ahead) FROM partners`, `SELECT SUM(change) FROM listing_changes`,
	} {
		all = append(all, fmt.Sprint(s.count(query)))
	}
	return strings.Join(all, " ")
}

// Every POST there is has one effect for one key, whatever comes at once and at whichever process, and its answer is given
// to all.
func TestEveryPostRunsOnce(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		receiver := newReceiver(t)
		a.ok(a.put(webhooks, `{"url":"`+receiver.URL+`","secret":"webhook-secret-0123456789"}`), 200)
		requests := posts(a)
		for _, o := range a.api.Set().All() {
			if o.Route.Method != http.MethodPost {
				continue
			}
			if o.Idempotency == op.None {
				t.Errorf("%s takes no idempotency key", o.Name)
			}
			make := requests[o.Name]
			if make == nil {
				t.Errorf("%s is not tried: add a request to posts in partner/idempotency_test.go, and to caused the events and lines of the audit log it adds", o.Name)
				continue
			}
			r := make()
			key := "every " + o.Name
			before := a.effects()
			causes := func() [2]int {
				return [2]int{a.count(`SELECT COUNT(*) FROM events`), a.count(`SELECT COUNT(*) FROM audit_log`)}
			}
			earlier := causes()
			var same []request
			for range 12 {
				again := r.keyed(key)
				again.nonce = uuid.NewString()
				same = append(same, again)
			}
			first, fresh := "", 0
			for _, got := range parallel(t, []*testServer{a, b}, same) {
				if got.status != o.Route.Status {
					t.Errorf("%s: got %d %s", o.Name, got.status, got.body)
				}
				if first == "" {
					first = got.body
				}
				if got.body != first {
					t.Errorf("%s: answers differ: %s and %s", o.Name, got.body, first)
				}
				if got.header.Get("Idempotency-Replayed") == "" {
					fresh++
				}
			}
			once := a.effects()
			if fresh != 1 || once == before {
				t.Errorf("%s: %d answers are not replayed, want one; effects %s, before %s", o.Name, fresh, once, before)
			}
			want := caused[o.Name]
			if got := causes(); got != [2]int{earlier[0] + want[0], earlier[1] + want[1]} {
				t.Errorf("%s: %v events and lines of the audit log after 12 requests, %v before, want %v more", o.Name, got, earlier, want)
			}
			again := r.keyed(key)
			again.nonce = uuid.NewString()
			if got := b.ok(again, o.Route.Status); got.body != first || a.effects() != once {
				t.Errorf("%s, later: got %s, want %s; effects %s, want %s", o.Name, got.body, first, a.effects(), once)
			}
		}
		a.books()
	}, loopback)
}

// Stored answers do not contain buyers. A repeated answer contains the buyer as long as the order does.
func TestBuyersAreNotKeptForRepetitions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *testServer) {
		body := `{"domain":"brewhaven.example","expected_price":9900,"buyer":{"email":"ada@buyer.example","name":"Ada Lovelace","country":"GB"}}`
		order := s.ok(s.order(body).keyed("order"), 201)
		play := s.post(root+"/sandbox/orders/"+order.text("public_id")+"/hold", "").keyed("play")
		played := s.ok(play, 200)
		refund := s.post(root+"/refunds", `{"order_id":"`+order.text("public_id")+`"}`).keyed("refund")
		refunded := s.ok(refund, 201)
		for _, first := range []answer{order, played, refunded} {
			if !strings.Contains(first.body, "ada@buyer.example") {
				t.Errorf("the answer does not say who bought: %s", first.body)
			}
		}
		for _, word := range []string{"ada@buyer", "Lovelace"} {
			if n := s.count(`SELECT COUNT(*) FROM partner_answers WHERE body LIKE '%` + word + `%'`); n != 0 {
				t.Errorf("%d stored answers contain %s", n, word)
			}
			if n := s.count(`SELECT COUNT(*) FROM events WHERE data LIKE '%` + word + `%'`); n != 0 {
				t.Errorf("%d events hold %s", n, word)
			}
		}
		again := func(r request, want answer) {
			t.Helper()
			r.nonce = uuid.NewString()
			if got := s.ok(r, want.status); got.body != want.body || got.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("repeated: got %s, want %s", got.body, want.body)
			}
		}
		again(s.order(body).keyed("order"), order)
		again(play, played)
		again(refund, refunded)
		if err := s.exec(`UPDATE orders SET buyer_email = '', buyer_name = '', buyer_country = ''`); err != nil { // their time is over
			t.Fatal(err)
		}
		got := s.ok(s.order(body).keyed("order"), 201)
		if strings.Contains(got.body, "buyer") || got.text("public_id") != order.text("public_id") {
			t.Errorf("after the buyers were removed: %s", got.body)
		}
	})
}

type written struct {
	Domain string `json:"domain"`
}

// serveWrite serves a minimal write, made by the constructor only. It writes a row, then calls then.
func serveWrite(s *testServer, then func()) (url string) {
	s.Helper()
	write := op.Operation[NoInput, written]{
		Name: "partner_write", Title: "Write", Doc: "Writes a row.", Route: op.Route{Method: "POST", Path: root + "/write", Status: 201},
		Scope: credential.ScopeBuy, Limit: ClassWrite, Effect: op.Writes, Idempotency: op.Required,
		Kept: op.Once(s.api, func(ctx context.Context, tx store.Tx, _ NoInput, now time.Time) (written, error) {
			out := written{store.NewID("row") + ".example"}
			_, err := tx.Exec(ctx, `INSERT INTO flagged_domains (domain, created_at) VALUES ($1, $2)`, out.Domain, store.Micros(now))
			if err == nil {
				then()
			}
			return out, err
		}),
	}
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	server.Config.Handler = rest.New(rest.Config{
		Middleware: middleware.New(middleware.Config{BaseURL: base, Tokens: middleware.NoTokens, Logger: slog.New(slog.DiscardHandler)}),
		Set:        op.NewSet(time.Now),
		Partner:    &rest.Partner{Set: op.NewSet(time.Now, write), Signatures: s.api}, Version: "1",
	})
	server.Start()
	s.Cleanup(server.Close)
	return base
}

// A write that is made by the constructor runs once for one key: at once, at two processes, and after a process was
// killed in the middle of it.
func TestConstructedWrite(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		text := seal.NewText()
		keyed := func(set *options) {
			var err error
			if set.Keys, err = seal.Parse(text); err != nil {
				t.Fatal(err)
			}
		}
		a := open(t, storetest.Open(t, cfg), real, keyed)
		b := openSecond(t, a, cfg, real, keyed)
		rows := func() int { return a.count(`SELECT COUNT(*) FROM flagged_domains`) }
		send := func(url, key string) (answer, error) {
			r := a.post(root+"/write", "").keyed(key)
			r.at = time.Now()
			return exchange(http.DefaultClient, r.build(t.Context(), url))
		}

		stuck := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.timeout=5m")
		config, err := json.Marshal(childConfig{Dir: cfg.Dir, URL: cfg.URL, Keys: text, Stuck: true})
		if err != nil {
			t.Fatal(err)
		}
		stuck.Env = append(os.Environ(), childVariable+"="+string(config))
		out, err := stuck.StdoutPipe()
		if err == nil {
			err = stuck.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
				go func() {
					_, err := send(url, "killed")
					failed <- err
				}()
			}
			if lines.Text() == "written" {
				break
			}
		}
		_ = stuck.Process.Kill()
		_ = stuck.Wait()
		if err := <-failed; err == nil || rows() != 0 {
			t.Fatalf("the process answered, %v, or left %d rows", err, rows())
		}

		urls := []string{serveWrite(a, func() {}), serveWrite(b, func() {})}
		for i, key := range []string{"killed", "another"} {
			type result struct {
				answer
				err error
			}
			results := make(chan result)
			for n := range 20 {
				go func() {
					got, err := send(urls[n%2], key)
					results <- result{got, err}
				}()
			}
			bodies, fresh := map[string]bool{}, 0
			for range 20 {
				r := <-results
				if r.err != nil || r.status != 201 {
					t.Errorf("%s: %d %s, %v", key, r.status, r.body, r.err)
				}
				bodies[r.body] = true
				if r.header.Get("Idempotency-Replayed") == "" {
					fresh++
				}
			}
			if len(bodies) != 1 || fresh != 1 || rows() != i+1 {
				t.Errorf("%s: %d different answers, %d of them not replayed, %d rows: want one more", key, len(bodies), fresh, rows())
			}
		}
		if got, err := send(urls[0], ""); err != nil || got.status != 400 {
			t.Errorf("without a key: %d %s, %v", got.status, got.body, err)
		}
	})
}

// However a path is written, it is the same route, and draws on the same limit: with another spelling a key had another
// effect.
func TestSpellingsOfAPath(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, limited, loopback)
	receiver := newReceiver(t)
	s.ok(s.put(webhooks, `{"url":"`+receiver.URL+`","secret":"webhook-secret-0123456789"}`), 200)
	spell := func(r request, path string) request {
		r.path, r.nonce = path, uuid.NewString()
		return r
	}
	order := s.order(orderBody).keyed("order")
	first := s.ok(order, 201)
	play := s.post(root+"/sandbox/orders/"+first.text("public_id")+"/hold", "").keyed("play")
	held := s.ok(play, 200)
	quote := s.post(root+"/quotes", `{"domain":"brewpath.test"}`).keyed("quote")
	quoted := s.ok(quote, 201)
	tested := s.post(webhooks+"/test", "").keyed("test")
	test := s.ok(tested, 200)
	for _, c := range []struct {
		name, path string
		request
		want answer
	}{
		{"a letter", "/api/partner/v1/%6Frders", order, first},
		{"a letter in lower case", "/api/partner/v1/%6frders", order, first},
		{"all letters", "/api/partner/v1/%6F%72%64%65%72%73", order, first},
		{"the prefix", "/%61pi/%70artner/v1/orders", order, first},
		{"the version", "/api/partner/%76%31/orders", order, first},
		{"quotes", "/api/partner/v1/%71uotes", quote, quoted},
		{"a wildcard", root + "/sandbox/orders/%6F" + first.text("public_id")[1:] + "/hold", play, held},
		{"two wildcards", root + "/sandbox/%6Frders/" + first.text("public_id") + "/%68old", play, held},
		{"webhooks", "/api/partner/%77ebhooks/test", tested, test},
	} {
		got := s.ok(spell(c.request, c.path), c.want.status)
		if got.body != c.want.body || got.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: got %s, replayed %q, want %s", c.name, got.body, got.header.Get("Idempotency-Replayed"), c.want.body)
		}
		if class := got.header.Get("RateLimit"); !strings.HasPrefix(class, `"write"`) {
			t.Errorf("%s: draws on %s", c.name, class)
		}
	}
	if n := s.count(`SELECT COUNT(*) FROM events WHERE type = 'webhook.test'`); n != 1 {
		t.Errorf("%d test events", n)
	}
	other := s.ok(s.order(`{"domain":"brewpath.test","expected_price":4900}`), 201).text("public_id")
	if got := s.ok(s.post(root+"/sandbox/orders/"+other+"/hold", "").keyed("play"), 200); got.text("public_id") != other {
		t.Errorf("one key at two orders: %s", got.body)
	}
	s.clock.advance(time.Minute)
	for _, path := range []string{root + "/%6Frders/..%2Forders", root + "/%2e%2e/v1/orders", root + "//orders", root + "/orders%2F", root + "/orders%3Fa=b"} {
		r := spell(s.order(`{"domain":"coffeeshop.example","expected_price":49900}`), path)
		if got := s.send(r); got.status != 404 {
			t.Errorf("%s: got %d %s, want 404", path, got.status, got.body)
		}
	}
}

package partner

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// childVariable makes the test binary the server that [TestKilled] kills.
const childVariable = "PARTNER_TEST_CHILD"

// A childConfig configures the server process.
type childConfig struct {
	Dir, URL string
	Keys     string
	Stuck    bool // serve what [serveWrite] does, whose effect never ends
}

// TestChild is no test: it is the server, until it is killed.
func TestChild(t *testing.T) {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var cfg childConfig
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	keys, err := seal.Parse(cfg.Keys)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, storetest.Open(t, store.Config{Dir: cfg.Dir, URL: cfg.URL}), real, func(set *options) { set.Keys, set.seed = keys, "" })
	url := s.http.URL
	if cfg.Stuck {
		url = serveWrite(s, func() {
			fmt.Printf("\nwritten\n")
			select {}
		})
	}
	fmt.Printf("\nserving %s\n", url)
	select {}
}

// child starts a server and returns its address and what kills it.
func child(t *testing.T, cfg childConfig) (url string, kill func()) {
	t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$", "-test.timeout=5m")
	c.Env = append(os.Environ(), childVariable+"="+string(text))
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() { _ = c.Process.Kill(); _ = c.Wait() })
	t.Cleanup(kill)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			return url, kill
		}
	}
	t.Fatal("the server does not start")
	return "", nil
}

// A server is killed repeatedly while it receives orders. Each acknowledged order is stored once, with its event and
// postings; its nonce is still refused, and its repetition returns the stored answer.
func TestKilled(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		const rounds, perRound = 3, 40
		text := seal.NewText()
		s := open(t, storetest.Open(t, cfg), real, func(set *options) {
			var err error
			if set.Keys, err = seal.Parse(text); err != nil {
				t.Fatal(err)
			}
			set.seed = many(rounds * perRound)
		})
		now := func(r request) request {
			r.at, r.nonce = time.Now(), uuid.NewString()
			return r
		}
		passed := map[string]request{} // the request that was acknowledged, by its key
		var mu sync.Mutex
		for round := range rounds {
			url, kill := child(t, childConfig{Dir: cfg.Dir, URL: cfg.URL, Keys: text})
			client := &http.Client{Timeout: 20 * time.Second}
			var acknowledged atomic.Int32
			var wg sync.WaitGroup
			for n := range perRound {
				wg.Go(func() {
					key := fmt.Sprintf("order %d %d", round, n)
					r := now(s.post(root+"/orders", fmt.Sprintf(`{"domain":"bench%07d.example","expected_price":9900}`, round*perRound+n)).keyed(key))
					got, err := exchange(client, r.build(t.Context(), url))
					if err != nil {
						return // it was killed
					}
					if got.status != 201 {
						t.Errorf("%s: %d %s", key, got.status, got.body)
					}
					mu.Lock()
					passed[key] = r
					mu.Unlock()
					if acknowledged.Add(1) == perRound/2 {
						kill()
					}
				})
			}
			wg.Wait()
			kill()
		}
		url, _ := child(t, childConfig{Dir: cfg.Dir, URL: cfg.URL, Keys: text})
		orders := s.count(`SELECT COUNT(*) FROM orders`)
		if orders < len(passed) || len(passed) < rounds*perRound/2 {
			t.Errorf("%d orders, %d of them acknowledged", orders, len(passed))
		}
		for key, r := range passed {
			got, err := exchange(http.DefaultClient, r.build(t.Context(), url))
			if err != nil || got.code() != fault.ReplayDetected {
				t.Errorf("%s, replayed: %d %s, %v", key, got.status, got.body, err)
			}
			got, err = exchange(http.DefaultClient, now(r).build(t.Context(), url))
			if err != nil || got.status != 201 || got.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("%s, repeated: %d %s, %v", key, got.status, got.body, err)
			}
		}
		if n := s.count(`SELECT COUNT(*) FROM orders`); n != orders {
			t.Errorf("%d orders after repetitions, %d before", n, orders)
		}
		if n := s.count(`SELECT COUNT(*) FROM events WHERE type = 'order.recorded'`); n != orders {
			t.Errorf("%d events of %d orders", n, orders)
		}
		if last := s.count(`SELECT MAX(number) FROM events`); last != orders {
			t.Errorf("the last of %d events is number %d", orders, last)
		}
		if n := s.count(`SELECT COUNT(*) FROM listings WHERE status = 'sold'`); n != orders {
			t.Errorf("%d names are sold by %d orders", n, orders)
		}
		s.books()
	})
}

package payment_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// Variables that make the test binary the victim of TestKilledProcessIsFinished: a directory or a database URL, and the keys.
const (
	crashVariable = "NAMEWHARF_TEST_PAYMENT"
	keysVariable  = "NAMEWHARF_TEST_PAYMENT_KEYS"
)

func TestMain(m *testing.M) {
	if where := os.Getenv(crashVariable); where != "" {
		sellUntilKilled(where)
	}
	os.Exit(m.Run())
}

// process is what a program wires: a service, the test provider, and their work in the background.
func process(ctx context.Context, db *store.DB, keys *seal.Keys) (*payment.Service, *testprovider.Provider, func(), error) {
	p, err := testprovider.New(ctx, testprovider.Config{DB: db, Keys: keys, PageURL: func(id string) string { return "https://pay.example/" + id }})
	if err != nil {
		return nil, nil, nil, err
	}
	s := payment.New(payment.Config{DB: db, Consumer: shop{}, Providers: map[string]payment.Provider{"SANDBOX": p}})
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	wg.Go(func() { p.Run(ctx, s.Notice) })
	return s, p, func() { stop(); wg.Wait() }, nil
}

// sellUntilKilled lets buyers, two for each name, pay and come back, and prints the name when both have.
func sellUntilKilled(where string) {
	fatal := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx := context.Background()
	cfg := store.Config{Dir: where}
	if strings.HasPrefix(where, "postgres:") {
		cfg = store.Config{URL: where}
	}
	keys, err := seal.Parse(os.Getenv(keysVariable))
	if err != nil {
		fatal(err)
	}
	db, err := store.Open(ctx, cfg)
	if err != nil {
		fatal(err)
	}
	s, p, _, err := process(ctx, db, keys)
	if err != nil {
		fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				name := store.NewID("name")
				var buyers sync.WaitGroup
				for i := range 2 {
					buyers.Go(func() {
						got, err := s.Start(ctx, request(fmt.Sprintf("%s#%d", name, i)))
						if err != nil {
							fatal(err)
						}
						if _, err := p.Pay(ctx, got.ID, goodCard); err != nil {
							fatal(err)
						}
						if i == 0 { // the other's browser never comes back
							if _, err := s.Advance(ctx, got.ID); err != nil {
								fatal(err)
							}
						}
					})
				}
				buyers.Wait()
				fmt.Println(name)
			}
		})
	}
	wg.Wait()
}

// TestKilledProcessIsFinished kills a process in which buyers pay, three times. Within 8 s of the next start everything is
// finished: each name has at most one order, which is paid, and whoever has none paid nothing.
func TestKilledProcessIsFinished(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		text := seal.NewText()
		keys, err := seal.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		db := storetest.Open(t, cfg)
		makeShop(t, db)
		if db.Engine() == store.SQLite { // so that the victim's successor has to recover the log
			db.Close()
		}
		for range 3 {
			runVictim(t, cfg.Dir+cfg.URL, text, 15)
		}
		if db.Engine() == store.SQLite {
			db = storetest.Open(t, cfg)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		began := time.Now()
		s, p, stop, err := process(t.Context(), db, keys)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		half := 0
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			b, err := s.Backlog(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			paid := 0
			for _, id := range waiting(t, s) { // who paid waits for us, not we for them
				if v, err := p.View(t.Context(), id); err == nil && v.Step == testprovider.Done {
					paid++
				}
			}
			half = max(half, b.Due+paid)
			if b.Due == 0 && paid == 0 {
				tick.Stop()
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				t.Fatalf("8 s after the start %d payments are still half done, %d paid and not noticed", b.Due, paid)
			}
		}
		took := time.Since(began)
		stop()
		clock := newClock()
		clock.move(time.Since(clock.now())) // to the real time
		w := newFixture(t, db, clock, testBankOf(t, db, keys, time.Now))
		for range 20 { // notices that came just before the stop
			clock.move(5 * time.Second)
			w.must(w.service.Reconcile(t.Context()))
			if b, err := w.service.Backlog(t.Context()); err != nil || b.Due == 0 {
				w.must(err)
				break
			}
		}
		n := 0
		for after := ""; ; {
			page, next, err := s.List(t.Context(), payment.Filter{After: after, Limit: payment.MaxPage})
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range page {
				n++
				if got.State != payment.Started { // whose buyers had not paid
					w.check(got.Purchase)
				}
			}
			if after = next; next == "" {
				break
			}
		}
		if twice := w.list(`SELECT name FROM test_orders GROUP BY name HAVING COUNT(*) > 1`); len(twice) > 0 {
			t.Errorf("sold twice: %v", twice)
		}
		t.Logf("%d payments, at least %d of them half done; finished %v after the start", n, half, took)
	})
}

// waiting are the payments that wait for their buyers.
func waiting(t *testing.T, s *payment.Service) (ids []string) {
	t.Helper()
	page, _, err := s.List(t.Context(), payment.Filter{State: payment.Started, Limit: payment.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range page {
		ids = append(ids, p.ID)
	}
	return ids
}

// runVictim starts a process that sells, and kills it after enough names.
func runVictim(t *testing.T, where, keys string, enough int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), crashVariable+"="+where, keysVariable+"="+keys)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sold := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if sold++; sold == enough {
			cmd.Process.Kill()
		}
	}
	cmd.Wait() // reports the kill
	if sold < enough {
		t.Fatalf("the process ended after %d names, want at least %d", sold, enough)
	}
}

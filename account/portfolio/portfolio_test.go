package portfolio_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tools"
)

// A fakeNetwork answers for DNS and the registry as a test sets it.
type fakeNetwork struct {
	mu            sync.Mutex
	txt           map[fqdn.Name][]string
	registrations map[fqdn.Name]portfolio.Registration
	down          error         // of both, if not nil
	wait          chan struct{} // DNS answers once it is closed, if not nil
	asked         []string      // of the registry, in order
	asking        func()        // called while the registry is asked, if not nil
	busy, busiest atomic.Int32  // questions under way
}

func (w *fakeNetwork) TXT(ctx context.Context, label string, name fqdn.Name) ([]string, error) {
	n := w.busy.Add(1)
	defer w.busy.Add(-1)
	for most := w.busiest.Load(); n > most && !w.busiest.CompareAndSwap(most, n); most = w.busiest.Load() {
	}
	if w.wait != nil {
		select {
		case <-w.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if label != portfolio.ProofLabel {
		return nil, errors.New("another label was asked for")
	}
	return w.txt[name], w.down
}

func (w *fakeNetwork) Registration(_ context.Context, name fqdn.Name, afresh bool) (portfolio.Registration, error) {
	if w.asking != nil {
		w.asking()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	how := name.String()
	if afresh {
		how += " afresh"
	}
	w.asked = append(w.asked, how)
	return w.registrations[name], w.down
}

func (w *fakeNetwork) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// A clock is set by the test.
type clock struct{ nanos atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) move(d time.Duration) { c.nanos.Add(int64(d)) }

// A fixture is a portfolio on a fake network.
type fixture struct {
	*portfolio.Portfolio
	*fakeNetwork
	clock  *clock
	db     *store.DB
	market *market.Market
}

func eachFixture(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		c := &clock{}
		c.nanos.Store(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).UnixNano())
		cfg.Now = c.now
		test(t, newFixture(t, storetest.Open(t, cfg), c))
	})
}

func newFixture(t *testing.T, db *store.DB, c *clock) *fixture {
	t.Helper()
	m, err := market.New(t.Context(), market.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	w := &fakeNetwork{txt: map[fqdn.Name][]string{}, registrations: map[fqdn.Name]portfolio.Registration{}}
	p := portfolio.New(portfolio.Config{
		DB: db, Suffixes: fqdn.NewSuffixes([]string{"com"}, nil), DNS: w, Registry: w, Market: tools.MarketOf(m, db.Now), Pace: time.Nanosecond,
	})
	return &fixture{p, w, c, db, m}
}

func named(names ...string) []fqdn.Name {
	all := make([]fqdn.Name, len(names))
	for i, n := range names {
		all[i] = fqdn.MustParse(n)
	}
	return all
}

// own makes the account the owner of the names, which it offers.
func (b *fixture) own(t *testing.T, account string, names ...string) {
	t.Helper()
	for _, name := range named(names...) {
		claim, err := b.Add(t.Context(), account, name)
		if err != nil {
			t.Fatal(err)
		}
		b.set(func() { b.txt[name] = []string{claim.Proof} })
	}
	for _, c := range []portfolio.Change{
		{Op: portfolio.List, Names: named(names...), Price: money.USD(100)}, {Op: portfolio.Verify, Names: named(names...)},
	} {
		if got := b.apply(t, account, c); strings.Trim(got, ", ok") != "" {
			t.Fatalf("%s: %s", c.Op, got)
		}
	}
}

// apply returns the results as ok or a code each.
func (b *fixture) apply(t *testing.T, account string, c portfolio.Change) string {
	t.Helper()
	errs, err := b.Apply(t.Context(), account, c)
	if err != nil {
		t.Fatalf("%s: %v", c.Op, err)
	}
	var all []string
	for _, err := range errs {
		if err == nil {
			all = append(all, "ok")
		} else {
			all = append(all, string(fault.From(err).Code))
		}
	}
	return strings.Join(all, ", ")
}

func (b *fixture) status(t *testing.T, account, name string) string {
	t.Helper()
	claims, _, err := b.List(t.Context(), account, fqdn.Name{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.Domain.String() == name {
			_, shown := b.market.Get(market.Live, c.Domain)
			return fmt.Sprintf("%s, for sale %v", c.Status, shown)
		}
	}
	return ""
}

func (b *fixture) recheck(t *testing.T) int {
	t.Helper()
	n, err := b.Recheck(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func equal(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

func TestANameThatChangedHandsIsSuspended(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		name := fqdn.MustParse("a.com")
		first := portfolio.Registration{RegistrarID: "1", Registrar: "One", Created: b.clock.now().AddDate(-3, 0, 0), Expires: b.clock.now().AddDate(1, 0, 0)}
		b.set(func() { b.registrations[name] = first })
		b.own(t, "acc_1", "a.com")
		if n := b.recheck(t); n != 1 {
			t.Errorf("after the proof %d names are asked about, want 1", n)
		}
		if n := b.recheck(t); n != 0 {
			t.Errorf("at once %d names are asked about again, want 0", n)
		}
		claims, _, err := b.List(t.Context(), "acc_1", fqdn.Name{}, 1)
		if err != nil || claims[0].Registration != first || !claims[0].CheckedAt.Equal(b.clock.now()) {
			t.Errorf("claim: %+v, %v; want %+v", claims, err, first)
		}
		proof := claims[0].Proof

		renewed := first
		renewed.Expires = first.Expires.AddDate(1, 0, 0)
		b.clock.move(24 * time.Hour)
		b.set(func() { b.registrations[name] = renewed })
		b.recheck(t)
		equal(t, "renewed", b.status(t, "acc_1", "a.com"), "verified, for sale true")

		b.clock.move(24 * time.Hour)
		b.set(func() { b.down = fault.New(fault.Unavailable, "closed").WithRetry(2 * time.Hour) })
		b.recheck(t)
		equal(t, "when the registry is silent", b.status(t, "acc_1", "a.com"), "verified, for sale true")
		b.clock.move(2*time.Hour - time.Second)
		if n := b.recheck(t); n != 0 {
			t.Error("the registry is asked before the time that it gave")
		}
		moved := renewed
		moved.RegistrarID = "2"
		b.set(func() { b.down, b.registrations[name] = nil, moved })
		b.clock.move(time.Second)
		b.recheck(t)
		equal(t, "with another registrar", b.status(t, "acc_1", "a.com"), "suspended, for sale false")
		events, err := b.Log(t.Context(), "acc_1", 1)
		if err != nil || len(events) != 1 || events[0].Kind != portfolio.Paused || events[0].Domain != name || !strings.Contains(events[0].Detail, "another registrar") {
			t.Errorf("event: %+v, %v", events, err)
		}
		equal(t, "the price of a suspended name", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.SetPrice, Names: named("a.com"), Price: money.USD(7)}), "ok")
		equal(t, "offered again", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.List, Names: named("a.com"), Price: money.USD(8)}), "ok")
		equal(t, "then", b.status(t, "acc_1", "a.com"), "suspended, for sale false")

		equal(t, "the proof of before", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.Verify, Names: named("a.com")}), "conflict")
		claim, err := b.Add(t.Context(), "acc_1", name)
		if err != nil || claim.Proof == proof || claim.Status != portfolio.Suspended {
			t.Errorf("claim: %+v, %v; want it suspended, with another proof", claim, err)
		}
		b.set(func() { b.txt[name] = []string{claim.Proof} })
		equal(t, "another proof", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.Verify, Names: named("a.com")}), "ok")
		b.recheck(t)
		equal(t, "with the registrar of now", b.status(t, "acc_1", "a.com"), "verified, for sale true")
	})
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		b.own(t, "acc_1", "a.com", "b.com")
		if _, err := b.Add(t.Context(), "acc_1", fqdn.MustParse("c.com")); err != nil {
			t.Fatal(err)
		}
		expires := b.clock.now().AddDate(1, 0, 0)
		b.set(func() {
			b.registrations[fqdn.MustParse("a.com")] = portfolio.Registration{Expires: expires}
			b.registrations[fqdn.MustParse("b.com")] = portfolio.Registration{Ended: true}
			b.registrations[fqdn.MustParse("c.com")] = portfolio.Registration{Expires: expires}
		})
		refresh := portfolio.Change{Op: portfolio.Refresh, Names: named("a.com", "b.com", "c.com", "d.com", "a.com"), DryRun: true}
		equal(t, "dry run", b.apply(t, "acc_1", refresh), "ok, ok, ok, not_found, ok")
		if len(b.asked) != 3 {
			t.Errorf("a dry run asks about %v, want each claimed name once", b.asked)
		}
		equal(t, "after the dry run", b.status(t, "acc_1", "b.com"), "verified, for sale true")
		b.asked = nil
		refresh.DryRun = false
		equal(t, "refresh", b.apply(t, "acc_1", refresh), "ok, ok, ok, not_found, ok")
		if len(b.asked) != 3 || !strings.HasSuffix(b.asked[0], "afresh") {
			t.Errorf("asked about %v, want each claimed name once, afresh", b.asked)
		}
		equal(t, "registered", b.status(t, "acc_1", "a.com"), "verified, for sale true")
		equal(t, "ended", b.status(t, "acc_1", "b.com"), "suspended, for sale false")
		claims, _, err := b.List(t.Context(), "acc_1", fqdn.MustParse("b.com"), 1)
		if err != nil || len(claims) != 1 || !claims[0].Registration.Expires.Equal(expires) || claims[0].Status != portfolio.Pending {
			t.Errorf("a pending claim: %+v, %v", claims, err)
		}
		b.set(func() { b.down = errors.New("the roof is on fire") })
		equal(t, "a failure of ours", b.apply(t, "acc_1", refresh), "internal_error, internal_error, internal_error, not_found, internal_error")
	})
}

// A change of very many names returns the answers that came in time, and does not exceed the limit of concurrent queries.
func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	db := storetest.Open(t, store.Config{Temporary: true})
	b := newFixture(t, db, &clock{})
	var names []string
	for i := range 300 {
		names = append(names, fmt.Sprintf("a%d.com", i))
		claim, err := b.Add(t.Context(), "acc_1", fqdn.MustParse(names[i]))
		if err != nil {
			t.Fatal(err)
		}
		b.txt[claim.Domain] = []string{claim.Proof}
	}
	b.wait = make(chan struct{})
	var callers sync.WaitGroup
	var emitted atomic.Int32
	listening := op.WithEmitter(t.Context(), func(e op.Event) { emitted.Add(1) })
	for range 3 {
		callers.Go(func() {
			errs, err := b.Apply(listening, "acc_1", portfolio.Change{Op: portfolio.Verify, Names: named(names...)})
			if err = errors.Join(append(errs, err)...); err != nil {
				t.Errorf("verify: %v", err)
			}
		})
	}
	for b.busy.Load() < 32 {
		time.Sleep(time.Millisecond)
	}
	close(b.wait)
	callers.Wait()
	if emitted.Load() < 300 {
		t.Errorf("%d events were emitted, want at least 300", emitted.Load())
	}
	if most := b.busiest.Load(); most != 32 {
		t.Errorf("%d questions were under way, want 32", most)
	}

	b.wait = make(chan struct{}) // and never an answer
	if _, err := b.Add(t.Context(), "acc_2", fqdn.MustParse("a0.com")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Apply(ctx, "acc_2", portfolio.Change{Op: portfolio.Verify, Names: named("a0.com")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller who is gone gets %v", err)
	}
}

// Of accounts that prove a name at the same time one owns it, and one offer is for sale.
func TestProofsAtTheSameTime(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		const accounts = 6
		name := fqdn.MustParse("a.com")
		var proofs []string
		for i := range accounts {
			claim, err := b.Add(t.Context(), fmt.Sprint("acc_", i), name)
			if err != nil {
				t.Fatal(err)
			}
			proofs = append(proofs, claim.Proof)
			b.apply(t, fmt.Sprint("acc_", i), portfolio.Change{Op: portfolio.List, Names: named("a.com"), Price: money.USD(int64(i + 1))})
		}
		b.set(func() { b.txt[name] = proofs })
		var callers sync.WaitGroup
		for i := range accounts {
			callers.Go(func() {
				b.apply(t, fmt.Sprint("acc_", i), portfolio.Change{Op: portfolio.Verify, Names: named("a.com")})
			})
		}
		callers.Wait()
		owner := -1
		for i := range accounts {
			if strings.HasPrefix(b.status(t, fmt.Sprint("acc_", i), "a.com"), "verified") {
				if owner >= 0 {
					t.Errorf("accounts %d and %d own the name", owner, i)
				}
				owner = i
			}
		}
		offer, shown := b.market.Get(market.Live, name)
		if owner < 0 || !shown || offer.PriceCents != int64(owner+1) {
			t.Errorf("account %d owns the name, for sale is %+v, %v", owner, offer, shown)
		}
	})
}

// A name that the operator sells is not an account's to list, but is the account's to prove.
func TestANameOfTheOperatorsInventory(t *testing.T) {
	t.Parallel()
	eachFixture(t, func(t *testing.T, b *fixture) {
		file := strings.NewReader("domain,price_cents\na.com,5\n")
		if _, err := b.market.Import(t.Context(), file, market.ImportOptions{Environment: market.Live}); err != nil {
			t.Fatal(err)
		}
		b.claim(t, "acc_1", true, "a.com")
		equal(t, "verify", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.Verify, Names: named("a.com")}), "ok")
		if offer, _ := b.market.Get(market.Live, fqdn.MustParse("a.com")); offer.PriceCents != 5 {
			t.Errorf("for sale: %+v, want the operator's", offer)
		}
		equal(t, "list", b.apply(t, "acc_1", portfolio.Change{Op: portfolio.List, Names: named("a.com"), Price: money.USD(1)}), "conflict")
	})
}

func TestOneProcessRechecks(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		here, there := newFixture(t, storetest.Open(t, cfg), &clock{}), newFixture(t, storetest.Open(t, cfg), &clock{})
		here.own(t, "acc_1", "a.com")
		here.asking = func() {
			if n := there.recheck(t); n != 0 {
				t.Errorf("a second process asks about %d names meanwhile, want 0", n)
			}
		}
		if n := here.recheck(t); n != 1 {
			t.Errorf("the first process asks about %d names, want 1", n)
		}
		here.own(t, "acc_1", "b.com")
		if n := there.recheck(t); n != 1 {
			t.Errorf("the second process goes on with %d names, want 1", n)
		}
	})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newFixture(t, storetest.Open(t, store.Config{Temporary: true}), &clock{})
	b.own(t, "acc_1", "a.com")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); b.Watch(ctx) }()
	for asked := 0; asked == 0; time.Sleep(time.Millisecond) {
		b.set(func() { asked = len(b.asked) })
	}
	cancel()
	<-done
}

func TestChangeRefuses(t *testing.T) {
	t.Parallel()
	b := newFixture(t, storetest.Open(t, store.Config{Temporary: true}), &clock{})
	for _, c := range []portfolio.Change{
		{Op: "sell", Names: named("a.com")},
		{Op: portfolio.List, Names: named("a.com")},
		{Op: portfolio.List, Names: named("a.com"), Price: money.USD(-1)},
		{Op: portfolio.SetPrice, Names: named("a.com"), Price: money.USD(money.MaxCents + 1)},
		{Op: portfolio.SetPrice, Names: named("a.com"), Price: money.Amount{Cents: 1, Currency: "usd"}},
		{Op: portfolio.Verify, Names: make([]fqdn.Name, portfolio.MaxChange+1)},
	} {
		if _, err := b.Apply(t.Context(), "acc_1", c); !fault.Is(err, fault.Validation) {
			t.Errorf("Apply(%s, %v): %v, want a validation error", c.Op, c.Price, err)
		}
	}
	long := strings.Repeat("a12345.", 33) + "bcdefghijkl.com" // 246 octets
	for _, name := range []string{"com", "www.a.com", "a.net", long} {
		if _, err := b.Add(t.Context(), "acc_1", fqdn.MustParse(name)); !fault.Is(err, fault.Validation) {
			t.Errorf("Add(%s): %v, want a validation error", name, err)
		}
	}
}

package partner

import (
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// openSecond opens another test server on the same database, as a second process would, with the partner and the clock of the first.
func openSecond(t testing.TB, s *testServer, cfg store.Config, tweaks ...func(*options)) *testServer {
	t.Helper()
	tweaks = append(tweaks, func(set *options) { set.clock, set.seed = s.clock, "" })
	other := open(t, storetest.Open(t, cfg), tweaks...)
	other.partner, other.key = s.partner, s.key
	return other
}

// eachPair runs the test with two test servers on one database, on each engine.
func eachPair(t *testing.T, test func(t *testing.T, a, b *testServer), tweaks ...func(*options)) {
	t.Helper()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		first := open(t, storetest.Open(t, cfg), tweaks...)
		test(t, first, openSecond(t, first, cfg, tweaks...))
	})
}

// A request passes once: not again at once, nor later as long as its timestamp is good, nor by another process, nor after
// a restart.
func TestReplay(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		for _, test := range []struct {
			name  string
			ahead time.Duration // of the timestamp
			waits []time.Duration
		}{
			{"at once", 0, []time.Duration{0}},
			{"stamped now", 0, []time.Duration{100 * time.Second, 200 * time.Second}},
			{"stamped 299 s ahead", 299 * time.Second, []time.Duration{310 * time.Second, 280 * time.Second}},
			{"stamped 300 s ahead, at the last moment", 300 * time.Second, []time.Duration{600 * time.Second}},
			{"stamped 300 s ago", -300 * time.Second, []time.Duration{0}},
		} {
			r := a.get(root + "/orders")
			r.at = r.at.Add(test.ahead)
			a.ok(r, 200)
			for _, wait := range test.waits {
				a.clock.advance(wait)
				a.sweep()
				if got := a.want(r, 401, fault.ReplayDetected); t.Failed() {
					t.Fatalf("%s, after %v: %s", test.name, wait, got.body)
				}
				b.want(r, 401, fault.ReplayDetected)
				again := r // signed anew
				again.at = a.clock.Now()
				b.want(again, 401, fault.ReplayDetected)
			}
		}
	})
}

// A nonce may be used again after its request has expired.
func TestNonceEnds(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		r := a.get(root + "/orders")
		a.ok(r, 200)
		a.clock.advance(300 * time.Second)
		r.at = a.clock.Now()
		b.want(r, 401, fault.ReplayDetected)
		a.clock.advance(time.Second)
		r.at = a.clock.Now()
		b.ok(r, 200)
		a.want(r, 401, fault.ReplayDetected)
	})
}

// Another credential may use the same nonce, and a request with a wrong signature does not use one up.
func TestNonceIsTheCredentials(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	r := s.get(root + "/orders")
	s.want(r.with(signature.HeaderSignature, "v1=00"), 401, fault.InvalidSignature)
	s.ok(r.signedBy(s.another("SANDBOX", credential.ScopeBuy)), 200)
	s.ok(r, 200)
	s.want(r, 401, fault.ReplayDetected)
}

// Of 200 copies at once, over two processes, one passes.
func TestParallelCopies(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		r := a.get(root + "/availability?domain=brewhaven.example")
		codes := map[string]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 200 {
			at := []*testServer{a, b}[i%2]
			wg.Go(func() {
				got, err := at.try(r)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				codes[strconv.Itoa(got.status)+" "+string(got.code())]++
			})
		}
		wg.Wait()
		if want := map[string]int{"200 ": 1, "401 replay_detected": 199}; !maps.Equal(codes, want) {
			t.Errorf("got %v, want %v", codes, want)
		}
	})
}

// Expired groups are removed, except the last one, from which the numbers continue.
func TestNoncesAreRemoved(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		a := open(t, storetest.Open(t, cfg))
		rows := func() int { return a.count(`SELECT COUNT(*) FROM partner_nonces`) }
		for range 10 {
			a.ok(a.get(root+"/orders"), 200)
		}
		if rows() != 10 {
			t.Fatalf("%d groups, want one each", rows())
		}
		a.clock.advance(301 * time.Second)
		a.sweep()
		if rows() != 1 {
			t.Errorf("%d groups are left, want the last", rows())
		}
		b := openSecond(t, a, cfg)
		r := b.get(root + "/orders")
		b.ok(r, 200)
		a.want(r, 401, fault.ReplayDetected)
		r = a.get(root + "/orders")
		a.ok(r, 200)
		b.want(r, 401, fault.ReplayDetected)
	})
}

// Limits hold a credential and a class apart, and hold together over processes.
func TestLimits(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, a, b *testServer) {
		for _, test := range []struct {
			name  string
			quota int
			every time.Duration
			next  func() request
		}{
			{"search", 60, time.Second, func() request { return a.get(root + "/availability?domain=a.example") }},
			{"write", 20, 3 * time.Second, func() request { return a.post(root+"/quotes", `{"domain":"brewhaven.example"}`) }},
			{"reporting", 30, 2 * time.Second, func() request { return a.get(root + "/events") }},
		} {
			for i := range test.quota {
				got := []*testServer{a, b}[i%2].send(test.next())
				want := `"` + test.name + `";r=` + strconv.Itoa(test.quota-1-i) + `;t=`
				if got.status >= 400 || !strings.HasPrefix(got.header.Get("RateLimit"), want) {
					t.Fatalf("%s, request %d: got %d %q, want %s", test.name, i+1, got.status, got.header.Get("RateLimit"), want)
				}
				if policy := got.header.Get("RateLimit-Policy"); policy != `"`+test.name+`";q=`+strconv.Itoa(test.quota)+`;w=60` {
					t.Fatalf("%s: policy %q", test.name, policy)
				}
			}
			refused := test.next()
			for _, s := range []*testServer{a, b} {
				got := s.want(test.next(), 429, fault.RateLimited)
				if got.header.Get("Retry-After") != strconv.Itoa(int(test.every/time.Second)) || got.header.Get("RateLimit") == "" {
					t.Errorf("%s: Retry-After %q, RateLimit %q", test.name, got.header.Get("Retry-After"), got.header.Get("RateLimit"))
				}
			}
			a.want(refused, 429, fault.RateLimited)
			a.want(refused, 401, fault.ReplayDetected) // its nonce was stored, and a replay draws nothing
			a.clock.advance(test.every)
			if got := b.send(test.next()); got.status >= 400 {
				t.Errorf("%s: got %d %s a token later", test.name, got.status, got.body)
			}
			a.want(test.next(), 429, fault.RateLimited)
		}
		a.ok(a.get(root+"/events").signedBy(a.another("SANDBOX", credential.ScopeWebhook)), 200)
		a.clock.advance(time.Hour)
		a.sweep()
		if n := a.count(`SELECT COUNT(*) FROM partner_limits`); n != 0 {
			t.Errorf("%d full buckets are stored", n)
		}
	}, limited)
}

// Without an operation at the path, the method decides the rate limit class.
func TestLimitsOfNothing(t *testing.T) {
	t.Parallel()
	s := openSQLite(t, limited)
	for method, class := range map[string]string{"GET": "reporting", "DELETE": "reporting", "POST": "write", "PUT": "write"} {
		r := s.get(root + "/nothing")
		r.method = method
		if a := s.want(r, 404, fault.NotFound); !strings.HasPrefix(a.header.Get("RateLimit"), `"`+class+`"`) {
			t.Errorf("%s: RateLimit %q, want %s", method, a.header.Get("RateLimit"), class)
		}
	}
}

func BenchmarkAdmit(b *testing.B) {
	s := openSQLite(b, real)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.api.admission.Admit(b.Context(), "key", uuid.NewString(), time.Now().Unix()+300, limits[ClassSearch]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

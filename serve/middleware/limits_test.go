package middleware_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/serve/middleware"
)

var policy = map[op.Class]middleware.Quota{
	op.Lookup: {Anonymous: 60, SignedIn: 300},
	op.Read:   {Anonymous: 300, SignedIn: 1500},
}

// charge draws once and returns the wait that the answer asks for; -1: granted.
func charge(t *testing.T, mw *middleware.Stack, who string, charges ...op.Charge) (wait time.Duration, header string) {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	if strings.HasPrefix(who, "acc_") {
		r = r.WithContext(op.WithCaller(r.Context(), op.Caller{Account: who}))
	} else {
		r.RemoteAddr = who
	}
	w := httptest.NewRecorder()
	err := mw.Charge(w, r, charges)
	header = w.Header().Get("RateLimit-Policy") + " " + w.Header().Get("RateLimit")
	if err == nil {
		return -1, header
	}
	if !fault.Is(err, fault.RateLimited) {
		t.Fatalf("Charge(%s, %v): %v", who, charges, err)
	}
	return fault.From(err).Retry, header
}

func lookups(n int) op.Charge { return op.Charge{Class: op.Lookup, Count: n} }
func reads(n int) op.Charge   { return op.Charge{Class: op.Read, Count: n} }

func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
		for _, step := range []struct {
			name    string
			sleep   time.Duration
			who     string
			charges []op.Charge
			wait    time.Duration // -1: granted
			header  string
		}{
			{"the first of a minute's quota", 0, "192.0.2.1:1", []op.Charge{lookups(1)}, -1, `"lookup";q=60;w=60 "lookup";r=59;t=1`},
			{"from another port", 0, "192.0.2.1:2", []op.Charge{lookups(9)}, -1, `"lookup";q=60;w=60 "lookup";r=50;t=10`},
			{"all the rest at once", 0, "192.0.2.1:1", []op.Charge{lookups(50)}, -1, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"one too many", 0, "192.0.2.1:1", []op.Charge{lookups(1)}, time.Second, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"another client", 0, "192.0.2.2:1", []op.Charge{lookups(1)}, -1, `"lookup";q=60;w=60 "lookup";r=59;t=1`},
			{"another class", 0, "192.0.2.1:1", []op.Charge{reads(3)}, -1, `"read";q=300;w=60 "read";r=297;t=1`},
			{"nearly a second later", time.Second - time.Nanosecond, "192.0.2.1:1", []op.Charge{lookups(1)}, time.Nanosecond, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"a second later", time.Nanosecond, "192.0.2.1:1", []op.Charge{lookups(1)}, -1, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"a charge for two is all or nothing", 0, "192.0.2.1:1", []op.Charge{reads(10), lookups(2)}, 2 * time.Second, `"read";q=300;w=60, "lookup";q=60;w=60 "read";r=300;t=0, "lookup";r=0;t=60`},
			{"what was refused was not drawn", 0, "192.0.2.1:1", []op.Charge{reads(1)}, -1, `"read";q=300;w=60 "read";r=299;t=1`},
			{"charges of one class add up", 0, "192.0.2.3:1", []op.Charge{lookups(20), lookups(20), reads(0)}, -1, `"lookup";q=60;w=60 "lookup";r=20;t=40`},
			{"an account has more", 0, "acc_1", []op.Charge{lookups(100)}, -1, `"lookup";q=300;w=60 "lookup";r=200;t=20`},
			{"more than there ever is", 0, "192.0.2.4:1", []op.Charge{lookups(61)}, time.Minute, `"lookup";q=60;w=60 "lookup";r=60;t=0`},
			{"nothing", 0, "192.0.2.1:1", []op.Charge{lookups(0)}, -1, ` `},
			{"a full minute later all is back", time.Minute, "192.0.2.1:1", []op.Charge{lookups(60)}, -1, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"neighbours in a /64", 0, "[2001:db8::1]:1", []op.Charge{lookups(60)}, -1, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"are one client", 0, "[2001:db8::2]:1", []op.Charge{lookups(1)}, time.Second, `"lookup";q=60;w=60 "lookup";r=0;t=60`},
			{"the next /64 is not", 0, "[2001:db8:0:1::1]:1", []op.Charge{lookups(1)}, -1, `"lookup";q=60;w=60 "lookup";r=59;t=1`},
		} {
			time.Sleep(step.sleep)
			wait, header := charge(t, mw, step.who, step.charges...)
			if wait != step.wait || header != step.header {
				t.Errorf("%s:\n got %v %s\nwant %v %s", step.name, wait, header, step.wait, step.header)
			}
		}
	})
}

func TestSettle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
		drawn := []op.Charge{lookups(10), reads(1)}
		for _, test := range []struct {
			name, who string
			unused    []op.Charge
			want      string
		}{
			{"a part", "192.0.2.1:1", []op.Charge{lookups(8)}, `"lookup";r=58;t=2, "read";r=299;t=1`},
			{"all of it", "192.0.2.2:1", drawn, `"lookup";r=60;t=0, "read";r=300;t=0`},
			{"nothing", "192.0.2.3:1", nil, `"lookup";r=50;t=10, "read";r=299;t=1`},
			{"none of a class", "192.0.2.4:1", []op.Charge{lookups(0)}, `"lookup";r=50;t=10, "read";r=299;t=1`},
		} {
			r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
			r.RemoteAddr = test.who
			if err := mw.Charge(w, r, drawn); err != nil {
				t.Fatal(err)
			}
			mw.Settle(w, r, drawn, test.unused)
			if got := w.Header().Get("RateLimit"); got != test.want {
				t.Errorf("%s: the header has %s, want %s", test.name, got, test.want)
			}
		}
	})
}

// A bucket must not be forgotten while it is not full, however many other clients come and go in that time.
func TestLimitsAreRememberedAcrossTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
		charge(t, mw, "192.0.2.1:1", lookups(60))
		for second := range 180 {
			time.Sleep(time.Second)
			if wait, header := charge(t, mw, "192.0.2.1:1", lookups(1)); wait != -1 || !strings.Contains(header, "r=0;") {
				t.Fatalf("second %d: %v %s; want the one that flowed back, and none left", second, wait, header)
			}
			charge(t, mw, fmt.Sprintf("198.51.100.%d:1", second), lookups(1))
		}
	})
}

// A client that is refused stays refused, however many others come meanwhile.
func TestLimitsAreRememberedInAFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
		charge(t, mw, "192.0.2.1:1", lookups(60))
		for i := range 400_000 {
			charge(t, mw, fmt.Sprintf("10.%d.%d.%d:1", i>>16&255, i>>8&255, i&255), lookups(1))
			if i%1000 == 0 {
				if wait, _ := charge(t, mw, "192.0.2.1:1", lookups(1)); wait == -1 {
					t.Fatalf("after %d others, what was used up is back", i)
				}
			}
		}
	})
}

func TestLimitsHoldUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that nothing flows back meanwhile
		mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
		var granted atomic.Int64
		var clients sync.WaitGroup
		for range 200 {
			clients.Go(func() {
				if wait, _ := charge(t, mw, "192.0.2.1:1", lookups(1)); wait == -1 {
					granted.Add(1)
				}
			})
		}
		clients.Wait()
		if granted.Load() != 60 {
			t.Errorf("granted %d of a limit of 60", granted.Load())
		}
	})
}

func TestLimitsLifted(t *testing.T) {
	t.Parallel()
	mw, _ := newStack(middleware.Config{})
	for range 1000 {
		if wait, header := charge(t, mw, "192.0.2.1:1", lookups(1)); wait != -1 || header != " " {
			t.Fatalf("without limits: %v %q", wait, header)
		}
	}
}

func TestLimitsMistakes(t *testing.T) {
	t.Parallel()
	for _, q := range []middleware.Quota{{}, {Anonymous: 1}, {SignedIn: 1}, {Anonymous: -1, SignedIn: 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewLimits(%+v) does not panic", q)
				}
			}()
			middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: q}, time.Now)
		}()
	}
	mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(policy, time.Now)})
	if err := mw.Charge(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), []op.Charge{{Class: "unknown", Count: 1}}); err == nil || fault.From(err).Code != fault.Internal {
		t.Errorf("a class without a limit: %v, want an error of ours", err)
	}
}

func BenchmarkCharge(b *testing.B) {
	mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 1 << 30, SignedIn: 1 << 30}}, time.Now)})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		r := httptest.NewRequest("GET", "/", nil)
		w := httptest.NewRecorder()
		charges := []op.Charge{lookups(1)}
		for pb.Next() {
			if err := mw.Charge(w, r, charges); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkManyClients shows what a flood of addresses costs, each seen once.
func BenchmarkManyClients(b *testing.B) {
	mw, _ := newStack(middleware.Config{Limits: middleware.NewLimits(map[op.Class]middleware.Quota{op.Lookup: {Anonymous: 60, SignedIn: 60}}, time.Now)})
	r := httptest.NewRequest("GET", "/", nil)
	w := httptest.NewRecorder()
	charges := []op.Charge{lookups(1)}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		r.RemoteAddr = fmt.Sprintf("%d.%d.%d.%d:1", i>>24&255, i>>16&255, i>>8&255, i&255)
		if err := mw.Charge(w, r, charges); err != nil {
			b.Fatal(err)
		}
	}
}

package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/ratelimit"
)

const maxBuckets = 1 << 10

func one(p *ratelimit.Policy, key ratelimit.Key, count int) []ratelimit.Draw {
	return []ratelimit.Draw{{Policy: p, Key: key, Count: count}}
}

func TestBurstAndRateAreGivenApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.NewPolicy("registrations", ratelimit.Quota{Burst: 3, Rate: 60, Per: time.Hour})
		l := ratelimit.New(maxBuckets, time.Now, p)
		for _, step := range []struct {
			name  string
			sleep time.Duration
			count int
			wait  time.Duration
			left  int
			reset time.Duration
		}{
			{"a look", 0, 0, 0, 3, 0},
			{"one", 0, 1, 0, 2, time.Minute},
			{"the rest of the burst", 0, 2, 0, 0, 3 * time.Minute},
			{"one too many", 0, 1, time.Minute, 0, 3 * time.Minute},
			{"two too many", 0, 2, 2 * time.Minute, 0, 3 * time.Minute},
			{"nearly a minute later", time.Minute - time.Nanosecond, 1, time.Nanosecond, 0, 2*time.Minute + time.Nanosecond},
			{"a minute later", time.Nanosecond, 1, 0, 0, 3 * time.Minute},
			{"more than there ever is", time.Hour, 4, 3 * time.Minute, 3, 0},
			{"never more than the burst", time.Hour, 3, 0, 0, 3 * time.Minute},
		} {
			time.Sleep(step.sleep)
			draws := one(p, l.Key("acc_1"), step.count)
			refused := l.Take(draws)
			d := draws[0]
			if d.Wait() != step.wait || d.Remaining() != step.left || d.Reset() != step.reset || d.Refused() != (step.wait > 0) || (refused != nil) != d.Refused() {
				t.Errorf("%s: wait %v, left %d, reset %v, refused %v; want %v, %d, %v", step.name, d.Wait(), d.Remaining(), d.Reset(), refused != nil, step.wait, step.left, step.reset)
			}
			if d.Never() != (step.count > 3) {
				t.Errorf("%s: Never is %v", step.name, d.Never())
			}
		}
	})
}

// Layers: addresses of a /64 are one client, the networks of a /48 share a limit, and so do all clients.
func TestLayersDrawAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		layers := ratelimit.Layers{
			Host: ratelimit.NewPolicy("host", ratelimit.PerHour(2)),
			Site: ratelimit.NewPolicy("site", ratelimit.PerHour(5)),
			All:  ratelimit.NewPolicy("all", ratelimit.PerHour(9)),
		}
		l := ratelimit.New(maxBuckets, time.Now, layers.Policies()...)
		for _, step := range []struct {
			name, from string
			refused    string // by which layer; "": granted
			left       string
		}{
			{"the first of a host", "2001:db8:1:1::1", "", "1 4 8"},
			{"a neighbour in its /64", "2001:db8:1:1:ffff::2", "", "0 3 7"},
			{"the host is used up, and nothing above is drawn", "2001:db8:1:1::3", "host", "0 3 7"},
			{"another /64 of the /48", "2001:db8:1:2::1", "", "1 2 6"},
			{"a third", "2001:db8:1:3::1", "", "1 1 5"},
			{"a fourth", "2001:db8:1:4::1", "", "1 0 4"},
			{"the site is used up, and the host is not drawn", "2001:db8:1:5::1", "site", "2 0 4"},
			{"another site", "2001:db8:2:1::1", "", "1 4 3"},
			{"IPv4 has no site", "192.0.2.1", "", "1 2"},
			{"IPv4 in IPv6 is the same host", "::ffff:192.0.2.1", "", "0 1"},
			{"a zone makes no other host", "fe80::1%eth0", "", "1 4 0"},
			{"everybody's is used up", "198.51.100.1", "all", "2 0"},
		} {
			draws := l.Draws(nil, layers, netip.MustParseAddr(step.from), 1)
			refused := l.Take(draws)
			by := ""
			if refused != nil {
				by = refused.Policy.Name()
			}
			var left []string
			for i := range draws {
				left = append(left, fmt.Sprint(draws[i].Remaining()))
			}
			if got := strings.Join(left, " "); by != step.refused || got != step.left {
				t.Errorf("%s: refused by %q, left %s; want %q, %s", step.name, by, got, step.refused, step.left)
			}
		}
	})
}

// After the announced wait a client is not refused: the announced wait is the longest of all policies.
func TestLongestWaitIsAnnounced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		short, long := ratelimit.NewPolicy("short", ratelimit.PerMinute(1)), ratelimit.NewPolicy("long", ratelimit.PerDay(1))
		l := ratelimit.New(maxBuckets, time.Now, short, long)
		draws := []ratelimit.Draw{{Policy: short, Key: l.Key("a"), Count: 1}, {Policy: long, Key: l.Key("a"), Count: 1}}
		if l.Take(draws) != nil {
			t.Fatal("the first is refused")
		}
		refused := l.Take(draws)
		if refused == nil || refused.Policy != long || refused.Wait() != 24*time.Hour {
			t.Fatalf("got %+v, want the day", refused)
		}
		time.Sleep(refused.Wait())
		if l.Take(draws) != nil {
			t.Error("refused after the wait")
		}
	})
}

func TestTiersOfOneName(t *testing.T) {
	t.Parallel()
	anonymous, signedIn := ratelimit.NewPolicy("lookup", ratelimit.PerMinute(1)), ratelimit.NewPolicy("lookup", ratelimit.PerMinute(5))
	l := ratelimit.New(maxBuckets, time.Now, anonymous, signedIn)
	if l.Take(one(anonymous, l.Key("x"), 1)) != nil || l.Take(one(anonymous, l.Key("x"), 1)) == nil {
		t.Error("the small tier does not hold")
	}
	if draws := one(signedIn, l.Key("x"), 1); l.Take(draws) != nil || draws[0].Remaining() != 4 {
		t.Error("the tiers share a bucket")
	}
}

func TestReturnAndForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.NewPolicy("failures", ratelimit.PerMinute(10))
		l := ratelimit.New(maxBuckets, time.Now, p)
		left := func() int {
			d := one(p, l.Key("a"), 0)
			l.Take(d)
			return d[0].Remaining()
		}
		l.Take(one(p, l.Key("a"), 4))
		l.Return(one(p, l.Key("a"), 1))
		if left() != 7 {
			t.Errorf("after 4 drawn and 1 returned: %d left, want 7", left())
		}
		l.Return(one(p, l.Key("a"), 9))
		if left() != 10 {
			t.Errorf("after more was returned than drawn: %d left, want no more than 10", left())
		}
		l.Take(one(p, l.Key("a"), 10))
		l.Forget(p, l.Key("a"))
		if left() != 10 {
			t.Errorf("after forgetting: %d left, want 10", left())
		}
	})
}

// The limiter must not drop a bucket that is not full, even with many other clients and refusals meanwhile.
func TestBucketsAreRememberedAcrossTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.NewPolicy("lookup", ratelimit.PerMinute(60))
		l := ratelimit.New(maxBuckets, time.Now, p)
		l.Take(one(p, l.Key("a"), 60))
		for second := range 180 {
			time.Sleep(time.Second)
			if d := one(p, l.Key("a"), 1); l.Take(d) != nil || d[0].Remaining() != 0 {
				t.Fatalf("second %d: refused %v, %d left; want the one that flowed back", second, d[0].Refused(), d[0].Remaining())
			}
		}
		for i := range 100 * maxBuckets { // of others, while it is refused
			l.Take(one(p, l.Key(fmt.Sprint(i)), 1))
			if i%8 == 0 && l.Take(one(p, l.Key("a"), 1)) == nil {
				t.Fatalf("after %d others the bucket is forgotten", i)
			}
		}
	})
}

// A flood of clients cannot make the limiter exceed its limit.
func TestMemoryIsBounded(t *testing.T) {
	p := ratelimit.NewPolicy("lookup", ratelimit.PerDay(1))
	l := ratelimit.New(128<<10, time.Now, p)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 2 << 20 {
		l.Take(one(p, ratelimit.Key(rand.Uint64()), 1))
		_ = i
	}
	if grown := int64(heap()) - int64(before); grown > 16<<20 {
		t.Errorf("two million clients take %d MiB, want at most 16", grown>>20)
	}
	runtime.KeepAlive(l)
}

func TestHoldsUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that nothing flows back meanwhile
		layers := ratelimit.Layers{Host: ratelimit.NewPolicy("host", ratelimit.PerDay(100)), All: ratelimit.NewPolicy("all", ratelimit.PerDay(60))}
		l := ratelimit.New(maxBuckets, time.Now, layers.Policies()...)
		var granted atomic.Int64
		var clients sync.WaitGroup
		for i := range 200 {
			clients.Go(func() {
				from := netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
				if l.Take(l.Draws(nil, layers, from, 1)) == nil {
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

func TestZeroIsNeverUnlimited(t *testing.T) {
	t.Parallel()
	panics := func(name string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s does not panic", name)
			}
		}()
		f()
	}
	for _, q := range []ratelimit.Quota{
		{},
		{Burst: 1, Rate: 1},
		{Burst: 1, Per: time.Hour},
		{Rate: 1, Per: time.Hour},
		{Burst: -1, Rate: 1, Per: time.Hour},
		{Burst: 1, Rate: -1, Per: time.Hour},
		{Burst: 1, Rate: 2, Per: 1},
		{Burst: 1 << 40, Rate: 1, Per: time.Hour},
	} {
		panics(fmt.Sprintf("NewPolicy(%+v)", q), func() { ratelimit.NewPolicy("x", q) })
	}
	p := ratelimit.NewPolicy("x", ratelimit.PerMinute(1))
	panics("New without policies", func() { ratelimit.New(1, time.Now) })
	panics("New without room", func() { ratelimit.New(0, time.Now, p) })
	l := ratelimit.New(1, time.Now, p)
	panics("a policy of elsewhere", func() { l.Take(one(ratelimit.NewPolicy("y", ratelimit.PerDay(1)), 1, 1)) })
	panics("a negative draw", func() { p.Draw(0, -1) })
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	a := ratelimit.NewPolicy("a", ratelimit.Quota{Burst: 20, Rate: 60, Per: time.Hour})
	b := ratelimit.NewPolicy("b", ratelimit.PerMinute(30))
	h := http.Header{}
	ratelimit.WriteHeader(h, nil)
	if len(h) != 0 {
		t.Errorf("without draws: %v", h)
	}
	ratelimit.WriteHeader(h, []ratelimit.Draw{a.Draw(90*time.Second, 1), b.Draw(0, 0)})
	if h.Get("RateLimit-Policy") != `"a";q=20;w=1200, "b";q=30;w=60` || h.Get("RateLimit") != `"a";r=17;t=150, "b";r=30;t=0` {
		t.Errorf("got %v", h)
	}
	for wait, want := range map[time.Duration]string{0: "", -1: "", 1: "1", time.Second: "1", time.Second + 1: "2"} {
		h := http.Header{}
		if ratelimit.WriteRetryAfter(h, wait); h.Get("Retry-After") != want {
			t.Errorf("Retry-After of %v: got %q, want %q", wait, h.Get("Retry-After"), want)
		}
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for q, want := range map[ratelimit.Quota]string{
		ratelimit.PerMinute(60):                    `the limit "x" of 60 a minute is used up`,
		ratelimit.PerDay(10000):                    `the limit "x" of 10000 a day is used up`,
		{Burst: 20, Rate: 60, Per: time.Hour}:      `the limit "x" of 20 at once and 60 an hour is used up`,
		{Burst: 1, Rate: 1, Per: 10 * time.Minute}: `the limit "x" of 1 in 10m0s is used up`,
		{Burst: 5, Rate: 1, Per: time.Second}:      `the limit "x" of 5 at once and 1 a second is used up`,
	} {
		d := ratelimit.NewPolicy("x", q).Draw(time.Hour*24*365, 1)
		if got, hint := d.Reason(); got != want || hint == "" {
			t.Errorf("got %s (%s), want %s", got, hint, want)
		}
	}
	d := ratelimit.NewPolicy("x", ratelimit.PerMinute(2)).Draw(0, 3)
	if got, hint := d.Reason(); got != `this costs 3 of the limit "x", which is 2 a minute` || hint != "ask for less at once" {
		t.Errorf("got %s (%s)", got, hint)
	}
}

// FuzzDraw checks the invariants of the arithmetic.
func FuzzDraw(f *testing.F) {
	f.Add(20, 60, int64(time.Hour), int64(0), 1)
	f.Add(1, 1<<30, int64(time.Minute), int64(1<<62), 1<<40)
	f.Fuzz(func(t *testing.T, burst, rate int, per, untilFull int64, count int) {
		if burst <= 0 || rate <= 0 || per < int64(rate) || count < 0 || int64(burst) > int64(87600*time.Hour)/(per/int64(rate)) {
			return
		}
		p := ratelimit.NewPolicy("x", ratelimit.Quota{Burst: burst, Rate: rate, Per: time.Duration(per)})
		before := max(0, time.Duration(untilFull))
		if before > 1<<62 {
			return
		}
		d := p.Draw(before, count)
		switch {
		case d.Refused() && d.Reset() != before:
			t.Fatalf("a refused draw changed the bucket: %v, was %v", d.Reset(), before)
		case d.Refused() && d.Wait() <= 0, !d.Refused() && d.Wait() != 0:
			t.Fatalf("refused %v, wait %v", d.Refused(), d.Wait())
		case !d.Refused() && d.Reset() < before:
			t.Fatalf("a draw filled the bucket: %v, was %v", d.Reset(), before)
		case d.Remaining() < 0 || d.Remaining() > burst:
			t.Fatalf("%d of %d left", d.Remaining(), burst)
		}
		if d.Refused() && !d.Never() {
			if again := p.Draw(before-d.Wait(), count); again.Refused() {
				t.Fatalf("refused after the wait of %v", d.Wait())
			}
		}
	})
}

func BenchmarkTake(b *testing.B) {
	p := ratelimit.NewPolicy("x", ratelimit.PerMinute(1<<30))
	l := ratelimit.New(128<<10, time.Now, p)
	client := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			draws := [1]ratelimit.Draw{{Policy: p, Key: l.Network(ratelimit.Host(client)), Count: 1}}
			if l.Take(draws[:]) != nil {
				b.Error("refused")
			}
		}
	})
}

func BenchmarkTakeLayers(b *testing.B) {
	q := ratelimit.PerMinute(1 << 30)
	layers := ratelimit.Layers{Host: ratelimit.NewPolicy("a", q), Site: ratelimit.NewPolicy("b", q), All: ratelimit.NewPolicy("c", q)}
	l := ratelimit.New(128<<10, time.Now, layers.Policies()...)
	client := netip.MustParseAddr("2001:db8::1")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var buf [3]ratelimit.Draw
			if l.Take(l.Draws(buf[:0], layers, client, 1)) != nil {
				b.Error("refused")
			}
		}
	})
}

// BenchmarkManyClients shows what a flood of clients costs, each seen once.
func BenchmarkManyClients(b *testing.B) {
	p := ratelimit.NewPolicy("x", ratelimit.PerMinute(60))
	l := ratelimit.New(128<<10, time.Now, p)
	b.ReportAllocs()
	i := uint32(0)
	for b.Loop() {
		i++
		client := netip.AddrFrom4([4]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
		draws := [1]ratelimit.Draw{{Policy: p, Key: l.Network(ratelimit.Host(client)), Count: 1}}
		l.Take(draws[:])
	}
}

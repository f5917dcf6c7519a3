package referral_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/sweep"
)

func TestClicks(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		one, two, other := f.mustCreate(ada), f.mustCreate(ada), f.mustCreate(bea)
		second := f.another()
		for range 3 { // of each only the first counts
			f.visit(one, person(1))
			f.visit(two, person(1))
			f.visit(one, person(2))
			f.visit(other, person(1))
			if _, err := second.Visit(f.Context(), codeOf(one), person(1)); err != nil { // at another process
				f.Fatal(err)
			}
		}
		bot := person(3)
		bot.Counts = false
		if cookie := f.visit(one, bot); cookie != "" {
			f.Errorf("a bot gets the cookie %q", cookie)
		}
		f.written(second)
		f.wantClicks("a day", ada, 3, 2)
		f.wantClicks("a day of another", bea, 1, 1)

		third := f.another() // started anew, it remembers nothing
		if _, err := third.Visit(f.Context(), codeOf(one), person(2)); err != nil {
			f.Fatal(err)
		}
		f.written(third)
		f.wantClicks("after a restart", ada, 3, 2)

		f.advance(24 * time.Hour)
		f.visit(one, person(1))
		f.written()
		f.wantClicks("on the next day", ada, 4, 3)
		day, err := f.Clicks(f.Context(), ada, referral.Window{From: f.clock().Truncate(24 * time.Hour)})
		if err != nil || day.Total != 1 || len(day.ByDay) != 1 || day.ByDay[0] != (referral.DayClicks{Date: "2026-11-22", Clicks: 1, Unique: 1}) {
			f.Errorf("the day alone: %+v, %v", day, err)
		}
		page, err := f.Links(f.Context(), ada, nil, 0)
		if err != nil || page.Links[0].Clicks != 1 || page.Links[1].Clicks != 3 || page.Links[1].UniqueVisitors != 3 {
			f.Errorf("links: %+v, %v", page, err)
		}
	})
}

// In the sandbox a click belongs to the day of the partner's test clock.
func TestClicksByTheTestClock(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		f.visit(l, person(1))
		f.mu.Lock()
		f.ahead[ada.Partner] = 48 * time.Hour
		f.mu.Unlock()
		f.advance(3 * time.Second) // within which the clock is read anew
		f.visit(l, person(1))
		f.written()
		c, err := f.Clicks(f.Context(), ada, referral.Window{})
		if err != nil || len(c.ByDay) != 2 || c.ByDay[1].Date != "2026-11-23" {
			f.Errorf("%+v, %v", c, err)
		}
	})
}

// Neither addresses nor user agents are stored, and when the day is over nothing leads from a digest to a person.
func TestClicksArePrivate(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		f.visit(l, person(7))
		f.written()
		var key []byte
		if err := f.db.Read(f.Context(), func(tx store.Tx) error {
			return tx.QueryRow(f.Context(), `SELECT sealed FROM referral_keys`).Scan(&key)
		}); err != nil || len(key) <= 32 || bytes.Contains(key, []byte("203.")) {
			f.Errorf("the key of the day: %d bytes, %v", len(key), err)
		}
		f.advance(13 * time.Hour) // past midnight
		if err := sweep.New(sweep.Config{DB: f.db, Rules: referral.Retention(), Now: f.clock}).Pass(f.Context()); err != nil {
			f.Fatal(err)
		}
		if k, v := f.count(`SELECT COUNT(*) FROM referral_keys`), f.count(`SELECT COUNT(*) FROM referral_visits`); k != 0 || v != 0 {
			f.Errorf("after the day %d keys and %d digests are left", k, v)
		}
		f.wantClicks("after the day", ada, 1, 1)
	})
}

// 100 000 requests of 10 000 visitors and of bots: the counts are right, and memory and table are bounded.
func TestClickFlood(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l, second := f.mustCreate(ada), f.another()
		ctx, stop := f.Context(), make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() { // as a program does, beside the requests
			for {
				select {
				case <-stop:
					return
				default:
					f.written(second)
				}
			}
		})
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		services := []*referral.Service{f.Service, second}
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := w; i < 100_000; i += 8 {
					by := person(i % 10_000)
					if i%10 == 9 && i >= 50_000 { // visitors that were counted by then come as bots
						by.Counts = false
					}
					if _, err := services[i%2].Visit(ctx, codeOf(l), by); err != nil {
						f.Error(err)
					}
				}
			})
		}
		all.Wait()
		close(stop)
		running.Wait()
		f.written(second)
		runtime.ReadMemStats(&after)
		f.wantClicks("after the flood", ada, 10_000, 10_000)
		if n := f.count(`SELECT COUNT(*) FROM referral_visits`); n != 20_000 {
			f.Errorf("%d digests are stored, want 20 000", n)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
			f.Errorf("memory grew by %d MiB", grown>>20)
		}
	})
}

// One address with ever new user agents counts a bounded number of times.
func TestOneAddressWithManyAgents(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		for i := range referral.MaxFromAddress + 500 {
			by := person(1)
			by.UserAgent = fmt.Sprint(firefox, i)
			f.visit(l, by)
			if i%5000 == 0 {
				f.written()
			}
		}
		f.written()
		f.wantClicks("one address", ada, referral.MaxFromAddress, referral.MaxFromAddress)
		l6 := f.mustCreate(bea) // of an IPv6 address the /64 is bounded
		for i := range 10 {
			f.visit(l6, referral.Visitor{Address: netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}), UserAgent: firefox, Counts: true})
		}
		f.written()
		f.wantClicks("ten addresses of one network", bea, 10, 10)
	})
}

// When the day's digests are at their limit, visitors are redirected and no longer counted.
func TestVisitsOfADayAreBounded(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		l := f.mustCreate(ada)
		f.visit(l, person(1))
		f.written()
		if err := f.tx(func(tx store.Tx) error {
			_, err := tx.Exec(f.Context(), `UPDATE referral_keys SET visits = $1`, referral.MaxVisits)
			return err
		}); err != nil {
			f.Fatal(err)
		}
		f.visit(l, person(2)) // it is written, and shows that there are too many
		f.written()
		for i := range 10 {
			if cookie := f.visit(l, person(3+i)); cookie == "" {
				f.Error("no cookie")
			}
		}
		f.written()
		f.wantClicks("beyond the limit", ada, 2, 2)
		f.advance(24 * time.Hour)
		f.visit(l, person(3))
		f.written()
		f.wantClicks("on the next day", ada, 3, 3)
	})
}

func TestWhatCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method string
		header map[string]string
		want   bool
	}{
		"a browser":              {header: map[string]string{"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}, want: true},
		"an older browser":       {want: true},
		"a HEAD":                 {method: "HEAD"},
		"a prefetch":             {header: map[string]string{"Sec-Purpose": "prefetch"}},
		"a prerender":            {header: map[string]string{"Sec-Purpose": "prefetch;prerender"}},
		"an older prefetch":      {header: map[string]string{"Purpose": "prefetch"}},
		"Firefox's prefetch":     {header: map[string]string{"X-Moz": "prefetch"}},
		"Safari's preview":       {header: map[string]string{"X-Purpose": "preview"}},
		"a foreign frame":        {header: map[string]string{"Sec-Fetch-Dest": "iframe"}},
		"a foreign image":        {header: map[string]string{"Sec-Fetch-Dest": "image"}},
		"no user agent":          {header: map[string]string{"User-Agent": ""}},
		"Google":                 {header: map[string]string{"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"}},
		"Facebook's preview":     {header: map[string]string{"User-Agent": "facebookexternalhit/1.1"}},
		"a crawler":              {header: map[string]string{"User-Agent": "AcmeCrawler/1.0"}},
		"another bot":            {header: map[string]string{"User-Agent": "Mozilla/5.0 (compatible; AcmeBot/1.0)"}},
		"a program's library":    {header: map[string]string{"User-Agent": "python-requests/2.32"}, want: true},
		"a phone of maker Cubot": {header: map[string]string{"User-Agent": "Mozilla/5.0 (Linux; Android 13; CUBOT P80) Chrome/120"}, want: true},
	} {
		r, _ := http.NewRequest("GET", "/r/x", nil)
		if c.method != "" {
			r.Method = c.method
		}
		r.Header.Set("User-Agent", firefox)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		if got := referral.Counts(r); got != c.want {
			t.Errorf("%s: counts %v, want %v", name, got, c.want)
		}
	}
}

// What waits when the program ends is written, and no visitor waits for the key of the next day.
func TestRun(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.advance(11*time.Hour + 58*time.Minute) // shortly before midnight
		l := f.mustCreate(ada)
		ctx, cancel := context.WithCancel(f.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Service.Run(ctx) })
		for deadline := time.Now().Add(time.Minute); f.count(`SELECT COUNT(*) FROM referral_keys`) != 2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				f.Fatal("the key of the next day is not prepared")
			}
		}
		for i := range 50 {
			f.visit(l, person(i))
		}
		cancel()
		running.Wait()
		f.wantClicks("after the end", ada, 50, 50)
	})
}

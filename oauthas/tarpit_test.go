package oauthas

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A tarpit accepts connections and never answers.
type tarpit struct {
	url string
	all atomic.Int64 // connections
}

// newTarpit listens on a loopback address of its own.
func newTarpit(t testing.TB, n int) *tarpit {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.20.%d.%d:0", n>>8, n&0xff))
	if err != nil {
		t.Fatal(err)
	}
	p := &tarpit{url: "https://" + l.Addr().String()}
	var open sync.WaitGroup
	t.Cleanup(func() { l.Close(); open.Wait() })
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.all.Add(1)
			open.Go(func() {
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			})
		}
	})
	return p
}

// clientAddress is the n-th of many client addresses.
func clientAddress(n int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, byte(n >> 8), byte(n)}) }

// authorizeFrom is authorize from a client address, with another user for each address.
func (d *fixture) authorizeFrom(ctx context.Context, id string, from netip.Addr) Decision {
	_, challenge := pkce()
	session := SessionRef{ID: "ses_" + from.String(), AccountID: "acc_" + from.String()}
	got, err := d.Authorize(ctx, AuthorizeRequest{Params: params(id, appRedirect, challenge, nil), Session: session, From: from})
	if err != nil && ctx.Err() == nil {
		d.Errorf("Authorize: %v", err)
	}
	return got
}

// The limit of fetches was shared by all clients, so that a few slow hosts delayed all others.
func TestSlowHostsDelayNoOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		hosts     int
		addresses int
	}{
		{"asked for by one", 40, 1},
		{"asked for by many", 100, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newDocumentServer(t)
			l.describe(nil, nil)
			d := newSQLiteFixture(t, l.allow, func(c *Config) { c.NoLimits = false })
			ctx, cancel := context.WithCancel(t.Context())
			var attack sync.WaitGroup
			t.Cleanup(func() { cancel(); attack.Wait() })
			var fetches int64
			pits := make([]*tarpit, c.hosts)
			for i := range pits {
				pits[i] = newTarpit(t, i)
				attack.Go(func() { d.authorizeFrom(ctx, pits[i].url+"/client.json", clientAddress(i%c.addresses)) })
			}
			want := int64(min(c.hosts, c.addresses*fetchesPerClient))
			for wait := time.Now(); fetches < want && time.Since(wait) < 5*time.Second; time.Sleep(time.Millisecond) {
				fetches = 0
				for _, p := range pits {
					fetches += p.all.Load()
				}
			}
			if fetches != want {
				t.Fatalf("%d fetches hang, want %d", fetches, want)
			}
			began := time.Now()
			if got, ok := d.authorizeFrom(t.Context(), l.URL+"/client.json", clientAddress(1000)).(Consent); !ok {
				t.Errorf("got %#v, want a question", got)
			}
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("an honest sign-in took %v", took)
			}
		})
	}
}

// TestASlowHostGetsFewSlots has many client addresses request documents of one host that hangs, twice. The host gets few
// concurrent fetches, and fewer once it has failed; a valid document of the same host is still fetched.
func TestASlowHostGetsFewSlots(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	var now, most atomic.Int64
	release := make(chan struct{})
	var stop sync.Once
	free := func() { stop.Do(func() { close(release) }) }
	t.Cleanup(free)
	l.describe(nil, nil)
	good := l.serve
	l.serve = func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/slow") {
			good(w, r)
			return
		}
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select {
		case <-r.Context().Done():
		case <-release:
		}
	}
	d := newSQLiteFixture(t, l.allow)
	if got, ok := d.authorizeFrom(t.Context(), l.URL+"/client.json", clientAddress(1000)).(Consent); !ok {
		t.Fatalf("got %#v, want a question", got)
	}
	for attempt, want := range []int64{fetchesPerHost, fetchesAfterFailure} {
		most.Store(0)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				d.authorizeFrom(t.Context(), fmt.Sprintf("%s/slow/%d-%d", l.URL, attempt, i), clientAddress(i))
			})
		}
		for wait := time.Now(); now.Load() < want && time.Since(wait) < 5*time.Second; time.Sleep(time.Millisecond) {
		}
		if attempt == 1 {
			if got, ok := d.authorizeFrom(t.Context(), l.URL+"/client.json", clientAddress(1000)).(Consent); !ok {
				t.Errorf("a good document of the same host: got %#v, want a question", got)
			}
		}
		all.Wait()
		if got := most.Load(); got != want {
			t.Errorf("attempt %d: %d fetches at a time, want %d", attempt+1, got, want)
		}
	}
	free()
}

// TestFetchesCountForTheClient uses up the fetches of one client address. Cached documents and other addresses are not
// affected.
func TestFetchesCountForTheClient(t *testing.T) {
	t.Parallel()
	l := newDocumentServer(t)
	l.describe(http.Header{"Cache-Control": {"max-age=60"}}, nil)
	d := newSQLiteFixture(t, l.allow, func(c *Config) { c.NoLimits = false })
	v6 := netip.MustParseAddr("2001:db8:1:2::3")
	for _, from := range []netip.Addr{clientAddress(1), v6} {
		for i := range fetchQuota.Burst {
			if got, ok := d.authorizeFrom(t.Context(), fmt.Sprintf("%s/%v-%d", l.URL, from, i), from).(Consent); !ok {
				t.Fatalf("fetch %d: got %#v, want a question", i+1, got)
			}
		}
		before := l.fetches.Load()
		got, ok := d.authorizeFrom(t.Context(), l.URL+"/one-more", from).(ErrorPage)
		if !ok || got.Status != http.StatusTooManyRequests || got.Retry <= 0 || l.fetches.Load() != before {
			t.Errorf("one more: got %#v after %d fetches, want 429, a time to wait and no fetch", got, l.fetches.Load()-before)
		}
		if got, ok := d.authorizeFrom(t.Context(), fmt.Sprintf("%s/%v-0", l.URL, from), from).(Consent); !ok {
			t.Errorf("a document that is fresh: got %#v, want a question", got)
		}
		d.clock.advance(61 * time.Second) // the quota of a minute is back, of which the next attempt uses one
	}
	if got, ok := d.authorizeFrom(t.Context(), l.URL+"/another", netip.MustParseAddr("2001:db8:1:3::1")).(Consent); !ok {
		t.Errorf("a neighbour of the same network: got %#v, want a question", got)
	}
	for i := range siteFetchQuota.Burst {
		d.authorizeFrom(t.Context(), fmt.Sprintf("%s/site-%d", l.URL, i), netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 0, 9, 0, byte(i)}))
	}
	if got, ok := d.authorizeFrom(t.Context(), l.URL+"/site", netip.MustParseAddr("2001:db8:9:ffff::1")).(ErrorPage); !ok || got.Status != http.StatusTooManyRequests {
		t.Errorf("a /48 that has used up its own limit: got %#v, want 429", got)
	}
}

// TestStaleDocuments lets the host of a cached client fail in several ways, at several times.
func TestStaleDocuments(t *testing.T) {
	t.Parallel()
	fails := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	hangsUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name    string
		headers http.Header
		later   http.HandlerFunc
		after   time.Duration
		want    bool
	}{
		{"the host is down", http.Header{"Cache-Control": {"max-age=60"}}, hangsUp, time.Hour, true},
		{"the host is down, and nothing was said", nil, hangsUp, time.Hour, true},
		{"nearly a day after it was fresh", http.Header{"Cache-Control": {"max-age=60"}}, hangsUp, staleLife + 59*time.Second, true},
		{"a day after it was fresh", http.Header{"Cache-Control": {"max-age=60"}}, hangsUp, staleLife + 60*time.Second, false},
		{"an error", nil, fails(503), time.Hour, true},
		{"asked too much", nil, fails(429), time.Hour, true},
		{"not let in", nil, fails(403), time.Hour, true},
		{"not there any more", nil, fails(404), time.Minute, false},
		{"gone", nil, fails(410), time.Minute, false},
		{"no-store", http.Header{"Cache-Control": {"no-store"}}, hangsUp, time.Second, false},
		{"no-cache", http.Header{"Cache-Control": {"no-cache"}}, hangsUp, time.Second, false},
		{"private", http.Header{"Cache-Control": {"private, max-age=60"}}, hangsUp, time.Minute, false},
		{"must-revalidate", http.Header{"Cache-Control": {"max-age=60, must-revalidate"}}, hangsUp, time.Minute, false},
		{"stale-if-error", http.Header{"Cache-Control": {"max-age=60, stale-if-error=60"}}, hangsUp, 119 * time.Second, true},
		{"stale-if-error is over", http.Header{"Cache-Control": {"max-age=60, stale-if-error=60"}}, hangsUp, 2 * time.Minute, false},
		{"a document that is not good any more", nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{}`)
		}, time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newDocumentServer(t)
			l.describe(c.headers, nil)
			d := newSQLiteFixture(t, l.allow)
			id := l.URL + "/client.json"
			if got, ok := d.authorizeFrom(t.Context(), id, clientAddress(1)).(Consent); !ok {
				t.Fatalf("got %#v, want a question", got)
			}
			l.serve = c.later
			d.clock.advance(c.after)
			for range 2 { // an answer that ends it is remembered by forgetting the client
				if got, ok := d.authorizeFrom(t.Context(), id, clientAddress(1)).(Consent); ok != c.want {
					t.Errorf("got %#v, want a question: %v", got, c.want)
				}
			}
			l.describe(nil, nil)
			if got, ok := d.authorizeFrom(t.Context(), id, clientAddress(1)).(Consent); !ok {
				t.Errorf("when the host is back: got %#v, want a question", got)
			}
		})
	}
}

// TestWhatIsRememberedOfDocumentsIsBounded requests more documents than the cache holds.
func TestWhatIsRememberedOfDocumentsIsBounded(t *testing.T) {
	t.Parallel()
	d := newDocumentCache(DocumentClient(nil, nil), true, time.Now, nil)
	defer d.close()
	large := client{name: strings.Repeat("n", maxDocument)}
	for i := range 3 * maxCached {
		id := fmt.Sprint("https://host.example/", i)
		d.known.Put(id, cachedClient{large, time.Now()}, time.Now().Add(time.Hour))
		d.failures.Put(id, 1, time.Now().Add(time.Hour))
		d.proven.Put(digestOf(id), struct{}{}, time.Now().Add(time.Hour))
	}
	if n := d.known.Len(); int64(n)*large.size() > documentCacheSize || d.failures.Len() > maxCached || d.proven.Len() > maxCached {
		t.Errorf("%d documents, %d hosts and %d proofs are remembered", n, d.failures.Len(), d.proven.Len())
	}
}

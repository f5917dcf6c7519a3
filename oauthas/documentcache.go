package oauthas

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/ratelimit"
)

// staleLife is how long a stale document may be used while its host cannot be reached. A day outlasts most outages. It is
// not longer because the document lists redirect URIs: one that the owner removes works no longer than this. The document's
// Cache-Control can shorten it.
const staleLife = 24 * time.Hour

// Limits of fetches. A fetch that hangs takes some 50 KiB.
const (
	fetchesPerClient        = 4   // at a time for one client, an IPv4 address or an IPv6 /64
	fetchesPerClientSite    = 16  // for a /48
	fetchesPerHost          = 4   // from one document host
	fetchesPerClientAndHost = 2   // from one document host for one client: two, so that one that hangs does not block the next
	fetchesAfterFailure     = 2   // from one document host after a failure
	fetchesPerDomain        = 16  // from one registrable domain
	provenFetches           = 128 // of documents that were valid the last time
	otherFetches            = 384 // of others
	fetchWait               = 3 * time.Second
	maxWaiting              = 8192 // requests that hold a slot or wait for one

	failurePause      = 250 * time.Millisecond // before a fetch from a host that failed once; doubles with each failure
	maxFailures       = 4                      // after which it does not double again
	failureLife       = 5 * time.Minute        // after which a host's failures are forgotten
	provenLife        = 30 * 24 * time.Hour
	maxCached         = 4096     // entries of each cache of hosts and documents
	documentCacheSize = 16 << 20 // bytes of all documents
)

// Fetches for one client, and for a /48. A sign-in takes two or three fetches of a document that may not be cached, and one a
// day of most others.
var (
	fetchQuota     = ratelimit.PerMinute(60)
	siteFetchQuota = ratelimit.PerMinute(240)
)

// documentCache fetches and caches client metadata documents (draft-ietf-oauth-client-id-metadata-document): the URL of the
// document is the client_id. A fetch counts for the client address that causes it, and runs within limits per client, per
// host and in total. The fetches of one client do not delay those of another, and documents that were valid before do not
// wait for hosts that hang.
type documentCache struct {
	fetch *egress.Client
	now   func() time.Time
	read  func(id string, body []byte) (client, error)

	known    *cache.Cache[string, cachedClient]    // fresh and stale
	requests *cache.Cache[documentRequest, client] // stores nothing: collapses requests of one client for one document
	fetches  *cache.Cache[string, client]          // stores nothing: collapses fetches of one document
	proven   *cache.Cache[digest, struct{}]        // documents that were valid the last time
	failures *cache.Cache[string, int]             // consecutive failures, by host

	limiter *ratelimit.Limiter // nil: no quota of fetches
	layers  ratelimit.Layers

	perClient, perClientSite, perClientAndHost *egress.Slots // by client
	perHost, perDomain                         *egress.Slots // by document host
	provenAll, otherAll                        *egress.Slots
}

// documentRequest is a document and the network of the client that needs it.
type documentRequest struct {
	id   string
	from netip.Prefix
}

// A cachedClient is a client from its document.
type cachedClient struct {
	client client
	fresh  time.Time // until then it is not fetched again
}

// A documentError is why a document gives no client.
type documentError struct {
	reason    string
	status    int           // of the page about it; 0: 400
	retry     time.Duration // when to try again; 0: not known
	transient bool          // the document may still be valid
}

func (e *documentError) Error() string { return "client metadata document: " + e.reason }

func newDocumentCache(fetch *egress.Client, unlimited bool, now func() time.Time, read func(string, []byte) (client, error)) *documentCache {
	d := &documentCache{
		fetch: fetch, now: now, read: read,
		known: cache.New(cache.Config[string, cachedClient]{
			Entries: maxCached, Bytes: documentCacheSize, Now: now,
			Size: func(id string, d cachedClient) int64 { return int64(len(id)) + d.client.size() },
		}),
		requests: cache.New(cache.Config[documentRequest, client]{Entries: 1, Now: now}),
		fetches:  cache.New(cache.Config[string, client]{Entries: 1, Now: now}),
		proven:   cache.New(cache.Config[digest, struct{}]{Entries: maxCached, Now: now}),
		failures: cache.New(cache.Config[string, int]{Entries: maxCached, Now: now}),
		layers: ratelimit.Layers{
			Host: ratelimit.NewPolicy("documents", fetchQuota), Site: ratelimit.NewPolicy("documents-network", siteFetchQuota),
		},
		perClient: egress.NewSlots(fetchesPerClient, maxWaiting), perClientSite: egress.NewSlots(fetchesPerClientSite, maxWaiting),
		perClientAndHost: egress.NewSlots(fetchesPerClientAndHost, maxWaiting),
		perHost:          egress.NewSlots(fetchesPerHost, maxWaiting), perDomain: egress.NewSlots(fetchesPerDomain, maxWaiting),
		provenAll: egress.NewSlots(provenFetches, provenFetches), otherAll: egress.NewSlots(otherFetches, otherFetches),
	}
	if !unlimited {
		d.limiter = ratelimit.New(maxBuckets, now, d.layers.Policies()...)
	}
	return d
}

// close waits for fetches.
func (d *documentCache) close() {
	d.requests.Wait()
	d.fetches.Wait()
	d.fetch.Close()
}

// client returns the client of the document at id; a fetch counts for the address from. It fails with a *documentError, or
// with the error of ctx. Failures are not cached; on a transient one a stale document is used.
func (d *documentCache) client(ctx context.Context, id string, from netip.Addr) (client, error) {
	if err := checkDocumentID(id); err != nil {
		return client{}, &documentError{reason: err.Error()}
	}
	if known, ok := d.known.Get(id); ok && d.now().Before(known.fresh) {
		return known.client, nil
	}
	c, err := d.requests.Load(ctx, documentRequest{id, ratelimit.Host(from)}, func(ctx context.Context) (client, time.Time, error) {
		c, err := d.fetchFor(ctx, id, from)
		return c, time.Time{}, err
	})
	refusal, ours := errors.AsType[*documentError](err)
	if !ours {
		return c, err
	}
	if !refusal.transient {
		d.known.Delete(id)
		return client{}, err
	}
	if known, ok := d.known.Get(id); ok {
		return known.client, nil
	}
	return client{}, err
}

// fetchFor fetches a document within the limits of the client address.
func (d *documentCache) fetchFor(ctx context.Context, id string, from netip.Addr) (client, error) {
	if d.limiter != nil {
		var buf [2]ratelimit.Draw
		if refused := d.limiter.Take(d.limiter.Draws(buf[:0], d.layers, from, 1)); refused != nil {
			return client{}, &documentError{
				reason: "too many documents were asked for from this address", status: http.StatusTooManyRequests, retry: refused.Wait(), transient: true,
			}
		}
	}
	u, err := url.Parse(id)
	if err != nil {
		return client{}, &documentError{reason: "client_id is not a URL"}
	}
	host, who := strings.ToLower(u.Host), ratelimit.Host(from).String()
	waiting, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	release, err := acquire(waiting, slot{d.perClientAndHost, who + " " + host, fetchesPerClientAndHost}, slot{d.perClient, who, fetchesPerClient}, slot{d.perClientSite, siteOf(from), fetchesPerClientSite})
	if err != nil {
		return client{}, busy(ctx, err)
	}
	defer release()
	if known, ok := d.known.Get(id); ok && d.now().Before(known.fresh) { // fetched meanwhile
		return known.client, nil
	}
	return d.fetches.Load(ctx, id, func(ctx context.Context) (client, time.Time, error) {
		c, err := d.load(ctx, id, host, egress.Site(u.Hostname()))
		return c, time.Time{}, err
	})
}

// siteOf is the larger network of an address: its IPv6 /48, or the IPv4 address.
func siteOf(from netip.Addr) string {
	if site, ok := ratelimit.Site(from); ok {
		return site.String()
	}
	return ratelimit.Host(from).String()
}

// load fetches a document, once a slot of its host is free, and caches it.
func (d *documentCache) load(ctx context.Context, id, host, site string) (client, error) {
	release, err := d.acquireSlots(ctx, id, host, site)
	if err != nil {
		return client{}, busy(ctx, err)
	}
	defer release()
	body, keep, err := d.get(ctx, id)
	if err != nil {
		d.proven.Delete(digestOf(id))
		if refusal, ok := errors.AsType[*documentError](err); ok && refusal.transient && ctx.Err() == nil {
			failures, _ := d.failures.Get(host)
			d.failures.Put(host, min(failures+1, maxFailures), d.now().Add(failureLife))
		}
		return client{}, err
	}
	d.failures.Delete(host)
	c, err := d.read(id, body)
	if err != nil {
		return client{}, &documentError{reason: err.Error()}
	}
	now := d.now()
	d.proven.Put(digestOf(id), struct{}{}, now.Add(provenLife))
	d.known.Put(id, cachedClient{c, now.Add(keep.fresh)}, now.Add(keep.fresh+keep.stale))
	return c, nil
}

// acquireSlots waits for the slots of a fetch. Documents that were valid the last time have slots of their own. If the host
// has failed, others first wait for a pause and get fewer slots. So slow hosts delay only unproven documents, and a slow path
// does not delay valid documents of the same host.
func (d *documentCache) acquireSlots(ctx context.Context, id, host, site string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if _, proven := d.proven.Get(digestOf(id)); proven {
		return acquire(ctx, slot{d.perHost, host, fetchesPerHost}, slot{d.perDomain, site, fetchesPerDomain}, slot{d.provenAll, "", provenFetches})
	}
	failures, _ := d.failures.Get(host)
	if failures == 0 {
		return acquire(ctx, slot{d.perHost, host, fetchesPerHost}, slot{d.perDomain, site, fetchesPerDomain}, slot{d.otherAll, "", otherFetches})
	}
	pause := time.NewTimer(failurePause << (failures - 1))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return nil, &egress.Error{Code: egress.Busy, Cause: ctx.Err()}
	}
	return acquire(ctx, slot{d.perHost, host, fetchesAfterFailure}, slot{d.perDomain, site, fetchesAfterFailure}, slot{d.otherAll, "", otherFetches})
}

// A slot is a slot to acquire: of a key, with a limit for that key.
type slot struct {
	of    *egress.Slots
	key   string
	limit int
}

// acquire waits for all of the slots, in order.
func acquire(ctx context.Context, slots ...slot) (release func(), err error) {
	var held []func()
	release = func() {
		for _, r := range held {
			r()
		}
	}
	for _, s := range slots {
		r, err := s.of.AcquireAtMost(ctx, s.key, s.limit)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, r)
	}
	return release, nil
}

// busy returns the error of a fetch that got no slot in time; an error of the caller's ctx stays unchanged.
func busy(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if egress.Wrap(err).Code != egress.Busy {
		return err
	}
	return &documentError{
		reason: "too many documents are being fetched", status: http.StatusServiceUnavailable, retry: fetchWait, transient: true,
	}
}

// get fetches a document and returns how long it may be cached.
func (d *documentCache) get(ctx context.Context, id string) (body []byte, keep freshness, err error) {
	resp, err := d.fetch.Fetch(ctx, egress.Request{URL: id, Accept: "application/json"})
	if err != nil {
		switch egress.Wrap(err).Code { // its text would reveal what answers at internal addresses
		case egress.TooLarge:
			return nil, freshness{}, &documentError{reason: "the document is over 5 KiB"}
		case egress.Refused:
			return nil, freshness{}, &documentError{reason: "the document could not be fetched"}
		}
		return nil, freshness{}, &documentError{reason: "the document could not be fetched", transient: true}
	}
	switch kind := resp.Type; {
	case resp.Status == http.StatusNotFound || resp.Status == http.StatusGone:
		return nil, freshness{}, &documentError{reason: "the status of the document is not 200"}
	case resp.Status != http.StatusOK: // such as 403 of a web application firewall
		return nil, freshness{}, &documentError{reason: "the status of the document is not 200", transient: true}
	case kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")):
		return nil, freshness{}, &documentError{reason: "the document is not application/json"}
	}
	return resp.Body, freshnessOf(resp.Header, d.now()), nil
}

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

// staleLife is how long after it has ceased to be fresh a document may still be used while its host cannot be asked. A
// day outlasts most failures, and every attack that keeps us from asking for less than that. It is no longer because the
// document says where codes are sent: a redirect that its owner takes away works no longer than this, and its own
// Cache-Control can say less.
const staleLife = 24 * time.Hour

// Limits of asking for documents. A fetch that hangs takes some 50 KiB.
const (
	fetchesOfHost       = 4   // at a time for one client address, or a /64
	fetchesOfSite       = 16  // for a /48
	fetchesAtHost       = 4   // from one host of documents
	fetchesByOne        = 2   // from one host for one client address: one that hangs does not keep it from the next
	fetchesAfterFailure = 2   // from one that has failed
	fetchesAtSite       = 16  // from one registrable domain
	provenFetches       = 128 // of documents that were good the last time
	otherFetches        = 384 // of others
	fetchWait           = 3 * time.Second
	maxWaiting          = 8192 // requests that have a place of their address or wait for one

	failurePause      = 250 * time.Millisecond // before a fetch from a host that failed once; doubles
	maxFailures       = 4                      // with which it doubles no more
	failureLife       = 5 * time.Minute        // a host is forgiven after this
	provenLife        = 30 * 24 * time.Hour
	maxCached         = 4096     // entries of each cache of hosts and documents
	documentCacheSize = 16 << 20 // bytes of all documents
)

// fetchQuota is how many documents one client address may have asked for, and a /48. A sign-in takes two or three of a
// document that may not be kept, and one a day of most others.
var (
	fetchQuota     = ratelimit.PerMinute(60)
	siteFetchQuota = ratelimit.PerMinute(240)
)

// documentCache are the metadata documents of clients (draft-ietf-oauth-client-id-metadata-document): the URL of the
// document is the client's id. A fetch is charged to who asks for it, and runs concurrently with others within the limits of the
// client address, of the host and of memory. The fetches of one client address do not delay those of another, and
// documents that were valid before do not wait for hosts that hang.
type documentCache struct {
	fetch *egress.Client
	now   func() time.Time
	read  func(id string, body []byte) (client, error)

	known    *cache.Cache[string, cachedClient]    // until they are too old even as stale ones
	requests *cache.Cache[documentRequest, client] // holds nothing: requests of one address for one document are one
	fetches  *cache.Cache[string, client]          // holds nothing: fetches of one document are one
	proven   *cache.Cache[digest, struct{}]        // documents that were good the last time
	failures *cache.Cache[string, int]             // failures in a row of hosts

	limiter *ratelimit.Limiter // nil: fetches are not charged
	layers  ratelimit.Layers

	ofHost, ofSite, ofHostAtHost *egress.Slots // by who asks
	atHost, atSite               *egress.Slots // by who is asked
	provenAll, otherAll          *egress.Slots
}

// documentRequest is a document and the network of who asks for it.
type documentRequest struct {
	id   string
	from netip.Prefix
}

// A description is a client as its document described it.
type cachedClient struct {
	client client
	fresh  time.Time // until then it is not fetched again
}

// A documentError is why a client cannot be known by its document.
type documentError struct {
	reason    string
	status    int           // of the page about it; 0: 400
	retry     time.Duration // when to try again; 0: not known
	transient bool          // it says nothing about the document
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
		ofHost: egress.NewSlots(fetchesOfHost, maxWaiting), ofSite: egress.NewSlots(fetchesOfSite, maxWaiting),
		ofHostAtHost: egress.NewSlots(fetchesByOne, maxWaiting),
		atHost:       egress.NewSlots(fetchesAtHost, maxWaiting), atSite: egress.NewSlots(fetchesAtSite, maxWaiting),
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

// client returns the client that the document at id describes, for who asks from the address. What it fails with is a
// *documentError, or the end of ctx. Failures are not remembered; where one says nothing about the document, a stale one
// is used.
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

// fetchFor has the document fetched at the expense of the address.
func (d *documentCache) fetchFor(ctx context.Context, id string, from netip.Addr) (client, error) {
	if d.limiter != nil {
		var room [2]ratelimit.Draw
		if refused := d.limiter.Take(d.limiter.Draws(room[:0], d.layers, from, 1)); refused != nil {
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
	release, err := acquire(waiting, slot{d.ofHostAtHost, who + " " + host, fetchesByOne}, slot{d.ofHost, who, fetchesOfHost}, slot{d.ofSite, siteOf(from), fetchesOfSite})
	if err != nil {
		return client{}, busy(ctx, err)
	}
	defer release()
	if known, ok := d.known.Get(id); ok && d.now().Before(known.fresh) { // it came while we waited
		return known.client, nil
	}
	return d.fetches.Load(ctx, id, func(ctx context.Context) (client, time.Time, error) {
		c, err := d.load(ctx, id, host, egress.Site(u.Hostname()))
		return c, time.Time{}, err
	})
}

// siteOf is the network that an address is counted with: its /48, or itself.
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
			strikes, _ := d.failures.Get(host)
			d.failures.Put(host, min(strikes+1, maxFailures), d.now().Add(failureLife))
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

// acquireSlots waits until the host may be asked. A document that was good the last time has slots of its own. Others wait for a
// pause and get fewer slots where the host has failed. So many slow hosts delay only other unproven documents,
// and a slow path does not delay valid documents of the same host.
func (d *documentCache) acquireSlots(ctx context.Context, id, host, site string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	if _, proven := d.proven.Get(digestOf(id)); proven {
		return acquire(ctx, slot{d.atHost, host, fetchesAtHost}, slot{d.atSite, site, fetchesAtSite}, slot{d.provenAll, "", provenFetches})
	}
	strikes, _ := d.failures.Get(host)
	if strikes == 0 {
		return acquire(ctx, slot{d.atHost, host, fetchesAtHost}, slot{d.atSite, site, fetchesAtSite}, slot{d.otherAll, "", otherFetches})
	}
	pause := time.NewTimer(failurePause << (strikes - 1))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return nil, &egress.Error{Code: egress.Busy, Cause: ctx.Err()}
	}
	return acquire(ctx, slot{d.atHost, host, fetchesAfterFailure}, slot{d.atSite, site, fetchesAfterFailure}, slot{d.otherAll, "", otherFetches})
}

// A slot is one of those of a key.
type slot struct {
	of    *egress.Slots
	key   string
	limit int
}

// acquire waits for all of the slots, in their order.
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

// busy is the error of a fetch that got no slot in time; an error of the caller's ctx is returned unchanged.
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

// get fetches a document and tells how long it may be kept.
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
		return nil, freshness{}, &documentError{reason: "the document was not answered with 200"}
	case resp.Status != http.StatusOK: // such as 403 of what protects the host from us
		return nil, freshness{}, &documentError{reason: "the document was not answered with 200", transient: true}
	case kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")):
		return nil, freshness{}, &documentError{reason: "the document is not application/json"}
	}
	return resp.Body, freshnessOf(resp.Header, d.now()), nil
}

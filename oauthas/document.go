package oauthas

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/egress"
)

// Limits of fetching a client metadata document.
const (
	maxDocument   = 5 << 10
	documentTime  = 5 * time.Second
	documentLife  = 24 * time.Hour // a document is fetched again after this, whatever it says
	maxDocuments  = 1024           // that are remembered
	maxFetches    = 16             // at a time
	maxDocumentID = 2 << 10
)

// documents are the metadata documents of clients (draft-ietf-oauth-client-id-metadata-document): the URL of the
// document is the client's id.
type documents struct {
	fetch *egress.Client
	now   func() time.Time
	read  func(id string, body []byte) (client, error)
	known *cache.Cache[string, client]
	slots chan struct{}
}

// A documentError is why a client cannot be known by its document.
type documentError struct{ reason string }

func (e *documentError) Error() string { return "client metadata document: " + e.reason }

func newDocuments(fetch *egress.Client, now func() time.Time, read func(string, []byte) (client, error)) *documents {
	return &documents{
		fetch: fetch, now: now, read: read, slots: make(chan struct{}, maxFetches),
		known: cache.New(cache.Config[string, client]{Entries: maxDocuments, Now: now}),
	}
}

// close waits for fetches.
func (d *documents) close() {
	d.known.Wait()
	d.fetch.Close()
}

// client returns the client that the document at id describes. What it fails with is a *documentError, or the end of
// ctx. Failures are not remembered.
func (d *documents) client(ctx context.Context, id string) (client, error) {
	if err := checkDocumentID(id); err != nil {
		return client{}, &documentError{err.Error()}
	}
	return d.known.Load(ctx, id, func(ctx context.Context) (client, time.Time, error) {
		ctx, cancel := context.WithTimeout(ctx, documentTime)
		defer cancel()
		select {
		case d.slots <- struct{}{}:
			defer func() { <-d.slots }()
		case <-ctx.Done():
			return client{}, time.Time{}, &documentError{"too many documents are being fetched"}
		}
		body, life, err := d.get(ctx, id)
		if err != nil {
			return client{}, time.Time{}, err
		}
		c, err := d.read(id, body)
		if err != nil {
			return client{}, time.Time{}, &documentError{err.Error()}
		}
		if life <= 0 {
			return c, time.Time{}, nil
		}
		return c, d.now().Add(life), nil
	})
}

// checkDocumentID holds a client_id against the draft, section 3: https, a path without dot segments, no user, no
// fragment.
func checkDocumentID(id string) error {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxDocumentID || strings.ContainsFunc(id, notInURI):
		return errors.New("client_id is not a URL")
	case u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		return errors.New("client_id must be an https URL")
	case u.User != nil || strings.Contains(id, "#"):
		return errors.New("client_id must have neither user nor fragment")
	case u.Path == "" || u.Path == "/" || dotSegments(u.Path):
		return errors.New("client_id must have a path without dot segments")
	}
	return checkWeb(u)
}

// dotSegments reports whether an unescaped path has a segment that means another one.
func dotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// documentHost is the host that vouches for a client with a document; empty for one that registered.
func documentHost(id string) string {
	if !strings.HasPrefix(id, "https://") {
		return ""
	}
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	return u.Host
}

// get fetches a document and tells how long it may be kept.
func (d *documents) get(ctx context.Context, id string) (body []byte, life time.Duration, err error) {
	resp, err := d.fetch.Fetch(ctx, egress.Request{URL: id, Accept: "application/json"})
	switch kind := resp.Type; {
	case err != nil && egress.Wrap(err).Code == egress.TooLarge:
		return nil, 0, &documentError{"the document is over 5 KiB"}
	case err != nil: // which would tell what stands at addresses that the caller cannot reach
		return nil, 0, &documentError{"the document could not be fetched"}
	case resp.Status != http.StatusOK:
		return nil, 0, &documentError{"the document was not answered with 200"}
	case kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")):
		return nil, 0, &documentError{"the document is not application/json"}
	}
	return resp.Body, min(freshness(resp.Header, d.now()), documentLife), nil
}

// freshness is how long an answer may be used again by its own headers (RFC 9111, section 4.2), 0 if they do not say.
func freshness(h http.Header, now time.Time) time.Duration {
	age, maxAge := time.Duration(0), time.Duration(-1)
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h["Cache-Control"], ",")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache", "private":
			return 0
		case "max-age":
			n, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if err != nil {
				return 0
			}
			maxAge = time.Duration(n) * time.Second
		}
	}
	if n, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		age = time.Duration(n) * time.Second
	}
	if maxAge < 0 {
		expires, err := http.ParseTime(h.Get("Expires"))
		if err != nil {
			return 0
		}
		maxAge = expires.Sub(now)
	}
	return max(maxAge-age, 0)
}

// DocumentClient returns a client for documents at addresses that strangers choose: it connects only to public addresses
// on the ports of https, and to allowed ones on any port. roots nil are the system's.
func DocumentClient(allowed []netip.Prefix, roots *x509.CertPool) *egress.Client {
	return egress.New(egress.Config{
		Allow: allowed, Ports: []uint16{443, 8443}, AnyAllowedPort: true, RootCAs: roots,
		DialTime: documentTime, TLSTime: documentTime, HeaderTime: documentTime, TotalTime: documentTime,
		MaxHeader: 16 << 10, MaxBody: maxDocument, HTTP2: true,
	})
}

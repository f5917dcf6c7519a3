package brokerage

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/fqdn"
)

// Limits of the look at a home page.
const (
	SiteTime      = 6 * time.Second // for all of it
	SiteBytes     = 256 << 10       // of a page, as sent and decompressed
	SiteRedirects = 2               // within the registrable domain

	sitesAtOnce = 32
	sitesCached = 4096
	siteKnown   = 10 * time.Minute // so that the request after the question does not ask the site again
	siteUnsure  = 15 * time.Second
)

// A Use says whether a domain has an active site.
type Use int

// The uses.
const (
	UseUnsure Use = iota // the site did not answer, or not clearly
	NotInUse             // there is no site, or a parked, default or empty page
	InUse
)

// Sites look at home pages. They are safe for concurrent use.
type Sites struct {
	client *egress.Client
	now    func() time.Time
	known  *cache.Cache[fqdn.Name, Use]
	ports  map[string]string // by scheme, ":8080" and the like; nil: the usual ones
}

// SitesConfig returns the configuration of the client for [NewSites]: every limit that applies to home pages.
func SitesConfig() egress.Config {
	return egress.Config{
		TotalTime: SiteTime, MaxBody: SiteBytes, Gzip: true, InFlight: 2, Total: sitesAtOnce,
		UserAgent: "Mozilla/5.0 (compatible; Namewharf-Eligibility/1.0)",
	}
}

// NewSites returns Sites that use a client with the configuration of [SitesConfig]: it follows no redirect by itself.
func NewSites(client *egress.Client, now func() time.Time) *Sites {
	return &Sites{client: client, now: now, known: cache.New(cache.Config[fqdn.Name, Use]{Entries: sitesCached, Now: now})}
}

// Use looks at the home page of a domain, or remembers what it saw there some minutes ago. Domains with the nameservers of a
// parking service are not in use, and are not asked.
func (s *Sites) Use(ctx context.Context, domain fqdn.Name, nameservers []string) Use {
	if slices.ContainsFunc(nameservers, parking.nameserver) {
		return NotInUse
	}
	use, err := s.known.Load(ctx, domain, func(ctx context.Context) (Use, time.Time, error) {
		ctx, cancel := context.WithTimeout(ctx, SiteTime)
		defer cancel()
		use := s.look(ctx, domain)
		life := siteKnown
		if use == UseUnsure {
			life = siteUnsure
		}
		return use, s.now().Add(life), nil
	})
	if err != nil {
		return UseUnsure
	}
	return use
}

// look judges the home page of a domain or, where the domain has no address itself, that of its host www.
func (s *Sites) look(ctx context.Context, domain fqdn.Name) Use {
	use, resolved := s.lookAt(ctx, domain.String())
	if !resolved {
		use, _ = s.lookAt(ctx, "www."+domain.String())
	}
	return use
}

// lookAt asks a host over https and, where no HTTP server answers, over http. Resolved is false where it has no address.
func (s *Sites) lookAt(ctx context.Context, host string) (use Use, resolved bool) {
	half, cancel := context.WithTimeout(ctx, SiteTime/2) // so that http gets its turn
	secure := s.visit(half, "https", host)
	cancel()
	switch secure.answer {
	case noAddress:
		return NotInUse, false
	case answered:
		return secure.use, true
	}
	plain := s.visit(ctx, "http", host)
	switch {
	case plain.answer == answered:
		return plain.use, true
	case secure.answer == noServer && plain.answer == noServer:
		return NotInUse, true
	}
	return UseUnsure, true
}

// An answer says how far a visit came.
type answer int

const (
	silence   answer = iota // nothing that can be judged
	noAddress               // the host has no address
	noServer                // the connection was refused
	answered
)

// A visited is what a visit found.
type visited struct {
	answer answer
	use    Use // where it answered
}

// visit asks for a home page and follows redirects within the site.
func (s *Sites) visit(ctx context.Context, scheme, host string) visited {
	u := &url.URL{Scheme: scheme, Host: host + s.ports[scheme], Path: "/"}
	site, seen := egress.Site(host), map[string]bool{}
	for range SiteRedirects + 1 {
		seen[u.String()] = true
		r, err := s.client.Fetch(ctx, egress.Request{URL: u.String(), Accept: "text/html,*/*;q=0.5"})
		if err != nil {
			v := visitFailure(err)
			if len(seen) > 1 && v.answer != answered { // the redirect was an answer
				v = visited{answered, UseUnsure}
			}
			return v
		}
		location := r.Header.Get("Location")
		if r.Status < 300 || r.Status > 399 || location == "" {
			return visited{answered, useOfPage(r)}
		}
		to, err := u.Parse(location)
		switch {
		case err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Hostname() == "" || to.User != nil:
			return visited{answered, UseUnsure}
		case parking.host(to.Hostname()):
			return visited{answered, NotInUse}
		case isAddress(to.Hostname()):
			return visited{answered, UseUnsure}
		case egress.Site(to.Hostname()) != site:
			return visited{answered, InUse} // to lead to another site is a use
		}
		to.Fragment, to.RawFragment = "", ""
		if seen[to.String()] {
			return visited{answered, UseUnsure}
		}
		u = to
	}
	return visited{answered, UseUnsure} // more redirects than are followed
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// visitFailure judges a home page that cannot be read.
func visitFailure(err error) visited {
	e := egress.Wrap(err)
	switch {
	case errors.Is(err, egress.ErrUnresolved):
		return visited{answer: noAddress}
	case errors.Is(err, syscall.ECONNREFUSED):
		return visited{answer: noServer}
	case e.Code == egress.TooLarge:
		return visited{answered, InUse} // parked pages are not so large
	case e.Code == egress.Network, e.Code == egress.Timeout:
		return visited{answer: silence}
	}
	return visited{answered, UseUnsure} // refused, busy, truncated: nothing over http would be surer
}

// useOfPage judges a page that is no redirect.
func useOfPage(r egress.Response) Use {
	switch {
	case r.Status >= 200 && r.Status <= 299:
		if len(strings.TrimSpace(string(r.Body))) > 0 && !isHTML(r) {
			return InUse
		}
		return useOfHTML(r)
	case r.Status == http.StatusUnauthorized:
		return InUse
	case r.Status == http.StatusForbidden, r.Status == http.StatusNotAcceptable, r.Status == http.StatusUnavailableForLegalReasons:
		return useOfHTML(r)
	case r.Status == http.StatusNotFound, r.Status == http.StatusGone:
		return NotInUse
	}
	return UseUnsure
}

func isHTML(r egress.Response) bool {
	return r.Type == "" || r.Type == "text/html" || r.Type == "application/xhtml+xml"
}

func useOfHTML(r egress.Response) Use {
	if parking.page(r.Body) {
		return NotInUse
	}
	return InUse
}

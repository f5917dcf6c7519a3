package lookup

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/guard"
)

// userAgent identifies the program to registries. It names no version, so that shared caches stay useful.
const userAgent = "namewharf"

// A Service answers verdicts and look-ups from its cache or from the registries. It is safe for concurrent use.
type Service struct {
	cfg       Config
	suffixes  *fqdn.Suffixes
	delegated map[string]bool
	guard     *guard.Guard
	bootstrap servedBootstrap
	dns       resolvers
	verdicts  *cache.Cache[fqdn.Name, Verdict]
	answers   *cache.Cache[fqdn.Name, Answer]

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// New starts a service. It fails on a missing table, a bootstrap URL that is none, and a CA file that cannot be read.
func New(cfg Config) (*Service, error) {
	if cfg.Suffixes == nil {
		return nil, errors.New("lookup: no TLD table")
	}
	cfg.setDefaults()
	if cfg.BootstrapURL != BootstrapOff {
		if _, err := baseURL(cfg.BootstrapURL); err != nil {
			return nil, fmt.Errorf("lookup: the bootstrap URL %w", err)
		}
	}
	roots, err := rootCAs(cfg)
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg:       cfg,
		suffixes:  fqdn.NewSuffixes(cfg.Suffixes.Delegated(), cfg.Registry.suffixes(), cfg.Suffixes.ASCIIOnly()...),
		delegated: map[string]bool{},
		guard: guard.New(guard.Config{
			Allow:     cfg.Registry.Allow,
			Ports:     append(cfg.Registry.allPorts(), urlPort(cfg.BootstrapURL)...),
			Rate:      cfg.RatePerHost,
			InFlight:  cfg.InFlight,
			RootCAs:   roots,
			UserAgent: userAgent,
			Resolver:  cfg.Resolver,
			Now:       cfg.Now,
		}),
		verdicts: cache.New(cache.Config[fqdn.Name, Verdict]{
			Entries: cfg.Verdicts, Bytes: cfg.VerdictBytes, Now: cfg.Now,
			Size: func(_ fqdn.Name, v Verdict) int64 { return v.size() },
		}),
		answers: cache.New(cache.Config[fqdn.Name, Answer]{
			Entries: cfg.Answers, Bytes: cfg.AnswerBytes, Now: cfg.Now,
			Size: func(_ fqdn.Name, a Answer) int64 { return a.size() },
		}),
	}
	for _, tld := range cfg.Suffixes.Delegated() {
		s.delegated[tld] = true
	}
	s.dns = newResolvers(s.guard, cfg.Now)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if cfg.BootstrapURL != BootstrapOff {
		s.wg.Go(func() { s.bootstrap.refresh(s.ctx, s.fetchBootstrap, cfg.Logger) })
	}
	return s, nil
}

// rootCAs is what TLS trusts; nil for the system's.
func rootCAs(cfg Config) (*x509.CertPool, error) {
	if cfg.RootCAs != nil {
		return cfg.RootCAs, nil
	}
	return cfg.Registry.Roots()
}

// Close ends what runs and waits for it. Verdicts asked for afterwards are unknown.
func (s *Service) Close() {
	s.cancel()
	s.wg.Wait()
	s.verdicts.Wait()
	s.answers.Wait()
	s.dns.wait()
	s.guard.Close()
}

// Suffixes are those under which names are looked up: the delegated ones and those of the operator.
func (s *Service) Suffixes() *fqdn.Suffixes { return s.suffixes }

// Verdict says whether the registrable name of name is free: "www.a.co.uk" asks for "a.co.uk". It never fails: a
// bare suffix, a name under an unknown one and a label that its registry does not accept are [Invalid], and what is not known
// when ctx or the time of a search ends is [Unknown].
func (s *Service) Verdict(ctx context.Context, name fqdn.Name) Verdict {
	registrable, suffix, err := s.suffixes.Split(name)
	if err != nil {
		return s.invalid(name, fqdn.Name{}, "suffix", err)
	}
	if err := s.suffixes.Check(registrable, suffix); err != nil {
		return s.invalid(registrable, suffix, "label", err)
	}
	if v, ok := s.verdicts.Get(registrable); ok {
		if v.Status == Unknown || v.Status == LikelyAvailable {
			return s.zoneSince(v)
		}
		return v
	}
	budget, full := s.budget(ctx, s.cfg.SearchTime)
	v, err := s.verdicts.Load(ctx, registrable, func(ctx context.Context) (Verdict, time.Time, error) {
		ctx, cancel := s.during(ctx, budget)
		defer cancel()
		v := s.search(ctx, registrable, suffix)
		return v, v.expiry(full || ctx.Err() == nil), nil
	})
	if err != nil {
		return s.unanswered(registrable, suffix)
	}
	return v
}

// zoneSince is a cached verdict that left something open, or that of a zone index which was loaded since.
func (s *Service) zoneSince(v Verdict) Verdict {
	if f := s.zone(v.Name); f.status == Registered {
		v = s.verdict(f, v.Name, v.Suffix)
		s.verdicts.Put(v.Name, v, v.FreshUntil)
	}
	return v
}

// Domain looks the registrable name of name up: its verdict and what is published about it. It fails with a
// fault.Validation for a bare suffix, an unknown one and a label that the registry does not take, without a call, and with the context's error when that is
// cancelled. What is not known in time is an Answer of status [Unknown], not an error.
func (s *Service) Domain(ctx context.Context, name fqdn.Name) (Answer, error) {
	registrable, suffix, err := s.suffixes.Registrable(name)
	if err != nil {
		return Answer{}, fault.Invalid("domain", "%s", err)
	}
	budget, full := s.budget(ctx, s.cfg.LookupTime)
	a, err := s.answers.Load(ctx, registrable, func(ctx context.Context) (Answer, time.Time, error) {
		ctx, cancel := s.during(ctx, budget)
		defer cancel()
		a := s.look(ctx, registrable, suffix)
		expires := a.expiry(full || ctx.Err() == nil)
		s.verdicts.Put(registrable, a.Verdict, expires) // a look-up knows at least what a search would
		return a, expires, nil
	})
	switch {
	case errors.Is(err, context.Canceled):
		return Answer{}, err
	case err != nil:
		v := s.unanswered(registrable, suffix)
		return Answer{Verdict: v, Warnings: []string{v.Reason}, FetchedAt: v.CheckedAt}, nil
	}
	return a, nil
}

// budget is the time for an answer within the limit and the caller's deadline, and whether that is about the limit:
// a caller who starts with just the limit has a little less left by now.
func (s *Service) budget(ctx context.Context, limit time.Duration) (d time.Duration, full bool) {
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline) - margin; left < limit {
			return left, left > limit*3/4
		}
	}
	return limit, true
}

// during bounds the context of a load by the budget and by the life of the service.
func (s *Service) during(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	stop := context.AfterFunc(s.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (s *Service) invalid(name, suffix fqdn.Name, code string, err error) Verdict {
	now := s.cfg.Now().UTC()
	return Verdict{
		Name: name, Suffix: suffix, Status: Invalid, Confidence: ByNone, Reason: err.Error(),
		Evidence:  []Evidence{{Source: "rules", Code: code}},
		CheckedAt: now, FreshUntil: now.Add(invalidLife),
	}
}

// unanswered is the verdict for a caller who could not wait for it.
func (s *Service) unanswered(name, suffix fqdn.Name) Verdict {
	now := s.cfg.Now().UTC()
	return Verdict{
		Name: name, Suffix: suffix, Status: Unknown, Confidence: ByNone, Reason: "no answer within the time for this request",
		RetryAt: now.Add(time.Second), CheckedAt: now, FreshUntil: now,
	}
}

// expiry is until when a verdict may be cached. An unknown one for which the time was cut short by an impatient caller
// is not cached for callers with more.
func (v Verdict) expiry(complete bool) time.Time {
	if v.Status == Unknown && !complete {
		return time.Time{}
	}
	return v.FreshUntil
}

// fixedSize is the approximate size of a cache entry without the values it points to.
const fixedSize = 400

func (v Verdict) size() int64 {
	n := fixedSize + len(v.Name.String()) + len(v.Reason)
	for _, e := range v.Evidence {
		n += 80 + len(e.Host) + len(e.Code)
	}
	return int64(n)
}

func (a Answer) size() int64 {
	r := &a.Record
	n := 1000 + len(r.Raw) + len(r.Registrar.Name) + len(r.Registrar.URL) + len(r.Registrant.Name) + len(r.Registrant.Organization)
	for _, list := range [][]string{r.Status, r.Redacted, a.Servers, a.Warnings} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	for _, ns := range r.Nameservers {
		n += 40 + len(ns.Host) + 32*len(ns.Addresses)
	}
	return a.Verdict.size() + int64(n)
}

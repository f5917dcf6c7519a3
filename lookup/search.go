package lookup

import (
	"context"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/record"
)

// A finding is what one or more sources said about a name.
type finding struct {
	status     Status
	confidence Confidence
	reason     string
	retry      time.Duration // when to ask again; zero: not known
	evidence   []Evidence
	record     record.Record // of a registered name
	sources    []string      // rdap or whois, one for each reply that the record draws on
	servers    []string      // asked, in order
	warnings   []string
	partial    bool // the record lacks what a source may give at another time
}

// known reports whether the finding decides.
func (f *finding) known() bool { return f.status != Unknown }

// add appends what a further source found. Its verdict counts if there is none yet; the reasons for which earlier
// ones had none become warnings then.
func (f *finding) add(g finding) {
	f.evidence = append(f.evidence, g.evidence...)
	f.servers = append(f.servers, g.servers...)
	f.warnings = append(f.warnings, g.warnings...)
	switch {
	case f.known():
		return
	case g.status == LikelyAvailable: // the reason and the retry time stay those of the registry
		f.status, f.confidence = g.status, g.confidence
		if f.reason != "" {
			f.reason = g.reason + "; " + f.reason
		} else {
			f.reason = g.reason
		}
		return
	case g.known():
		if f.reason != "" {
			f.warnings = append(f.warnings, f.reason)
		}
		f.status, f.confidence, f.reason, f.retry = g.status, g.confidence, g.reason, 0
		f.record, f.sources, f.partial = g.record, g.sources, g.partial
		return
	case f.reason == "" || f.reason == g.reason:
		f.reason = g.reason
	case g.reason != "":
		f.reason += "; " + g.reason
	}
	if g.retry > 0 && (f.retry == 0 || g.retry < f.retry) {
		f.retry = g.retry
	}
}

// search finds a verdict with as few requests as possible: rules, zone and DNS may spare the registry's.
func (s *Service) search(ctx context.Context, name, suffix fqdn.Name) Verdict {
	f := finding{status: Unknown, confidence: ByNone}
	if s.beforeAsking(&f, name, suffix) {
		return s.verdict(f, name, suffix)
	}
	zone := s.zone(name)
	if zone.status == Registered {
		f.add(zone)
		return s.verdict(f, name, suffix)
	}
	dns := s.race(ctx, &f, name, suffix)
	f.add(zone)
	f.add(dns)
	return s.verdict(f, name, suffix)
}

// race asks DNS and, after dnsLead, the registry beside it. It adds to f what they find, and returns, without
// its evidence, a finding to use only if no other source has one.
func (s *Service) race(ctx context.Context, f *finding, name, suffix fqdn.Name) (weak finding) {
	weak = finding{status: Unknown}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	dns := s.startDNS(ctx, name, suffix)
	if dns != nil {
		lead := time.NewTimer(dnsLead)
		defer lead.Stop()
		select {
		case g := <-dns:
			dns = nil
			if weak = f.takeDNS(g); f.known() {
				return weak
			}
		case <-lead.C:
		}
	}
	registry := make(chan finding, 1)
	go func() {
		registry <- s.shielded(func() finding { return s.askRegistry(ctx, name, suffix, false) })
	}()
	for registry != nil || dns != nil && !f.known() {
		select {
		case g := <-dns:
			dns = nil
			weak = f.takeDNS(g)
		case g := <-registry:
			registry = nil
			f.add(g)
		}
		if f.known() {
			break
		}
	}
	cancel()
	if registry != nil {
		<-registry
	}
	if dns != nil {
		<-dns
	}
	return weak
}

// shielded turns a panic into an unknown finding: replies may be hostile, and a defect in a parser must not end the
// program.
func (s *Service) shielded(ask func() finding) (f finding) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.Logger.Error("reading a reply panicked", "panic", p, "stack", string(debug.Stack()))
			f = finding{status: Unknown, confidence: ByNone, reason: "a reply could not be read"}
		}
	}()
	return ask()
}

// takeDNS adds a delegation. Anything else adds its evidence only, and is returned for later use.
func (f *finding) takeDNS(g finding) (weak finding) {
	if g.status == Registered {
		f.add(g)
		return finding{status: Unknown}
	}
	f.evidence = append(f.evidence, g.evidence...)
	g.evidence = nil
	return g
}

// startDNS asks in the background and sends one finding; nil when there is no server to ask.
func (s *Service) startDNS(ctx context.Context, name, suffix fqdn.Name) chan finding {
	servers, guarded := s.dnsServers(suffix)
	if len(servers) == 0 {
		return nil
	}
	out := make(chan finding, 1)
	go func() {
		out <- s.shielded(func() finding { return s.askDNS(ctx, servers, guarded, name, suffix) })
	}()
	return out
}

func (s *Service) askDNS(ctx context.Context, servers []string, guarded bool, name, suffix fqdn.Name) finding {
	start := time.Now()
	ctx, done := s.cfg.Around(ctx, "dns", servers[0])
	host, code := s.dns.ask(ctx, servers, guarded, name, suffix)
	done(code)
	f := finding{status: Unknown, evidence: []Evidence{{Source: "dns", Host: host, Code: code, Elapsed: time.Since(start)}}}
	switch code {
	case dnsDelegated:
		f.status, f.confidence = Registered, ByDNS
	case dnsNXDomain:
		f.status, f.confidence, f.reason = LikelyAvailable, ByDNS, "DNS does not know the name, and the registry did not say"
	}
	return f
}

// look finds a verdict and the published record. The registry is always asked.
func (s *Service) look(ctx context.Context, name, suffix fqdn.Name) Answer {
	f := finding{status: Unknown, confidence: ByNone}
	if !s.beforeAsking(&f, name, suffix) {
		f.add(s.shielded(func() finding { return s.askRegistry(ctx, name, suffix, true) }))
		if !f.known() {
			f.add(s.zone(name))
		}
	}
	v := s.verdict(f, name, suffix)
	a := Answer{Verdict: v, Record: f.record, Servers: f.servers, Warnings: f.warnings, FetchedAt: v.CheckedAt}
	a.Record.Domain = name
	switch {
	case len(f.sources) > 1:
		a.Source = "merged"
	case len(f.sources) == 1:
		a.Source = f.sources[0]
	}
	switch v.Status {
	case Unknown, LikelyAvailable, Reserved: // a reserved name is not registered, and yet not free
		if v.Reason != "" {
			a.Warnings = append(a.Warnings, v.Reason)
		}
	}
	return a
}

// beforeAsking applies the rules that need no registry and reports whether they decide.
func (s *Service) beforeAsking(f *finding, name, suffix fqdn.Name) bool {
	if suffix.TLD() != "arpa" {
		return false
	}
	f.reserve(s.ruleReserved(name, suffix))
	return true
}

// reserve turns the finding into a reserved one by a rule.
func (f *finding) reserve(reason string) {
	f.status, f.confidence, f.reason = Reserved, ByRegistry, reason
	f.evidence = append(f.evidence, Evidence{Source: "rules", Code: "reserved"})
}

// zone asks the zone index.
func (s *Service) zone(name fqdn.Name) finding {
	f := finding{status: Unknown}
	if s.cfg.Zone == nil {
		return f
	}
	present, loaded, date := s.cfg.Zone.Look(name)
	switch {
	case !loaded:
		return f
	case present:
		f.status, f.confidence = Registered, ByZone
		f.evidence = []Evidence{{Source: "zone", Code: "hit", Date: date}}
	default:
		f.status, f.confidence, f.reason = LikelyAvailable, ByZone, "the name is not in the zone, and the registry did not say"
		f.evidence = []Evidence{{Source: "zone", Code: "miss", Date: date}}
	}
	return f
}

// learn tells the zone index what a registry said about the name.
func (s *Service) learn(f finding, name fqdn.Name) {
	if s.cfg.Zone == nil || f.confidence != ByRegistry && f.confidence != ByWHOIS {
		return
	}
	switch f.status {
	case Registered, Expiring:
		s.cfg.Zone.Learn(name, true)
	case Available:
		s.cfg.Zone.Learn(name, false)
	}
}

// verdict closes the finding.
func (s *Service) verdict(f finding, name, suffix fqdn.Name) Verdict {
	now := s.cfg.Now().UTC()
	s.learn(f, name)
	if f.status == Available {
		if reason := s.ruleReserved(name, suffix); reason != "" {
			f.reserve(reason)
		}
	}
	v := Verdict{
		Name: name, Suffix: suffix, Status: f.status, Confidence: f.confidence, Reason: f.reason,
		Evidence: slices.Clip(f.evidence), CheckedAt: now,
	}
	life := unknownLife
	switch f.status {
	case Registered:
		life = registeredLife
	case Expiring:
		life = expiringLife
	case Available:
		life = availableLife
	case Reserved:
		life = reservedLife
	case Invalid:
		life = invalidLife
	default:
		if f.retry > 0 {
			life = f.retry
			v.RetryAt = now.Add(life)
		}
		if f.reason == "" {
			v.Reason = "nobody could be asked"
		}
	}
	if f.partial {
		life = min(life, partialLife)
	}
	v.FreshUntil = now.Add(life)
	return v
}

// statusOf is what a record of an existing name says: reserved, expiring or registered.
func statusOf(rec record.Record) Status {
	status := Registered
	for _, code := range rec.Status {
		switch {
		case strings.EqualFold(code, "reserved"):
			return Reserved
		case strings.EqualFold(code, "redemptionPeriod"), strings.EqualFold(code, "pendingDelete"):
			status = Expiring
		}
	}
	return status
}

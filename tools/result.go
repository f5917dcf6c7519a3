package tools

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// A Result is the verdict on one name. Status is about its registration; a name that is for sale here has a
// listing, whatever its status.
type Result struct {
	Domain       string       `json:"domain" jsonschema:"A-label form"`
	Unicode      string       `json:"unicode,omitzero"`
	TLD          string       `json:"tld"`
	Kind         Kind         `json:"kind"`
	Status       Status       `json:"status"`
	Available    op.Truth     `json:"available,omitzero" jsonschema:"absent when not certain"`
	Confidence   Confidence   `json:"confidence"`
	Reason       string       `json:"reason,omitzero"`
	Evidence     []Evidence   `json:"evidence"`
	Registration Registration `json:"registration,omitzero" jsonschema:"what registering the name costs"`
	Renewal      Registration `json:"renewal,omitzero" jsonschema:"what renewing it costs"`
	Listing      Listing      `json:"listing,omitzero" jsonschema:"present when the name is for sale here"`
	RetryAfter   int          `json:"retry_after_s,omitzero"`
}

// Evidence is what one source said.
type Evidence struct {
	Source string `json:"source"`
	Host   string `json:"host,omitzero"`
	Code   string `json:"code,omitzero"`
	MS     int64  `json:"ms" jsonschema:"how long the answer took"`

	ZoneDate time.Time `json:"zone_date,omitzero" jsonschema:"of the zone file that the answer is from"`
}

// A Registration is the price of registering or renewing a name under its suffix. It is public.
type Registration struct {
	PriceCents int64  `json:"priceCents"`
	Currency   string `json:"currency"`
	TermYears  int    `json:"term_years"`
}

// A Listing is an offer of this marketplace.
type Listing struct {
	Price Price `json:"price"`
}

// Kind says why a name is in an answer.
type Kind string

// The kinds of results.
const (
	Exact   Kind = "exact"   // asked for
	Sibling Kind = "sibling" // the same label under another suffix
	ForSale Kind = "listing" // a listing that fits the words
)

// Schema is the enumeration of the kinds.
func (Kind) Schema() *jsonschema.Schema { return enum(Exact, Sibling, ForSale) }

// Status is a [lookup.Status] on the wire.
type Status lookup.Status

// Schema is the enumeration of the statuses.
func (Status) Schema() *jsonschema.Schema {
	return enum(lookup.Available, lookup.LikelyAvailable, lookup.Registered, lookup.Expiring, lookup.Reserved, lookup.Invalid, lookup.Unknown)
}

// Confidence is a [lookup.Confidence] on the wire.
type Confidence lookup.Confidence

// Schema is the enumeration of the confidences.
func (Confidence) Schema() *jsonschema.Schema {
	return enum(lookup.ByRegistry, lookup.ByZone, lookup.ByDNS, lookup.ByWHOIS, lookup.ByNone)
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// result puts a verdict into the form of the answer, with what the name costs and whether it is for sale.
func (s *service) result(ctx context.Context, kind Kind, v lookup.Verdict) Result {
	r := Result{
		Domain: v.Name.String(), TLD: v.Suffix.String(), Kind: kind,
		Status: Status(v.Status), Available: available(v.Status), Confidence: Confidence(v.Confidence), Reason: v.Reason,
		Evidence: evidence(v),
	}
	if v.Name.IDN() {
		r.Unicode = v.Name.Unicode()
	}
	if v.Status == lookup.Available || v.Status == lookup.LikelyAvailable {
		r.Registration = s.registration(v.Suffix, tld.Register)
		r.Renewal = s.registration(v.Suffix, tld.Renew)
	}
	if l, ok := s.cfg.Market.Get(market.Live, v.Name); ok {
		r.Listing = Listing{show(ctx, money.Amount{Cents: l.PriceCents, Currency: l.Currency})}
	}
	if wait := v.RetryAt.Sub(s.cfg.Now()); wait > 0 && !v.RetryAt.IsZero() {
		r.RetryAfter = int((wait + time.Second - 1) / time.Second)
	}
	return r
}

// registration is the price of an action; empty where it is not offered.
func (s *service) registration(suffix fqdn.Name, a tld.Action) Registration {
	p, err := s.cfg.Prices.Price(suffix, a)
	if err != nil {
		return Registration{}
	}
	return Registration{p.Amount.Cents, p.Amount.Currency, p.TermYears}
}

// decisive is the source that a confidence rests on.
var decisive = map[lookup.Confidence]string{lookup.ByRegistry: "rdap", lookup.ByWHOIS: "whois", lookup.ByDNS: "dns", lookup.ByZone: "zone"}

// evidence is all that was learnt where something is open, and what decided where nothing is: a search answer has a
// budget, and an assistant pays for each byte.
func evidence(v lookup.Verdict) []Evidence {
	certain := v.Status != lookup.Unknown && v.Status != lookup.LikelyAvailable
	all := make([]Evidence, 0, len(v.Evidence))
	for _, e := range v.Evidence {
		wire := Evidence{e.Source, e.Host, e.Code, e.Elapsed.Milliseconds(), wireTime(e.Date)}
		if certain && e.Source == decisive[v.Confidence] {
			wire.Host = ""
			return []Evidence{wire}
		}
		all = append(all, wire)
	}
	return all
}

// available is certain or absent.
func available(s lookup.Status) op.Truth {
	switch s {
	case lookup.Available:
		return op.Yes
	case lookup.Registered, lookup.Expiring, lookup.Reserved, lookup.Invalid:
		return op.No
	}
	return op.Unknown
}

// An ask is one name of an answer.
type ask struct {
	name    fqdn.Name
	kind    Kind
	refused *Result // the answer for a text that is no name at all
}

// everything is the filter of operations that answer with whatever they asked about.
func everything(Result) bool { return true }

// answers looks all names up side by side and emits each result as it is known. The results come back in the order
// of the asks, with the time of the oldest verdict and the time until which all of them hold. What keep, the filter of
// the operation, does not keep is in neither: a stream shows what the answer does.
func (s *service) answers(ctx context.Context, asks []ask, keep func(Result) bool) (results []Result, checked, fresh time.Time) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	type known struct {
		at      int
		verdict lookup.Verdict
	}
	arriving := make(chan known, len(asks))
	for i, a := range asks {
		if a.refused != nil {
			now := s.cfg.Now()
			arriving <- known{i, lookup.Verdict{CheckedAt: now, FreshUntil: now}}
			continue
		}
		go func() { arriving <- known{i, s.cfg.Lookup.Verdict(ctx, a.name)} }()
	}
	all, kept := make([]Result, len(asks)), make([]bool, len(asks))
	for done := range asks {
		k := <-arriving
		if a := asks[k.at]; a.refused != nil {
			all[k.at] = *a.refused
		} else {
			all[k.at] = s.result(ctx, a.kind, k.verdict)
		}
		if done == 0 || k.verdict.CheckedAt.Before(checked) {
			checked = k.verdict.CheckedAt
		}
		if done == 0 || k.verdict.FreshUntil.Before(fresh) {
			fresh = k.verdict.FreshUntil
		}
		e := op.Event{Done: done + 1, Total: len(asks)}
		if kept[k.at] = keep(all[k.at]); kept[k.at] {
			e.Item = all[k.at]
		}
		op.Emit(ctx, e)
	}
	results = all[:0]
	for i, r := range all {
		if kept[i] {
			results = append(results, r)
		}
	}
	return results, wireTime(checked), fresh
}

// wireTime is UTC in whole seconds, as every time on the wire.
func wireTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Second)
}

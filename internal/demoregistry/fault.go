package demoregistry

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Fault is one way in which a host misbehaves when asked about a name. It concerns one protocol; the other two
// answer as ever.
type Fault string

// Faults of RDAP.
const (
	BadRequest      Fault = "400"              // status 400 with an RDAP error
	Denied          Fault = "403"              // status 403 with an RDAP error
	TooMany         Fault = "429"              // status 429 with an RDAP error and Retry-After in seconds
	TooManyDate     Fault = "429-date"         // as TooMany, with Retry-After as a date
	Broken          Fault = "503"              // status 503 with a page of HTML
	HTMLNotFound    Fault = "html-404"         // status 404 with a page of HTML
	ForeignNotFound Fault = "foreign-404"      // a redirect to another host, which answers 404
	WrongName       Fault = "wrong-name"       // a well-formed answer about another name
	Truncated       Fault = "truncated"        // the first half of the answer, as if it were whole
	Cut             Fault = "cut"              // the connection ends in the middle of the answer
	Junk            Fault = "junk"             // status 200 with octets that are not JSON
	Deep            Fault = "deep"             // status 200 with JSON nested 100 000 deep
	Slow            Fault = "slow"             // the right answer, one octet each 100 ms
	Endless         Fault = "endless"          // a JSON string that never ends
	RedirectLoop    Fault = "redirect-loop"    // a redirect to itself
	RedirectPrivate Fault = "redirect-private" // a redirect to a link-local address
	RelatedPrivate  Fault = "related-private"  // the right answer, with the registrar's link to a private address
)

// Faults of WHOIS.
const (
	WhoisThrottle        Fault = "whois-throttle"         // the host's text for too many queries
	WhoisDenied          Fault = "whois-denied"           // a text that denies access
	WhoisSilent          Fault = "whois-silent"           // the connection is closed without an answer
	WhoisSlow            Fault = "whois-slow"             // the right answer, one octet each 100 ms
	WhoisEndless         Fault = "whois-endless"          // a comment that never ends
	WhoisWrongName       Fault = "whois-wrong-name"       // a well-formed answer about another name
	WhoisReferralLoop    Fault = "whois-referral-loop"    // an answer that names the asked host as the registrar's
	WhoisReferralPrivate Fault = "whois-referral-private" // an answer that names a private address as the registrar's host
)

// Faults of DNS.
const (
	DNSFailure Fault = "dns-servfail" // SERVFAIL
	DNSRefused Fault = "dns-refused"  // REFUSED
	DNSSilent  Fault = "dns-silent"   // no answer
)

// RetryAfter is the wait that the throttling faults ask for.
const RetryAfter = 20 * time.Second

const (
	dripEvery    = 100 * time.Millisecond // between two octets of a slow answer
	linkLocal    = "169.254.169.254"      // RFC 3927; where clouds keep credentials
	privateHost  = "10.0.0.1"             // RFC 1918
	otherLabel   = "somebody-else"        // whom the answers about a wrong name are about
	namedByLabel = "fault-"
)

// Faults returns every fault: RDAP, then WHOIS, then DNS.
func Faults() []Fault {
	return []Fault{
		BadRequest, Denied, TooMany, TooManyDate, Broken, HTMLNotFound, ForeignNotFound, WrongName, Truncated, Cut,
		Junk, Deep, Slow, Endless, RedirectLoop, RedirectPrivate, RelatedPrivate,
		WhoisThrottle, WhoisDenied, WhoisSilent, WhoisSlow, WhoisEndless, WhoisWrongName, WhoisReferralLoop, WhoisReferralPrivate,
		DNSFailure, DNSRefused, DNSSilent,
	}
}

// rests are the faults after which a client stays away from the host for a while.
var rests = []Fault{Denied, TooMany, TooManyDate, WhoisThrottle, WhoisDenied}

// Name is the name that always shows the fault: "fault-429.throttled.test". No other name is on its host, so that a user who
// tries one is kept from nothing but faults of its kind.
func (f Fault) Name() string {
	suffix := "test"
	if strings.HasPrefix(string(f), "whois-") {
		suffix = "example"
	}
	if slices.Contains(rests, f) {
		return namedByLabel + string(f) + ".throttled." + suffix
	}
	return namedByLabel + string(f) + ".broken." + suffix
}

// namedFault is the fault that the label of a name says.
func namedFault(name string) (Fault, bool) {
	label, suffix, _ := strings.Cut(name, ".")
	after, ok := strings.CutPrefix(label, namedByLabel)
	op := operatorOf[suffix]
	if !ok || op == nil || !op.faults || !slices.Contains(Faults(), Fault(after)) || op.rests != slices.Contains(rests, Fault(after)) {
		return "", false
	}
	return Fault(after), true
}

// Registrar is the target of [Registry.Fail] for the registrar's hosts and all names.
// They know of no other faults.
const Registrar = "registrar"

// Fail makes hosts misbehave when asked about the target, at most one fault for each protocol: a name, a suffix for
// every name below it, or [Registrar]. It replaces what was set for the target before; without faults it restores it.
// A fault that does not exist is a mistake of the caller's and panics.
func (r *Registry) Fail(target string, faults ...Fault) {
	for _, f := range faults {
		if !slices.Contains(Faults(), f) {
			panic(fmt.Sprintf("registry: there is no fault %q", f))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if key := canonical(target); len(faults) == 0 {
		delete(r.faults, key)
	} else {
		r.faults[key] = slices.Clone(faults)
	}
}

// faultOf is how the operator's host misbehaves when asked about the name in the protocol whose faults are the keys
// of known: by the fault set for the name, else the one of its label, else the one set for its suffix; "" when it
// behaves.
func faultOf[V any](r *Registry, name string, op *operator, known map[Fault]V) Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	var set []Fault
	if op != nil && op.name == registrarName {
		set = r.faults[Registrar]
	} else {
		set = slices.Clone(r.faults[name])
		if f, ok := namedFault(name); ok {
			set = append(set, f)
		}
		set = append(set, r.faults[suffixOf(name)]...)
	}
	for _, f := range set {
		if _, ok := known[f]; ok {
			return f
		}
	}
	return ""
}

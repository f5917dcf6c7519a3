// Package lookup finds who holds a domain and whether it is free, from registries that may be slow, unreachable or wrong.
//
// A [Service] asks RDAP, WHOIS, DNS and a zone index, each for the statuses that it may decide (see [Status]), and answers
// with the evidence. It calls a name available only if the registry itself says so.
package lookup

import (
	"context"
	"crypto/x509"
	"log/slog"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/lookup/guard"
	"github.com/namewharf/namewharf/lookup/record"
)

// A Status is the state of a name's registration.
type Status string

// The values of [Status].
const (
	Available       Status = "available"        // the registry itself says that it does not exist
	LikelyAvailable Status = "likely_available" // not in the zone; the registry could not be asked
	Registered      Status = "registered"
	Expiring        Status = "expiring" // registered, in the redemption period or pending delete (RFC 3915)
	Reserved        Status = "reserved" // withheld by the registry
	Invalid         Status = "invalid"  // no registry accepts such a name
	Unknown         Status = "unknown"  // the reason says why
)

// Confidence is the kind of source that decided a status.
type Confidence string

// The values of [Confidence].
const (
	ByRegistry Confidence = "registry" // the registry over RDAP, or a rule that binds it
	ByZone     Confidence = "zone"
	ByDNS      Confidence = "dns"
	ByWHOIS    Confidence = "whois"
	ByNone     Confidence = "none"
)

// A Verdict is what is known about the registration of a name. It is shared: do not change Evidence.
type Verdict struct {
	Name       fqdn.Name // the registrable name; what was given when there is none
	Suffix     fqdn.Name // zero when the suffix is unknown
	Status     Status
	Confidence Confidence
	Reason     string     // why the status is not a plain yes or no; plain words, may be empty
	Evidence   []Evidence // in the order in which it came
	RetryAt    time.Time  // when asking again may bring more; zero: not known
	CheckedAt  time.Time
	FreshUntil time.Time // until when the verdict is answered from the cache
}

// Evidence is one source's contribution to a verdict.
type Evidence struct {
	Source  string // rdap, whois, dns, zone or rules
	Host    string // who was asked; empty for zone and rules
	Code    string // what it said, in one word: an HTTP status, nxdomain, free, throttled, timeout, …
	Elapsed time.Duration
	Date    time.Time // of the zone; zero for other sources
}

// An Answer is a verdict with the published registration data. It is shared: do not change what it points to.
type Answer struct {
	Verdict
	Record    record.Record // for a registered name; otherwise Domain alone
	Servers   []string      // those that were asked, in order: RDAP base URLs and WHOIS hosts
	Source    string        // "rdap", "whois", or "merged" when the record draws on more than one reply; empty without a record
	Warnings  []string      // what could not be learnt, and why
	FetchedAt time.Time
}

// A Table knows the registries' servers by suffix in A-label form. It is asked while the service is built and for
// each look-up that is not answered from the cache; it must not change.
type Table interface {
	Delegated() []string         // the delegated top-level domains
	RDAP(suffix string) []string // base URLs; none: no RDAP
	WHOIS(suffix string) string  // host or host:port; empty: no WHOIS
	ASCIIOnly() []string         // the suffixes, longer ones too, that take no internationalized names
}

// A Zone says which names are delegated, from zone files. It may say "present" wrongly with a negligible probability, and
// "absent" of no name that is in the zone.
type Zone interface {
	// Look reports whether the name is delegated, and whether there is a zone to say so, with its date: zero where the
	// answer was learnt since.
	Look(name fqdn.Name) (present, loaded bool, date time.Time)

	// Learn takes what a registry said about a name, so that an older zone does not contradict it.
	Learn(name fqdn.Name, registered bool)
}

// An Around is called before a request goes to a host, by rdap, whois or dns. The function that it returns is called with
// the outcome of the request in one word, the Code of an [Evidence]. It does not get the name that is asked about. The
// context that it returns is that of the request.
type Around func(ctx context.Context, source, host string) (_ context.Context, done func(code string))

// IANABootstrap is where IANA publishes the RDAP servers of the top-level domains (RFC 9224).
const IANABootstrap = "https://data.iana.org/rdap/dns.json"

// BootstrapOff as Config.BootstrapURL disables the refresh.
const BootstrapOff = "off"

// Config is what a [Service] is built from. Zero limits mean the defaults, never no limit.
type Config struct {
	Suffixes     Table            // required
	Registry     Registry         // what the operator says about servers; zero: nothing
	BootstrapURL string           // empty: IANABootstrap; BootstrapOff: no refresh
	Resolvers    []string         // DNS servers, host:port, for suffixes that Registry does not name; see SystemResolvers
	Zone         Zone             // nil: none
	RootCAs      *x509.CertPool   // nil: the system's, with Registry.CAFile if that is given
	Resolver     guard.Resolver   // finds the addresses of servers; nil: the system's
	Now          func() time.Time // nil: time.Now
	Logger       *slog.Logger     // of the bootstrap refresh, and of our own mistakes; nil: silent
	Around       Around           // is called around each request; may be nil

	SearchTime   time.Duration // a verdict; default 4 s
	LookupTime   time.Duration // a look-up; default 8 s
	RatePerHost  float64       // requests a second to one host; default Registry.RatePerHost, else 2
	InFlight     int           // requests to one host at a time; default 4
	Verdicts     int           // verdicts cached; default 200 000
	VerdictBytes int64         // their size; default 64 MiB
	Answers      int           // answers cached; default 20 000
	AnswerBytes  int64         // their size; default 64 MiB
}

// Time limits of one attempt and of the whole.
const (
	defaultSearchTime = 4 * time.Second
	defaultLookupTime = 8 * time.Second
	rdapTry           = 5 * time.Second
	whoisTry          = 6 * time.Second
	dnsTry            = 1 * time.Second

	// dnsLead is how long a search waits for DNS alone. A delegation found so spares the registry a request out of
	// a budget of two a second; a slow resolver must not delay the registry's answer by more.
	dnsLead = 10 * time.Millisecond

	// margin is the part of the caller's time that is left to make the answer.
	margin = 25 * time.Millisecond
)

// Limits on replies.
const (
	maxRDAP      = 512 << 10
	maxWHOIS     = 256 << 10
	maxBootstrap = 4 << 20
	maxHops      = 2 // WHOIS servers asked beyond the registry's
)

// How long verdicts are cached.
const (
	registeredLife = 6 * time.Hour    // a registration lasts for a year at least
	expiringLife   = 1 * time.Hour    // it may be restored or dropped at any hour
	availableLife  = 60 * time.Second // it may be registered
	unknownLife    = 15 * time.Second // long enough to stop a stampede; a throttled verdict lasts until its retry time
	partialLife    = 10 * time.Minute // the registrar could not be asked; the rest is good
	reservedLife   = 24 * time.Hour
	invalidLife    = 24 * time.Hour
)

func (c *Config) setDefaults() {
	or(&c.BootstrapURL, IANABootstrap)
	or(&c.SearchTime, defaultSearchTime)
	or(&c.LookupTime, defaultLookupTime)
	or(&c.RatePerHost, c.Registry.RatePerHost)
	or(&c.Verdicts, 200_000)
	or(&c.VerdictBytes, 64<<20)
	or(&c.Answers, 20_000)
	or(&c.AnswerBytes, 64<<20)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Around == nil {
		c.Around = func(ctx context.Context, _, _ string) (context.Context, func(string)) { return ctx, func(string) {} }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// or sets a value that is not positive, or empty, to its default.
func or[T int | int64 | float64 | time.Duration | string](v *T, def T) {
	var zero T
	if !(*v > zero) {
		*v = def
	}
}

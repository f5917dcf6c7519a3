// Package oauthas is the embedded OAuth 2.1 authorization server.
//
// Clients are public: they register themselves (RFC 7591) or are named by the URL of a document about them (Client ID
// Metadata Documents), prove with PKCE (RFC 7636, S256 only) that a code was issued to them, and hold no secret. Tokens
// are opaque; of them, and of codes, the database holds SHA-256 only.
//
// [Server.Handler] serves what programs call: discovery, registration, token and revocation. Web pages stay
// with the caller: they ask [Server.Authorize] what to do with an authorization request and hand the
// person's answer to [Server.Answer]. [Server.Caller] tells resource servers whom a token speaks for.
//
// Who may do what is decided by functions without state: redirect.go (redirect URIs), name.go (names of clients),
// request.go (authorization requests), audience.go (resources), grant.go (codes and refresh tokens).
package oauthas

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/egress"
	"github.com/namewharf/namewharf/store"
)

// Lifetimes of the contract.
const (
	CodeLife    = 60 * time.Second
	AccessLife  = 30 * time.Minute
	RefreshLife = 30 * 24 * time.Hour
	GrantLife   = 180 * 24 * time.Hour // refreshing goes no further: the person is asked again

	UnusedLife      = 7 * 24 * time.Hour // of a registered client without a live grant
	InteractionLife = 10 * time.Minute   // between the question and the answer
)

// maxCodeFailures is the number of failed redemptions after which a code is burnt.
const maxCodeFailures = 5

// Bounds on what one person, or a client that one person trusts, can make us keep.
const (
	maxInteractions = 32 // open questions of a session; the oldest make way
	maxGrants       = 32 // grants of a client by one account, such as on several machines; those used longest ago make way
)

// Config is what a Server needs. DB, Issuer and Resources are required.
type Config struct {
	DB     *store.DB
	Now    func() time.Time // nil: time.Now
	Issuer string           // the public address of the service, without a slash at the end; https unless loopback

	// Resources are the protected resources, absolute URLs. Those below the issuer get their metadata document here;
	// one elsewhere serves its own and is only known as a target of tokens.
	Resources []string

	// Fetch gets client metadata documents. nil: [DocumentClient] with public addresses only.
	Fetch *egress.Client

	// AllowedSchemes are private-use URI schemes of redirects that have no dot. nil: those of known editors.
	AllowedSchemes []string

	// RefreshGrace is how long after its use a refresh token still gives the same successor, as long as that one is
	// unused: for clients that lose an answer. Zero, the default, revokes the grant at once.
	RefreshGrace time.Duration

	Registrations RegistrationLimit              // see also NoLimits
	NoLimits      bool                           // registration and fetches of documents without a limit
	ClientIP      func(*http.Request) netip.Addr // of the client, for the limits; nil: the connection's
	Record        func(context.Context, Event)   // receives the events of grants; nil: none
	Logger        *slog.Logger                   // nil: nothing is logged
}

// An Event is something that happened to a grant, for the security log of the account.
type Event struct {
	Account string
	Kind    EventKind
	Client  string // the name the client gives itself, or its address
	Grant   string // its id
}

// An EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	GrantBegan      EventKind = "grant_began"      // a client received its first tokens
	GrantRevoked    EventKind = "grant_revoked"    // by the account or the client
	CodeReplayed    EventKind = "code_replayed"    // the grant was revoked for it
	RefreshReplayed EventKind = "refresh_replayed" // the grant was revoked for it
)

// defaultSchemes are the redirect schemes without a dot that are accepted by default: editors with many users that
// cannot change theirs.
var defaultSchemes = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// scopes are those of the public API, in the order in which they are shown. The first is the default.
var scopes = []string{"pricing:read", "domains:write"}

// A Server is the authorization server. It is safe for concurrent use; any number of them may share a database.
type Server struct {
	cfg       Config
	rules     redirectRules
	audience  audience
	ownNames  []string // skeletons that no client may call itself
	documents *documentCache
	limits    *limits // nil: none
	handler   http.Handler

	tokens     *cache.Cache[digest, cachedToken] // good access tokens
	generation atomic.Uint64                     // counts revocations here; entries of tokens from before do not count
}

// New returns a server. It refuses an issuer that is not an
// absolute URL, or is plain http on a host that is not loopback, and redirect schemes that are never safe.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.DB == nil {
		return nil, errors.New("oauthas: a database is needed")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.AllowedSchemes == nil {
		cfg.AllowedSchemes = defaultSchemes
	}
	if cfg.Record == nil {
		cfg.Record = func(context.Context, Event) {}
	}
	if cfg.ClientIP == nil {
		cfg.ClientIP = connectionAddress
	}
	if cfg.Fetch == nil {
		cfg.Fetch = DocumentClient(nil, nil)
	}
	issuer, err := checkIssuer(cfg.Issuer)
	if err != nil {
		return nil, err
	}
	audience, err := newAudience(cfg.Issuer, cfg.Resources)
	if err != nil {
		return nil, err
	}
	rules, err := newRedirectRules(cfg.AllowedSchemes)
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg:      cfg,
		rules:    rules,
		audience: audience,
		ownNames: ownNames(issuer),
		tokens:   cache.New(cache.Config[digest, cachedToken]{Entries: cachedTokens, Now: cfg.Now}),
	}
	s.documents = newDocumentCache(cfg.Fetch, cfg.NoLimits, cfg.Now, s.checkDocument)
	if !cfg.NoLimits {
		if s.limits, err = newLimits(cfg.Registrations, cfg.Now); err != nil {
			return nil, err
		}
	}
	s.handler = s.routes(issuer)
	return s, nil
}

// Close waits for documents that are being fetched.
func (s *Server) Close() {
	s.documents.close()
}

// checkIssuer holds the issuer against RFC 8414, section 2, with plain http for loopback.
func checkIssuer(issuer string) (*url.URL, error) {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("oauthas: the issuer must be an absolute URL without user, query and fragment")
	case strings.HasSuffix(issuer, "/"):
		return nil, errors.New("oauthas: the issuer must not end with a slash")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return nil, errors.New("oauthas: the issuer must be an https URL")
	case !loopbackHost(u.Hostname()):
		return nil, fmt.Errorf("oauthas: the issuer is plain http on %s, which is not loopback: tokens would travel in clear", u.Hostname())
	}
	return u, nil
}

func loopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

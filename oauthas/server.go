// Package oauthas is the embedded OAuth 2.1 authorization server.
//
// Clients are public, without a secret: they register (RFC 7591) or use the URL of a Client ID Metadata Document, and prove
// with PKCE (RFC 7636, S256 only) that a code was issued to them. Tokens are opaque. The database stores only the SHA-256 of
// tokens and codes.
//
// [Server.Handler] serves discovery, registration, token and revocation. The caller serves the web pages: they call
// [Server.Authorize] with an authorization request and [Server.Answer] with the user's answer. [Server.Caller] returns the
// account and scopes of an access token to resource servers.
//
// The decisions are stateless functions: redirect.go (redirect URIs), name.go (names of clients), request.go (authorization
// requests), audience.go (resources), grant.go (codes and refresh tokens).
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
	GrantLife   = 180 * 24 * time.Hour // after which the user has to consent again

	UnusedLife      = 7 * 24 * time.Hour // of a registered client without a valid grant
	InteractionLife = 10 * time.Minute   // of a consent page
)

// maxCodeFailures is the number of failed redemptions after which a code is invalid.
const maxCodeFailures = 5

// Limits of what one account, or a client that it trusts, can make us store.
const (
	maxInteractions = 32 // open consent pages of a session; the oldest are removed
	maxGrants       = 32 // grants of one account to one client, such as on several machines; the least recently used are removed
)

// Config configures [New]. DB, Issuer and Resources are required.
type Config struct {
	DB     *store.DB
	Now    func() time.Time // nil: time.Now
	Issuer string           // the public address of the service, without a slash at the end; https unless loopback

	// Resources are the protected resources, absolute URLs. The server serves the metadata documents of those below the
	// issuer; other resources serve their own.
	Resources []string

	// Fetch fetches client metadata documents. nil: [DocumentClient] with public addresses only.
	Fetch *egress.Client

	// AllowedSchemes are private-use URI schemes without a dot that redirects may use. nil: those of well-known editors.
	AllowedSchemes []string

	// RefreshGrace is how long after its use a refresh token still returns the same successor, while that is unused, for
	// clients that lose a response. Zero, the default: reusing a refresh token revokes the grant at once.
	RefreshGrace time.Duration

	Registrations RegistrationLimit              // see also NoLimits
	NoLimits      bool                           // no rate limits
	ClientIP      func(*http.Request) netip.Addr // of the client, for the limits; nil: the connection's
	Record        func(context.Context, Event)   // receives the events of grants; nil: none
	Logger        *slog.Logger                   // nil: nothing is logged
}

// An Event is a change of a grant, for the security log of the account.
type Event struct {
	Account string
	Kind    EventKind
	Client  string // the client's name, or its id without a name
	Grant   string // its id
}

// An EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	GrantBegan      EventKind = "grant_began"      // a client received its first tokens
	GrantRevoked    EventKind = "grant_revoked"    // by the account or the client
	CodeReplayed    EventKind = "code_replayed"    // a code was reused, which revoked the grant
	RefreshReplayed EventKind = "refresh_replayed" // a refresh token was reused, which revoked the grant
)

// defaultSchemes are the redirect schemes without a dot that are accepted by default: those of editors with many users.
var defaultSchemes = []string{"cursor", "vscode", "vscode-insiders", "windsurf"}

// scopes are those of the public API, in display order. The first is the default.
var scopes = []string{"pricing:read", "domains:write"}

// A Server is the authorization server. It is safe for concurrent use; any number of them may share a database.
type Server struct {
	cfg       Config
	rules     redirectRules
	audience  audience
	ownNames  []string // skeletons of names that no client may use
	documents *documentCache
	limits    *limits // nil: none
	handler   http.Handler

	tokens     *cache.Cache[digest, cachedToken] // valid access tokens
	generation atomic.Uint64                     // counts flushes; cached tokens of earlier generations are void
}

// New returns a server. It refuses an issuer that is not an absolute URL, or is plain http on a host that is not loopback, and
// redirect schemes that are never safe.
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

// Close waits for fetches of documents.
func (s *Server) Close() {
	s.documents.close()
}

// checkIssuer checks the issuer against RFC 8414, section 2, but allows plain http on loopback.
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

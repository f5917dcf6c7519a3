// Package credential looks up the credentials with which partners sign requests: secrets, scopes, partner, environment.
package credential

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/namewharf/namewharf/cache"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// The scopes of credentials (section 5.1 of the contract).
const (
	ScopeSearch  = "search"  // read the inventory
	ScopeEmbed   = "embed"   // send buyers to the hosted checkout
	ScopeBuy     = "buy"     // quotes, orders, refunds, settlements
	ScopeBroker  = "broker"  // acquisition cases
	ScopeRefer   = "refer"   // tracked links
	ScopeReport  = "report"  // transactions, payouts, analytics
	ScopeWebhook = "webhook" // events and their delivery
)

// Scopes are all scopes, in the order of the documentation.
var Scopes = []string{ScopeSearch, ScopeEmbed, ScopeBuy, ScopeBroker, ScopeRefer, ScopeReport, ScopeWebhook}

// An Environment is a credential's: SANDBOX or LIVE. It decides which inventory, and whose orders, a request sees.
type Environment = market.Environment

// prefixes mark the environment in a key id and in a secret.
var prefixes = map[Environment]struct{ key, secret string }{
	market.Sandbox: {"nw_sandbox", "sk_sandbox"},
	market.Live:    {"nw_live", "sk_live"},
}

// IsSandboxKey reports whether a key id has the form of the sandbox. The key need not exist.
func IsSandboxKey(id string) bool { return strings.HasPrefix(id, prefixes[market.Sandbox].key+"_") }

// KeyPrefix returns the prefix of the key ids of an environment; false for an unknown environment.
func KeyPrefix(env Environment) (string, bool) {
	p, ok := prefixes[env]
	return p.key, ok
}

// NewSecret returns a fresh secret with 256 bits of randomness.
func NewSecret(env Environment) string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return prefixes[env].secret + "_" + base64.RawURLEncoding.EncodeToString(raw)
}

// MaxAge is how long a credential is cached: half of the two seconds within which a revocation by another process takes
// effect.
const MaxAge = time.Second

// maxCached limits the cached credentials, unknown ones included.
const maxCached = 16 << 10

// maxKeyID is more than the length of any key id. Longer ones are unknown, and are not cached.
const maxKeyID = 64

// A Credential is the result of looking up a key id. The other fields are valid only if it is active.
type Credential struct {
	Active  bool // false: unknown, revoked, or its partner is suspended
	Caller  op.Caller
	Party   Party
	Secrets []Secret // a request may be signed with any of them
}

// A Secret signs requests until it ends.
type Secret struct {
	Text string
	Ends time.Time // zero: it has no end
}

// A Party is a partner in an environment, with its terms. Everything that a partner owns belongs to a party.
type Party struct {
	Partner     string
	Environment Environment
	Terms       Terms
}

// Terms are the conditions agreed with a partner.
type Terms struct {
	ReviewLimitCents int64 // sales over it are held for manual review; 0: no limit
	Rates            ledger.Rates
}

// DefaultTerms are those of a partner with whom nothing else is agreed.
func DefaultTerms() Terms { return Terms{Rates: ledger.DefaultRates()} }

// inactive is checked in place of the secrets of a credential that is not active, so that the check takes as long.
var inactive = []Secret{{Text: "sk_sandbox_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}

// Verify reports whether a secret of the credential made the signature over the canonical string.
func (c *Credential) Verify(canonical, sent string, now time.Time) bool {
	secrets := c.Secrets
	if !c.Active {
		secrets = inactive
	}
	match := false
	for _, s := range secrets {
		equal := signature.Match(s.Text, canonical, sent)
		match = match || equal && (s.Ends.IsZero() || now.Before(s.Ends))
	}
	return match && c.Active
}

// A Cache looks credentials up in the database and caches them for [MaxAge].
type Cache struct {
	db      *store.DB
	keys    *seal.Keys
	now     func() time.Time
	entries *cache.Cache[string, *Credential]
}

// NewCache returns a Cache.
func NewCache(db *store.DB, keys *seal.Keys, now func() time.Time) *Cache {
	return &Cache{db, keys, now, cache.New(cache.Config[string, *Credential]{Entries: maxCached, Now: now})}
}

// Find returns the credential of a key id. An unknown key id is not an error: its credential is not active.
func (c *Cache) Find(ctx context.Context, keyID string) (*Credential, error) {
	if len(keyID) > maxKeyID {
		return &Credential{}, nil
	}
	if known, ok := c.entries.Get(keyID); ok {
		return known, nil
	}
	return c.entries.Load(ctx, keyID, func(ctx context.Context) (*Credential, time.Time, error) {
		until := c.now().Add(MaxAge) // counted from before the read
		found, err := c.read(ctx, keyID)
		return found, until, err
	})
}

func (c *Cache) read(ctx context.Context, keyID string) (*Credential, error) {
	var found *Credential
	err := c.db.Read(ctx, func(tx store.Tx) (err error) {
		found, err = selectCredential(ctx, tx, c.keys, keyID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up a credential: %w", err)
	}
	return found, nil
}

// SecretContext returns the context with which a secret is sealed: its place in the database.
func SecretContext(keyID string, number int) []byte {
	return fmt.Appendf(nil, "partner secret\n%s\n%d", keyID, number)
}

// selectCredential reads a credential with its secrets.
func selectCredential(ctx context.Context, tx store.Tx, keys *seal.Keys, keyID string) (*Credential, error) {
	found := &Credential{Caller: op.Caller{Key: keyID}}
	read := func(rows *sql.Rows) error {
		var scopes string
		var number int
		var sealed []byte
		var ends int64
		t := &found.Party.Terms
		if err := rows.Scan(&found.Party.Partner, &found.Party.Environment, &scopes, &t.ReviewLimitCents,
			&t.Rates.Service, &t.Rates.Partner, &t.Rates.Broker, &t.Rates.Referral, &number, &sealed, &ends); err != nil {
			return err
		}
		text, err := keys.Open(sealed, SecretContext(keyID, number))
		if err != nil {
			return err
		}
		found.Active, found.Caller.Scopes = true, strings.Fields(scopes)
		found.Secrets = append(found.Secrets, Secret{string(text), store.Time(ends)})
		return nil
	}
	err := store.Each(ctx, tx, read, `
		SELECT c.partner_id, c.environment, c.scopes, p.review_limit_cents, p.service_bp, p.partner_bp, p.broker_bp, p.referral_bp,
			s.number, s.sealed, s.ends_at
		FROM partner_credentials c
		JOIN partners p ON p.id = c.partner_id
		JOIN partner_secrets s ON s.key_id = c.key_id
		WHERE c.key_id = $1 AND c.revoked_at = 0 AND p.suspended_at = 0
		ORDER BY s.number DESC`, keyID)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// ParseScopes reads scopes separated by commas or spaces, and sorts them as in [Scopes]. It fails with [fault.Validation].
func ParseScopes(text string) ([]string, error) {
	given := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	for _, g := range given {
		if !slices.Contains(Scopes, g) {
			return nil, fault.Invalid("scopes", "must be of %s", strings.Join(Scopes, ", "))
		}
	}
	ordered := []string{}
	for _, s := range Scopes {
		if slices.Contains(given, s) {
			ordered = append(ordered, s)
		}
	}
	return ordered, nil
}

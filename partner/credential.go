package partner

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

// Scopes are all there are, in the order of the documentation.
var Scopes = []string{ScopeSearch, ScopeEmbed, ScopeBuy, ScopeBroker, ScopeRefer, ScopeReport, ScopeWebhook}

// An Environment is a credential's: SANDBOX or LIVE. It decides which inventory, and whose orders, a request sees.
type Environment = market.Environment

// prefixes are what marks the environment in a key id, and in a secret.
var prefixes = map[Environment]struct{ key, secret string }{
	market.Sandbox: {"nw_sandbox", "sk_sandbox"},
	market.Live:    {"nw_live", "sk_live"},
}

// sandboxKey reports whether a key id says that it is one of the sandbox, whether it exists or not.
func sandboxKey(id string) bool { return strings.HasPrefix(id, prefixes[market.Sandbox].key+"_") }

// newSecret returns a fresh secret with 256 bits of randomness.
func newSecret(env Environment) string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return prefixes[env].secret + "_" + base64.RawURLEncoding.EncodeToString(raw)
}

// Staleness is how long a credential that was looked up is good without another look: half of the two seconds within
// which a revocation by another process must be seen.
const Staleness = time.Second

// cachedCredentials bounds the credentials that are remembered, unknown ones too.
const cachedCredentials = 16 << 10

// maxKeyID is more than the length of any key id: longer ones are nobody's, and not worth a place.
const maxKeyID = 64

// A credential is what is known of a key id. Of an unknown one, and of one that may not be used, only that is known.
type credential struct {
	good    bool
	caller  op.Caller
	party   Party
	secrets []secret // of which one must have signed
}

type secret struct {
	text string
	ends time.Time // zero: it has no end
}

// A Party is who asks: a partner in an environment, on its terms. Everything that a partner owns is a party's.
type Party struct {
	Partner     string
	Environment Environment
	Terms       Terms
}

// Terms are what is agreed with a partner.
type Terms struct {
	ReviewLimitCents int64 // a sale over it waits for a person; 0: none does because of its price
	Rates            ledger.Rates
}

// credentials looks credentials up and remembers them for a moment.
type credentials struct {
	db    *store.DB
	keys  *seal.Keys
	now   func() time.Time
	known *cache.Cache[string, *credential]
}

func newCredentials(db *store.DB, keys *seal.Keys, now func() time.Time) *credentials {
	return &credentials{db, keys, now, cache.New(cache.Config[string, *credential]{Entries: cachedCredentials, Now: now})}
}

// find returns what is known of a key id. That there is no such credential is no error.
func (c *credentials) find(ctx context.Context, keyID string) (*credential, error) {
	if len(keyID) > maxKeyID {
		return &credential{}, nil
	}
	if known, ok := c.known.Get(keyID); ok {
		return known, nil
	}
	return c.known.Load(ctx, keyID, func(ctx context.Context) (*credential, time.Time, error) {
		until := c.now().Add(Staleness) // from before the look
		found, err := c.look(ctx, keyID)
		return found, until, err
	})
}

func (c *credentials) look(ctx context.Context, keyID string) (*credential, error) {
	var found *credential
	err := c.db.Read(ctx, func(tx store.Tx) (err error) {
		found, err = selectCredential(ctx, tx, c.keys, keyID)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up a credential: %w", err)
	}
	return found, nil
}

// secretContext is what a secret is sealed for.
func secretContext(keyID string, number int) []byte {
	return fmt.Appendf(nil, "partner secret\n%s\n%d", keyID, number)
}

// selectCredential reads a credential with its secrets. One that is unknown, revoked or whose partner is suspended is
// not good.
func selectCredential(ctx context.Context, tx store.Tx, keys *seal.Keys, keyID string) (*credential, error) {
	found := &credential{caller: op.Caller{Key: keyID}}
	read := func(rows *sql.Rows) error {
		var scopes string
		var number int
		var sealed []byte
		var ends int64
		t := &found.party.Terms
		if err := rows.Scan(&found.party.Partner, &found.party.Environment, &scopes, &t.ReviewLimitCents,
			&t.Rates.Service, &t.Rates.Partner, &t.Rates.Broker, &t.Rates.Referral, &number, &sealed, &ends); err != nil {
			return err
		}
		text, err := keys.Open(sealed, secretContext(keyID, number))
		if err != nil {
			return err
		}
		found.good, found.caller.Scopes = true, strings.Fields(scopes)
		found.secrets = append(found.secrets, secret{string(text), store.Time(ends)})
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

// parseScopes reads scopes separated by commas or spaces, and puts them in order.
func parseScopes(text string) ([]string, error) {
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

package oauthas

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
)

// Staleness is how long a checked token is cached: half of the two seconds within which a revocation by another process
// must take effect.
const Staleness = time.Second

// cachedTokens bounds the token cache, at some 300 bytes each.
const cachedTokens = 32 << 10

// cachedToken is a valid access token.
type cachedToken struct {
	caller     op.Caller
	resource   string // URLs, separated by spaces
	expires    time.Time
	generation uint64
}

// Caller returns the account and scopes of an access token at the protected resource with the URL. It fails with
// [fault.InvalidToken] on a token that is malformed, unknown, expired, revoked or for another resource. The scopes are
// shared and must not be changed.
func (s *Server) Caller(ctx context.Context, token, resource string) (op.Caller, error) {
	if !wellFormed(token, accessPrefix) {
		return op.Caller{}, errUnknownToken()
	}
	hash := digestOf(token)
	k, ok := s.tokens.Get(hash)
	if !ok || k.generation != s.generation.Load() {
		var err error
		if k, err = s.lookupToken(ctx, hash); err != nil {
			return op.Caller{}, err
		}
	}
	if !s.audience.accepts(k.resource, resource) {
		return op.Caller{}, fault.New(fault.InvalidToken, "the access token is for another resource").
			WithHint("sign in again and ask for a token for this resource, or for none in particular")
	}
	return k.caller, nil
}

// lookupToken reads a token from the database and caches it for [Staleness].
func (s *Server) lookupToken(ctx context.Context, hash digest) (cachedToken, error) {
	generation := s.generation.Load() // before reading: a revocation meanwhile invalidates the entry
	var k cachedToken
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		account, scope, resource, expires, err := selectAccess(ctx, tx, hash)
		k = cachedToken{op.Caller{Account: account, Scopes: strings.Fields(scope)}, resource, expires, generation}
		return err
	})
	now := s.cfg.Now()
	if store.IsNoRows(err) || err == nil && !now.Before(k.expires) {
		return cachedToken{}, errUnknownToken()
	}
	if err != nil {
		return cachedToken{}, fmt.Errorf("look up an access token: %w", err)
	}
	s.tokens.Put(hash, k, earlier(now.Add(Staleness), k.expires))
	return k, nil
}

func errUnknownToken() error {
	return fault.New(fault.InvalidToken, "the access token is unknown or no longer valid").
		WithHint("leave the Authorization header out to call anonymously, or sign in again")
}

// FlushTokenCache makes this process look up every token in the database again. Only [Server.RevokeAll] and
// [Server.RemoveAll] need it, after the commit.
func (s *Server) FlushTokenCache() { s.generation.Add(1) }

package partner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"strings"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
)

// A call is a request whose signature holds.
type signedRequest struct {
	*credential.Credential
	scope   string            // of idempotency keys: the matched route with the values of its wildcards
	body    [sha256.Size]byte // digest
	keys    []string          // all values of Idempotency-Key
	nonce   string
	expires int64 // the last second, Unix time, in which the request is valid
}

type signedRequestKey struct{}

// signedRequestFrom returns the signed request of ctx, nil if there is none.
func signedRequestFrom(ctx context.Context) *signedRequest {
	c, _ := ctx.Value(signedRequestKey{}).(*signedRequest)
	return c
}

// party returns the party that signed the request of ctx, zero if there is none.
func party(ctx context.Context) credential.Party {
	if c := signedRequestFrom(ctx); c != nil {
		return c.Party
	}
	return credential.Party{}
}

// Verify checks the signature of a request: first the headers, the timestamp and the key, then, with the SHA-256 of the
// body, the signature. It calls body for unknown keys too, so that neither the answer nor its timing reveals whether a key
// exists; keep is true for an active key. Verify returns the context for the rest of the request. It fails with the errors
// of section 7 of the contract up to invalid_signature, and with those of body.
func (a *API) Verify(r *http.Request, body func(keep bool) ([sha256.Size]byte, error)) (context.Context, error) {
	signed, err := signature.Parse(r, a.cfg.Now())
	if err != nil {
		return nil, err
	}
	found, err := a.credentials.Find(r.Context(), signed.KeyID)
	if err != nil {
		return nil, err
	}
	if signature.CoversBody(signed.Method) {
		if signed.Body, err = body(found.Active); err != nil {
			return nil, err
		}
	}
	canonical, err := signed.Canonical()
	if err != nil {
		return nil, err
	}
	if !found.Verify(canonical, signed.Signature, a.cfg.Now()) {
		return nil, errSignature(signed.KeyID, canonical)
	}
	c := &signedRequest{
		Credential: found, scope: scopeOf(r), body: signed.Body, keys: r.Header[signature.HeaderIdempotencyKey],
		nonce: signed.Nonce, expires: signed.Expires,
	}
	return context.WithValue(op.WithCaller(r.Context(), found.Caller), signedRequestKey{}, c), nil
}

// scopeOf returns the scope of a request's idempotency keys: its route and the values of the wildcards. All spellings of a
// path, with escapes or without, have the same scope.
func scopeOf(r *http.Request) string {
	scope := []byte(r.Method)
	pattern := r.Pattern
	for {
		before, rest, found := strings.Cut(pattern, "{")
		scope = append(binary.AppendUvarint(scope, uint64(len(before))), before...)
		if !found {
			return string(scope)
		}
		name, after, _ := strings.Cut(rest, "}")
		value := r.PathValue(name)
		scope = append(binary.AppendUvarint(scope, uint64(len(value))), value...)
		pattern = after
	}
}

// errSignature is the same error for an unknown key, a revoked one and a wrong secret. For a key id of the sandbox, which
// need not exist, it contains the canonical string.
func errSignature(keyID, canonical string) error {
	err := fault.New(fault.InvalidSignature, "the signature does not match, or the key is not active").
		WithHint("compare the method, path, query, headers and body that you sign, byte by byte, with those that you send")
	if credential.IsSandboxKey(keyID) {
		return err.WithSigned(canonical)
	}
	return err
}

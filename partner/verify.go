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
	scope   string            // of idempotency keys: the route that was found, with what its wildcards stand for
	body    [sha256.Size]byte // digest
	keys    []string          // Idempotency-Key, as often as it is given
	nonce   string
	expires int64 // the last second, Unix time, in which the request is valid
}

type signedRequestKey struct{}

// signedRequestFrom is the signed request that ctx belongs to.
func signedRequestFrom(ctx context.Context) *signedRequest {
	c, _ := ctx.Value(signedRequestKey{}).(*signedRequest)
	return c
}

// party is who signed the request that ctx belongs to; nobody elsewhere.
func party(ctx context.Context) credential.Party {
	if c := signedRequestFrom(ctx); c != nil {
		return c.Party
	}
	return credential.Party{}
}

// Verify holds a request against its signature: are the headers there, is the timestamp near, is the key good, and only
// then, with the SHA-256 of the body, did its secret sign. A body is asked for whether the key is good or not, so that
// neither the answer nor its time tells; keep is true where the key is. It returns the context in which the request
// goes on for its caller. Errors are those of section 7 of the contract, as far as they come before the signature
// holds, and those of body.
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

// scopeOf is the scope of a request's idempotency keys: its route and what the wildcards stand for. However the path was
// written, with escapes or without, it is one scope. Where no route was found there is nothing to repeat.
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

// errSignature says the same of an unknown key, of a revoked one and of a wrong secret. In the sandbox it shows what
// should have been signed; whether the key exists makes no difference there either.
func errSignature(keyID, canonical string) error {
	err := fault.New(fault.InvalidSignature, "the signature does not match, or the key is not active").
		WithHint("compare the method, path, query, headers and body that you sign, byte by byte, with those that you send")
	if credential.IsSandboxKey(keyID) {
		return err.WithSigned(canonical)
	}
	return err
}

package oauthas

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"
)

// codeRow is a stored authorization code.
type codeRow struct {
	grant, account, client, clientName string
	redirect, challenge                string
	scope, resource                    string
	expires                            time.Time
	tries                              int
	used                               time.Time
}

// refreshRow is a stored refresh token with its grant.
type refreshRow struct {
	grant, account, client, clientName string
	scope, resource                    string
	expires                            time.Time
	used                               time.Time
	ends                               time.Time // of the grant
	salt                               []byte
}

// An outcome is the decision about a code or refresh token that a client presents.
type outcome int

const (
	refuse       outcome = iota // change nothing
	countFailure                // refuse, and count the failure
	invalidate                  // refuse, and make the code invalid
	revoke                      // refuse, and revoke the grant with all its tokens
	accept                      // issue tokens
	reissue                     // issue tokens, with the same successor as before
)

// redemption holds the parameters of a code exchange.
type redemption struct {
	client, redirect, verifier string // redirect is optional
	resources                  []string
}

// checkCode decides about the redemption of a code. Reusing a code revokes its grant only if the client and the PKCE
// verifier match: a code from a log is not enough to end access.
func checkCode(row codeRow, r redemption, now time.Time) (outcome, *oauthError) {
	bad := &oauthError{errInvalidGrant, "the code is unknown, used or expired, or was issued for another client, redirect or verifier"}
	valid := row.client == r.client && (r.redirect == "" || row.redirect == r.redirect) && verifies(r.verifier, row.challenge)
	switch {
	case !row.used.IsZero() && valid:
		return revoke, bad
	case !row.used.IsZero(), !now.Before(row.expires), row.tries >= maxCodeFailures:
		return refuse, bad
	case !valid && row.tries+1 >= maxCodeFailures:
		return invalidate, bad
	case !valid:
		return countFailure, bad
	}
	for _, r := range r.resources {
		if !coversAny(row.resource, r) {
			return refuse, &oauthError{errInvalidTarget, "resource was not requested at the authorization endpoint"}
		}
	}
	return accept, nil
}

// Length of a PKCE verifier (RFC 7636, section 4.1).
const minVerifier, maxVerifier = 43, 128

// verifies reports whether the challenge is the S256 challenge of the verifier.
func verifies(verifier, challenge string) bool {
	if len(verifier) < minVerifier || len(verifier) > maxVerifier {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// renewal holds the parameters of a refresh.
type renewal struct {
	client, scope string // empty scope: all that was granted
	resources     []string
}

// checkRefresh decides about the use of a refresh token. Refresh tokens work once; reusing one revokes the grant (RFC 9700,
// section 4.14.2). The exception is a reuse within the grace period while the successor is unused: the client may have
// lost the answer.
func checkRefresh(row refreshRow, r renewal, now time.Time, grace time.Duration, successorUnused bool) (outcome, *oauthError) {
	bad := &oauthError{errInvalidGrant, "the refresh token is unknown, used, expired or revoked, or was issued to another client"}
	ok := accept
	switch {
	case row.client != r.client:
		return refuse, bad
	case !now.Before(row.expires), !now.Before(row.ends):
		return refuse, bad
	case row.used.IsZero():
	case grace > 0 && successorUnused && now.Sub(row.used) < grace: // negative if the clock of the other process is ahead
		ok = reissue
	default:
		return revoke, bad
	}
	if !within(r.scope, row.scope) {
		return refuse, &oauthError{errInvalidScope, "scope must not exceed what was granted"}
	}
	for _, r := range r.resources {
		if !coversAny(row.resource, r) {
			return refuse, &oauthError{errInvalidTarget, "resource was not granted"}
		}
	}
	return ok, nil
}

package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/store"
)

// Prefixes of secrets, by which scanners for leaked secrets recognise them.
const (
	sessionPrefix = "nw_ss_"
	oneTimePrefix = "nw_ot_"
	browserPrefix = "nw_su_" // of the browser in which somebody signed up
)

const secretSize = 32 // 256 bits

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

// newSecret returns a secret and the digest that is stored.
func newSecret(prefix string) (secret string, hash []byte) {
	secret = prefix + base64.RawURLEncoding.EncodeToString(random(secretSize))
	return secret, digest(secret)
}

// digest returns the SHA-256 that is stored of a secret. A secret of 256 random bits needs neither salt nor stretching, and
// the timing of a look-up by digest reveals nothing about other secrets.
func digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// wellFormed reports whether s could be a secret with the prefix.
func wellFormed(s, prefix string) bool {
	return strings.HasPrefix(s, prefix) && len(s) == len(prefix)+base64.RawURLEncoding.EncodedLen(secretSize)
}

// flowTime is how long a person has for the browser's dialogue or the upstream provider's pages.
const flowTime = 10 * time.Minute

const maxFlow = 8 << 10

// A flow is the state of a passkey ceremony or of a sign-in at a provider. The browser holds it, sealed, and returns it
// with the second request, so that unfinished flows take no space in the database.
type flow[T any] struct {
	Nonce   []byte    `json:"nonce"` // stored when the flow is used, so that it works once
	Expires time.Time `json:"expires"`
	Data    T         `json:"data"`
}

// flowContext is the associated data a flow is sealed with: its kind and, where known, its session or account.
func flowContext(kind string, whose ...string) []byte {
	return []byte(strings.Join(append([]string{"flow", kind}, whose...), "\n"))
}

// sealFlow seals the state of a flow.
func sealFlow[T any](keys store.Sealer, context []byte, now time.Time, data T) (string, error) {
	plain, err := json.Marshal(flow[T]{Nonce: random(16), Expires: now.Add(flowTime), Data: data})
	if err != nil {
		return "", fmt.Errorf("seal a flow: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(keys.Seal(plain, context)), nil
}

// openFlow opens a flow that was sealed for the context. It fails with [fault.InvalidToken] on anything else, and on an
// expired flow.
func openFlow[T any](keys store.Sealer, context []byte, now time.Time, sealed string) (flow[T], error) {
	stale := fault.New(fault.InvalidToken, "this attempt was begun too long ago, or in another browser").WithHint("begin again")
	if len(sealed) > maxFlow {
		return flow[T]{}, stale
	}
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return flow[T]{}, stale
	}
	plain, err := keys.Open(raw, context)
	if err != nil {
		return flow[T]{}, stale
	}
	var f flow[T]
	if err := json.Unmarshal(plain, &f); err != nil {
		return flow[T]{}, fmt.Errorf("open a flow: %w", err)
	}
	if !now.Before(f.Expires) {
		return flow[T]{}, stale
	}
	return f, nil
}

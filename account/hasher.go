package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"

	"github.com/namewharf/namewharf/fault"
)

// The cost of a password hash: Argon2id with 19 MiB, two passes, one lane, as OWASP's password storage guide has it.
const (
	hashMemory = 19 * 1024 // KiB
	hashTime   = 2
	hashLanes  = 1
	hashSize   = 32
	saltSize   = 16
)

// Limits of hashing. A block of 19 MiB becomes garbage with every hash, and the collector lets about as much garbage
// stand as there is memory in use: with two at once a crowd of sign-ins stays far below 200 MB.
const (
	defaultHashers = 2
	maxHashQueue   = 512
	hashWait       = 20 * time.Second
)

// A hasher hashes and compares passwords, few at a time.
type hasher struct {
	slots   *semaphore.Weighted
	waiting atomic.Int64
	runs    atomic.Int64 // computations of Argon2id so far
	dummy   string       // a hash that no password has
}

func newHasher(slots int) *hasher {
	return &hasher{
		slots: semaphore.NewWeighted(int64(slots)),
		dummy: encodeHash(random(saltSize), random(hashSize)),
	}
}

// acquire waits for a slot. It fails with [fault.Unavailable] when too many wait already, or for too long.
func (h *hasher) acquire(ctx context.Context) (release func(), err error) {
	busy := fault.New(fault.Unavailable, "too many people are signing in at this moment").WithHint("try again in a few seconds").WithRetry(5 * time.Second)
	if h.waiting.Add(1) > maxHashQueue {
		h.waiting.Add(-1)
		return nil, busy
	}
	defer h.waiting.Add(-1)
	limited, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	if err := h.slots.Acquire(limited, 1); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, busy
	}
	return func() { h.slots.Release(1) }, nil
}

// hash returns the PHC string of a password.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	release, err := h.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	salt := random(saltSize)
	h.runs.Add(1)
	return encodeHash(salt, argon2.IDKey([]byte(password), salt, hashTime, hashMemory, hashLanes, hashSize)), nil
}

// matches reports whether the password has the hash. An empty hash, of an account that is unknown or has no password,
// matches nothing and takes as long. The caller holds a slot.
func (h *hasher) matches(hash, password string) (bool, error) {
	if hash == "" {
		hash = h.dummy
	}
	p, err := decodeHash(hash)
	if err != nil {
		return false, err
	}
	h.runs.Add(1)
	got := argon2.IDKey([]byte(password), p.salt, p.time, p.memory, p.lanes, uint32(len(p.key)))
	return subtle.ConstantTimeCompare(got, p.key) == 1 && hash != h.dummy, nil
}

// encodeHash writes a hash in the PHC string format.
func encodeHash(salt, key []byte) string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, hashMemory, hashTime, hashLanes, b64(salt), b64(key))
}

// A phc is what a PHC string of Argon2id says.
type phc struct {
	time, memory uint32
	lanes        uint8
	salt, key    []byte
}

var errHash = errors.New("a stored password hash is malformed")

// decodeHash reads a PHC string. It bounds the cost, so that a row that was tampered with cannot exhaust the machine.
func decodeHash(s string) (phc, error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return phc{}, errHash
	}
	var p phc
	costs := strings.Split(parts[3], ",")
	if len(costs) != 3 {
		return phc{}, errHash
	}
	for i, name := range []string{"m=", "t=", "p="} {
		text, ok := strings.CutPrefix(costs[i], name)
		n, err := strconv.ParseUint(text, 10, 32)
		if !ok || err != nil || n == 0 || n > [...]uint64{64 * 1024, 16, 8}[i] {
			return phc{}, errHash
		}
		switch i {
		case 0:
			p.memory = uint32(n)
		case 1:
			p.time = uint32(n)
		case 2:
			p.lanes = uint8(n)
		}
	}
	var err, err2 error
	p.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	p.key, err2 = base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || err2 != nil || len(p.salt) < 8 || len(p.key) < 16 || len(p.key) > 64 {
		return phc{}, errHash
	}
	return p, nil
}

// outdated reports whether a hash has other costs than a hash made today.
func outdated(hash string) bool {
	p, err := decodeHash(hash)
	return err == nil && (p.memory != hashMemory || p.time != hashTime || p.lanes != hashLanes)
}

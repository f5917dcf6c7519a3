package account

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/argon2"
)

// A cost is what one hash takes.
type cost struct {
	memory      uint32 // KiB
	time        uint32 // passes
	parallelism uint8
}

// fullCost is Argon2id with 19 MiB, two passes and a parallelism of 1, as OWASP's Password Storage Cheat Sheet recommends.
var fullCost = cost{memory: 19 * 1024, time: 2, parallelism: 1}

const (
	hashSize = 32
	saltSize = 16
)

// defaultHashers limits memory: each hash leaves 19 MiB of garbage, and the garbage collector lets the heap double. Two at
// once stay far below 200 MB.
const defaultHashers = 2

// A hasher hashes and compares passwords, few at a time.
type hasher struct {
	cost  cost
	slots *slots
	runs  atomic.Int64 // computations of Argon2id so far
	dummy string       // a hash that no password has
}

func newHasher(slots int, c cost) *hasher {
	return &hasher{
		cost:  c,
		slots: newSlots(slots),
		dummy: phc{c, random(saltSize), random(hashSize)}.String(),
	}
}

// hash returns the PHC string of a password, for a client at the address from. It waits for a slot.
func (h *hasher) hash(ctx context.Context, password string, from netip.Addr) (string, error) {
	release, err := h.slots.acquire(ctx, from)
	if err != nil {
		return "", err
	}
	defer release()
	p := phc{cost: h.cost, salt: random(saltSize)}
	p.key = h.key(password, p, hashSize)
	return p.String(), nil
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
	return subtle.ConstantTimeCompare(h.key(password, p, len(p.key)), p.key) == 1 && hash != h.dummy, nil
}

// key computes the hash.
func (h *hasher) key(password string, p phc, size int) []byte {
	h.runs.Add(1)
	return argon2.IDKey([]byte(password), p.salt, p.time, p.memory, p.parallelism, uint32(size))
}

// outdated reports whether a hash has other costs than the current ones.
func (h *hasher) outdated(hash string) bool {
	p, err := decodeHash(hash)
	return err == nil && p.cost != h.cost
}

// A phc is a hash in the PHC string format.
type phc struct {
	cost
	salt, key []byte
}

// String is $argon2id$v=19$m=19456,t=2,p=1$salt$key.
func (p phc) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.time, p.parallelism, b64(p.salt), b64(p.key))
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
			p.parallelism = uint8(n)
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

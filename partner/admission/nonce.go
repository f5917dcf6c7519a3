package admission

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/store"
)

// A nonce is a used one. The id is the first 64 bits of SHA-256 over the key id and the nonce; expires is the last second,
// Unix time, in which its request is valid. While a million nonces are stored, one of some 10^13 requests collides with
// another's id. It is refused as a replay, and its sender repeats it with a new nonce.
type nonce struct {
	id      uint64
	expires int64
}

func newNonce(keyID, text string, expires int64) nonce {
	var buf [256]byte
	b := append(append(append(buf[:0], keyID...), 0), text...) // neither holds a zero byte
	sum := sha256.Sum256(b)
	return nonce{binary.BigEndian.Uint64(sum[:]), expires}
}

// nonceSize is the size of a nonce in the database: its id, and expires as an unsigned 32-bit number, which ends in 2106.
const nonceSize = 8 + 4

// nonces caches the nonces that could still be replayed: the groups of table partner_nonces up to number seen. It is not
// safe for concurrent use.
type nonces struct {
	seen        int64        // number of the last group read
	generations []generation // by expiry, the earliest first
}

// A generation holds nonces that expire at about the same time. It is dropped as a whole.
type generation struct {
	until   int64            // all of it has expired after this second
	expires map[uint64]int64 // by id
}

// generationLife is the span of expiry times in a generation, in seconds. At most four generations exist at once.
const generationLife = int64(signature.MaxSkew / time.Second)

// has reports whether a nonce was used before and has not expired.
func (n *nonces) has(one nonce, now int64) bool {
	for _, g := range n.generations {
		if expires, ok := g.expires[one.id]; ok && expires >= now {
			return true
		}
	}
	return false
}

// add stores a nonce in its generation.
func (n *nonces) add(one nonce) {
	until := one.expires - one.expires%generationLife + generationLife
	at := 0
	for at < len(n.generations) && n.generations[at].until < until {
		at++
	}
	if at == len(n.generations) || n.generations[at].until != until {
		n.generations = append(n.generations, generation{})
		copy(n.generations[at+1:], n.generations[at:])
		n.generations[at] = generation{until, map[uint64]int64{}}
	}
	n.generations[at].expires[one.id] = one.expires
}

// forget drops the generations that have expired.
func (n *nonces) forget(now int64) {
	for len(n.generations) > 0 && n.generations[0].until < now {
		n.generations[0] = generation{}
		n.generations = n.generations[1:]
	}
}

// readNew reads the groups that other processes have written since the last one read.
func (n *nonces) readNew(ctx context.Context, tx store.Tx, now int64) error {
	n.forget(now)
	read := func(rows *sql.Rows) error {
		var number int64
		var group []byte
		if err := rows.Scan(&number, &group); err != nil {
			return err
		}
		for ; len(group) >= nonceSize; group = group[nonceSize:] {
			one := nonce{binary.BigEndian.Uint64(group), int64(binary.BigEndian.Uint32(group[8:]))}
			if one.expires >= now {
				n.add(one)
			}
		}
		n.seen = number
		return nil
	}
	if err := store.Each(ctx, tx, read, `SELECT number, nonces FROM partner_nonces WHERE number > $1 ORDER BY number`, n.seen); err != nil {
		return fmt.Errorf("read nonces: %w", err)
	}
	return nil
}

// markReplays marks the requests whose nonce was used before, or twice in the group, and returns the nonces of the others.
func (n *nonces) markReplays(group []*request, now int64) []nonce {
	fresh := make([]nonce, 0, len(group))
	inGroup := make(map[uint64]bool, len(group))
	for _, w := range group {
		w.replayed = inGroup[w.nonce.id] || n.has(w.nonce, now)
		if !w.replayed {
			inGroup[w.nonce.id] = true
			fresh = append(fresh, w.nonce)
		}
	}
	return fresh
}

// errOvertaken says that another process has written the same group number. The locks of both engines prevent it.
var errOvertaken = fmt.Errorf("write nonces: another group came first")

// insert writes fresh nonces as the group after the last one read.
func (n *nonces) insert(ctx context.Context, tx store.Tx, fresh []nonce) error {
	group := make([]byte, 0, len(fresh)*nonceSize)
	last := int64(0)
	for _, one := range fresh {
		group = binary.BigEndian.AppendUint64(group, one.id)
		group = binary.BigEndian.AppendUint32(group, uint32(one.expires))
		last = max(last, one.expires)
	}
	written, err := tx.Exec(ctx, `
		INSERT INTO partner_nonces (number, expires_at, nonces) VALUES ($1, $2, $3) ON CONFLICT (number) DO NOTHING`,
		n.seen+1, last, group)
	switch {
	case err != nil:
		return fmt.Errorf("write nonces: %w", err)
	case written == 0:
		return errOvertaken
	}
	return nil
}

// committed adds the nonces of a committed group.
func (n *nonces) committed(fresh []nonce) {
	for _, one := range fresh {
		n.add(one)
	}
	n.seen++
}

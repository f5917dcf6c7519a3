package partner

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

// A nonce is one that a credential used: 64 bits of a SHA-256 over both, and the last second, Unix time, in which its
// request could be valid. That two different ones look alike happens to one of a million million requests while a
// million nonces are kept; it is refused then, and its sender sends another.
type nonce struct {
	id      uint64
	expires int64
}

func newNonce(keyID, text string, expires int64) nonce {
	var room [256]byte
	b := append(append(append(room[:0], keyID...), 0), text...) // neither holds a zero byte
	sum := sha256.Sum256(b)
	return nonce{binary.BigEndian.Uint64(sum[:]), expires}
}

// nonceSize is that of a nonce in the database: its id, and its last second as an unsigned number, which goes to 2106.
const nonceSize = 8 + 4

// nonces are all that could still come again, as far as this process has seen: what table partner_nonces holds up to the
// group seen. They are not safe for concurrent use.
type nonces struct {
	seen int64        // number of the last group
	ages []generation // by their last second, the earliest first
}

// A generation is the nonces whose last seconds are near one another. It is forgotten as a whole.
type generation struct {
	until int64 // all of it is over after this second
	last  map[uint64]int64
}

// generationLife is what the last seconds of a generation have in common, in seconds. Three generations hold all.
const generationLife = int64(signature.MaxSkew / time.Second)

// has reports whether a nonce was used before in a request that could still be valid.
func (n *nonces) has(one nonce, now int64) bool {
	for _, g := range n.ages {
		if expires, ok := g.last[one.id]; ok && expires >= now {
			return true
		}
	}
	return false
}

func (n *nonces) add(one nonce) {
	until := one.expires - one.expires%generationLife + generationLife
	at := 0
	for at < len(n.ages) && n.ages[at].until < until {
		at++
	}
	if at == len(n.ages) || n.ages[at].until != until {
		n.ages = append(n.ages, generation{})
		copy(n.ages[at+1:], n.ages[at:])
		n.ages[at] = generation{until, map[uint64]int64{}}
	}
	n.ages[at].last[one.id] = one.expires
}

// forget drops the generations that are over.
func (n *nonces) forget(now int64) {
	for len(n.ages) > 0 && n.ages[0].until < now {
		n.ages[0] = generation{}
		n.ages = n.ages[1:]
	}
}

// follow reads what this process has not seen: the groups of others.
func (n *nonces) follow(ctx context.Context, tx store.Tx, now int64) error {
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

// sift marks the requests whose nonce was used before, in the group itself too, and returns the nonces of the others.
func (n *nonces) sift(group []*admission, now int64) []nonce {
	fresh := make([]nonce, 0, len(group))
	here := make(map[uint64]bool, len(group))
	for _, w := range group {
		w.replayed = here[w.nonce.id] || n.has(w.nonce, now)
		if !w.replayed {
			here[w.nonce.id] = true
			fresh = append(fresh, w.nonce)
		}
	}
	return fresh
}

// errOvertaken says that another process wrote a group meanwhile. No engine lets it come to that.
var errOvertaken = fmt.Errorf("write nonces: another group came first")

// insert writes fresh nonces as the group after the last seen.
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

// wrote takes note of a group that is committed.
func (n *nonces) wrote(fresh []nonce) {
	for _, one := range fresh {
		n.add(one)
	}
	n.seen++
}

package sale

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/namewharf/namewharf/store"
)

// Lifetimes of the keys that sign quotes, by the clock of the [Config].
const (
	KeyLife = 24 * time.Hour      // after which another key signs
	keyKept = 30 * 24 * time.Hour // how long an expired quote can be told from a forged one

	keysFresh = time.Minute // age of the cached keys; a removal by another process takes effect after it
)

// sealContext is the associated data of the encrypted keys.
var sealContext = []byte("quote key")

// Sealed returns the column with the encrypted keys that sign quotes.
func Sealed() store.Sealed {
	return store.Sealed{Table: "quote_keys", Column: "key", Key: []string{"number"}, Context: func([]any) []byte { return sealContext }}
}

// A quoteKey signs quotes.
type quoteKey struct {
	number  int64
	key     []byte
	created time.Time
}

// A keyring caches table quote_keys. All processes on the database share the keys.
type keyring struct {
	now    func() time.Time
	sealer store.Sealer

	mu   sync.Mutex // guards what follows
	keys map[int64]quoteKey
	last quoteKey  // the newest
	seen time.Time // when the table was read
}

// newest returns the key that signs, and creates another if it is time.
func (k *keyring) newest(ctx context.Context, db *store.DB) (quoteKey, error) {
	now := k.now()
	k.mu.Lock()
	last := k.last
	k.mu.Unlock()
	if last.key != nil && now.Before(last.created.Add(KeyLife)) {
		return last, nil
	}
	return k.rotate(ctx, db, now.Add(-KeyLife))
}

// rotate creates another key, if the newest is not younger than before.
func (k *keyring) rotate(ctx context.Context, db *store.DB, before time.Time) (quoteKey, error) {
	fresh := make([]byte, 32) // the output size of SHA-256, as RFC 2104 recommends
	rand.Read(fresh)
	sealed := k.sealer.Seal(fresh, sealContext)
	now := k.now()
	var all []quoteKey
	err := db.Tx(ctx, func(tx store.Tx) (err error) {
		_, err = tx.Exec(ctx, `
			INSERT INTO quote_keys (number, key, created_at)
			SELECT COALESCE(MAX(number), 0) + 1, $1, $2 FROM quote_keys HAVING COALESCE(MAX(created_at), 0) <= $3
			ON CONFLICT DO NOTHING`, sealed, store.Micros(now), store.Micros(before))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM quote_keys WHERE created_at < $1`, store.Micros(now.Add(-keyKept)))
		if err != nil {
			return err
		}
		all, err = k.load(ctx, tx)
		return err
	})
	if err != nil {
		return quoteKey{}, fmt.Errorf("change the key for quotes: %w", err)
	}
	return k.keep(all, now), nil
}

// find returns the key with the number in a quote.
func (k *keyring) find(ctx context.Context, tx store.Tx, number int64) (quoteKey, bool, error) {
	now := k.now()
	k.mu.Lock()
	key, ok := k.keys[number]
	fresh := now.Sub(k.seen) < keysFresh
	k.mu.Unlock()
	if ok && fresh {
		return key, true, nil
	}
	all, err := k.load(ctx, tx)
	if err != nil {
		return quoteKey{}, false, fmt.Errorf("read the keys for quotes: %w", err)
	}
	k.keep(all, now)
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok = k.keys[number]
	return key, ok, nil
}

// load reads the table.
func (k *keyring) load(ctx context.Context, tx store.Tx) ([]quoteKey, error) {
	scan := func(rows *sql.Rows) (quoteKey, error) {
		var key quoteKey
		var created int64
		err := rows.Scan(&key.number, &key.key, &created)
		if err != nil {
			return quoteKey{}, err
		}
		if key.key, err = k.sealer.Open(key.key, sealContext); err != nil {
			return quoteKey{}, fmt.Errorf("open key %d for quotes: %w", key.number, err)
		}
		key.created = store.Time(created)
		return key, nil
	}
	return store.Collect(ctx, tx, scan, `SELECT number, key, created_at FROM quote_keys ORDER BY number`)
}

// keep caches the keys that were read at a time, in ascending order, and returns the newest.
func (k *keyring) keep(all []quoteKey, seen time.Time) quoteKey {
	keys := make(map[int64]quoteKey, len(all))
	var last quoteKey
	for _, key := range all {
		keys[key.number], last = key, key
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.keys, k.last, k.seen = keys, last, seen
	return last
}

// RotateKeys creates another key that signs quotes from now on, as happens by itself every [KeyLife]. Issued quotes stay
// valid. Other processes use their cached key until it expires.
func (s *Service) RotateKeys(ctx context.Context) error {
	_, err := s.keys.rotate(ctx, s.cfg.DB, s.cfg.Now())
	return err
}

package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// A Sealer encrypts what the database must not show, with a key that stands outside it. The context is not secret; what
// was sealed opens with the same one only.
type Sealer interface {
	Seal(plain, context []byte) []byte
	// Open fails for what was not sealed by this Sealer in this context.
	Open(sealed, context []byte) ([]byte, error)
}

// secretSize is the length of a secret in bytes: as many as the block of SHA-256 takes to be of full strength.
const secretSize = 32

// Secret returns random bytes that stay the same for the name in this database: made when they are first asked for,
// shared by all processes, and sealed in the database. They protect what is handed out and comes back, such as page
// cursors, from being forged. It fails where the Sealer lacks the key of the process that made them.
func (db *DB) Secret(ctx context.Context, name string, keys Sealer) ([]byte, error) {
	fresh := make([]byte, secretSize)
	rand.Read(fresh)
	where := secretContext(name)
	var secret []byte
	err := db.Tx(ctx, func(tx Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, keys.Seal(fresh, where))
		if err != nil {
			return err
		}
		var value []byte
		if err := tx.QueryRow(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&value); err != nil {
			return err
		}
		if len(value) == secretSize { // in clear, by a version that sealed none; what is sealed is longer
			secret = value
			_, err := tx.Exec(ctx, `UPDATE secrets SET value = $2 WHERE name = $1`, name, keys.Seal(value, where))
			return err
		}
		secret, err = keys.Open(value, where)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return secret, nil
}

func secretContext(name string) []byte { return []byte("secret\n" + name) }

// SealedSecrets are the secrets of [DB.Secret].
func SealedSecrets() Sealed {
	return Sealed{
		Table: "secrets", Column: "value", Key: []string{"name"},
		Context: func(key []any) []byte { return secretContext(fmt.Sprint(key[0])) },
	}
}

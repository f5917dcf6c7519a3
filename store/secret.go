package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// A Sealer encrypts secrets in the database, with a key that is not in the database. The context is associated data: it is
// not secret, and decryption needs the same one.
type Sealer interface {
	Seal(plain, context []byte) []byte
	// Open fails if the value was not sealed with this key and context.
	Open(sealed, context []byte) ([]byte, error)
}

// secretSize is the length of a secret in bytes, the output size of SHA-256.
const secretSize = 32

// Secret returns random bytes for the name, which all processes on the database share: the first call creates them and stores
// them encrypted. They protect values that clients return, such as page cursors, from forgery. It fails if keys lacks the key
// with which they are encrypted.
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
		if len(value) == secretSize { // in clear, by an earlier version; an encrypted one is longer
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

// SealedSecrets returns the column with the secrets of [DB.Secret].
func SealedSecrets() Sealed {
	return Sealed{
		Table: "secrets", Column: "value", Key: []string{"name"},
		Context: func(key []any) []byte { return secretContext(fmt.Sprint(key[0])) },
	}
}

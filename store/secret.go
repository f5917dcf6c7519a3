package store

import (
	"context"
	"crypto/rand"
	"fmt"
)

// secretSize is the length of a secret in bytes: as many as the block of SHA-256 takes to be of full strength.
const secretSize = 32

// Secret returns random bytes that stay the same for the name in this database: made when they are first asked for,
// shared by all processes. They protect what is handed out and comes back, such as page cursors, from being forged;
// whoever reads the database can read them.
func (db *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	fresh := make([]byte, secretSize)
	rand.Read(fresh)
	var secret []byte
	err := db.Tx(ctx, func(tx Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, fresh); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&secret)
	})
	if err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	return secret, nil
}

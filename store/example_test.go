package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/namewharf/namewharf/store"
)

func Example() {
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Temporary: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	err = db.Tx(ctx, func(tx store.Tx) error {
		if _, err := tx.Exec(ctx, `CREATE TABLE berths (id TEXT PRIMARY KEY, ship TEXT NOT NULL)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO berths (id, ship) VALUES ($1, $2)`, "north", "Ember")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	var ship string
	err = db.Read(ctx, func(tx store.Tx) error {
		return tx.QueryRow(ctx, `SELECT ship FROM berths WHERE id = $1`, "north").Scan(&ship)
	})
	fmt.Println(ship, err)

	var added int64
	err = db.Tx(ctx, func(tx store.Tx) (err error) {
		added, err = tx.Exec(ctx, `INSERT INTO berths (id, ship) VALUES ($1, $2) ON CONFLICT DO NOTHING`, "north", "Gull")
		return err
	})
	fmt.Println("added:", added, err)
	// Output:
	// Ember <nil>
	// added: 0 <nil>
}

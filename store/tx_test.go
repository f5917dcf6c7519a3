package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// count is the number of rows of table things.
func count(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx store.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT COUNT(*) FROM things`).Scan(&n)
	})
	if err != nil {
		t.Fatalf("count rows: %v", err)
	}
	return n
}

func insert(ctx context.Context, tx store.Tx, id string, n int) error {
	_, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ($1, $2)`, id, n)
	return err
}

func TestTxKeepsAllOrNothing(t *testing.T) {
	t.Parallel()
	refusal := errors.New("refused by the caller")
	cases := []struct {
		name string
		fn   func(ctx context.Context, tx store.Tx) error
		kept int
		is   func(error) bool
	}{
		{
			"success keeps both rows",
			func(ctx context.Context, tx store.Tx) error {
				return errors.Join(insert(ctx, tx, "a", 1), insert(ctx, tx, "b", 2))
			},
			2, func(err error) bool { return err == nil },
		},
		{
			"an error of the function comes back as it is",
			func(ctx context.Context, tx store.Tx) error {
				return errors.Join(insert(ctx, tx, "a", 1), refusal)
			},
			0, func(err error) bool { return errors.Is(err, refusal) },
		},
		{
			"a unique violation",
			func(ctx context.Context, tx store.Tx) error {
				return errors.Join(insert(ctx, tx, "a", 1), insert(ctx, tx, "a", 2))
			},
			0, store.IsUnique,
		},
		{
			"a failed statement that the function keeps to itself",
			func(ctx context.Context, tx store.Tx) error {
				insert(ctx, tx, "a", 1)
				insert(ctx, tx, "a", 2)
				return nil
			},
			0, store.IsUnique,
		},
		{
			"a failed statement ends the transaction",
			func(ctx context.Context, tx store.Tx) error {
				insert(ctx, tx, "a", 1)
				insert(ctx, tx, "a", 2)
				return insert(ctx, tx, "b", 3)
			},
			0, store.IsUnique,
		},
		{
			"a unique violation of a statement with RETURNING",
			func(ctx context.Context, tx store.Tx) error {
				var n int
				insert(ctx, tx, "a", 1)
				return tx.QueryRow(ctx, `INSERT INTO things (id, n) VALUES ('a', 2) RETURNING n`).Scan(&n)
			},
			0, store.IsUnique,
		},
		{
			"NULL where none may be",
			func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ('a', NULL)`)
				return err
			},
			0, store.IsCheck,
		},
		{
			"no row is no failure",
			func(ctx context.Context, tx store.Tx) error {
				var n int
				if err := tx.QueryRow(ctx, `SELECT n FROM things`).Scan(&n); !store.IsNoRows(err) {
					return fmt.Errorf("query of an empty table: %w", err)
				}
				return insert(ctx, tx, "a", 1)
			},
			1, func(err error) bool { return err == nil },
		},
		{
			"a statement while rows are open",
			func(ctx context.Context, tx store.Tx) error {
				insert(ctx, tx, "a", 1)
				rows, err := tx.Query(ctx, `SELECT n FROM things`)
				if err != nil {
					return err
				}
				defer rows.Close()
				return insert(ctx, tx, "b", 2)
			},
			0, func(err error) bool { return err != nil && !store.IsRetryable(err) },
		},
		{
			"rows left open are closed",
			func(ctx context.Context, tx store.Tx) error {
				insert(ctx, tx, "a", 1)
				_, err := tx.Query(ctx, `SELECT n FROM things`)
				return err
			},
			1, func(err error) bool { return err == nil },
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			storetest.Each(t, func(t *testing.T, db *store.DB) {
				makeTable(t, db)
				err := db.Tx(t.Context(), func(tx store.Tx) error { return c.fn(t.Context(), tx) })
				if !c.is(err) {
					t.Errorf("unexpected error %v", err)
				}
				if n := count(t, db); n != c.kept {
					t.Errorf("rows: got %d, want %d", n, c.kept)
				}
			})
		})
	}
}

func TestForeignKeysHold(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		execute(t, db, `CREATE TABLE parts (thing TEXT NOT NULL REFERENCES things (id))`)
		err := db.Tx(t.Context(), func(tx store.Tx) error {
			_, err := tx.Exec(t.Context(), `INSERT INTO parts (thing) VALUES ('missing')`)
			return err
		})
		if !store.IsForeignKey(err) || store.IsUnique(err) || store.IsCheck(err) || store.IsRetryable(err) {
			t.Errorf("row without its parent: got %v, want a foreign key violation and nothing else", err)
		}
	})
}

func TestTxUnwindsWithItsCaller(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		ctx := t.Context()
		var recovered any
		func() {
			defer func() { recovered = recover() }()
			db.Tx(ctx, func(tx store.Tx) error {
				insert(ctx, tx, "a", 1)
				panic("boom")
			})
		}()
		if recovered != "boom" {
			t.Errorf("panic: got %v, want it to go on", recovered)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			db.Tx(ctx, func(tx store.Tx) error {
				insert(ctx, tx, "b", 1)
				runtime.Goexit()
				return nil
			})
		})
		wg.Wait()
		if n := count(t, db); n != 0 {
			t.Errorf("rows after a panic and a Goexit: got %d, want 0", n)
		}
		execute(t, db, `INSERT INTO things (id, n) VALUES ('c', 1)`)
	})
}

func TestTxIsOfNoUseAfterItsEnd(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		var escaped store.Tx
		db.Tx(t.Context(), func(tx store.Tx) error { escaped = tx; return nil })
		if err := insert(t.Context(), escaped, "a", 1); err == nil {
			t.Error("insert through an ended transaction: got nil, want an error")
		}
	})
}

func TestReadCannotWrite(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		err := db.Read(t.Context(), func(tx store.Tx) error { return insert(t.Context(), tx, "a", 1) })
		if err == nil {
			t.Error("insert in Read: got nil, want an error")
		}
		if n := count(t, db); n != 0 {
			t.Errorf("rows: got %d, want 0", n)
		}
	})
}

func TestReadersAndWritersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		look := func(tx store.Tx) (n int) {
			if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM things`).Scan(&n); err != nil {
				t.Errorf("look: %v", err)
			}
			return n
		}
		// A write inside a read, and a read inside a write: either would hang if it waited.
		err := db.Read(ctx, func(old store.Tx) error {
			if n := look(old); n != 0 {
				t.Errorf("before the write: got %d rows, want 0", n)
			}
			err := db.Tx(ctx, func(tx store.Tx) error {
				if err := insert(ctx, tx, "a", 1); err != nil {
					return err
				}
				return db.Read(ctx, func(other store.Tx) error {
					if n := look(other); n != 0 {
						t.Errorf("beside the write: got %d rows, want 0", n)
					}
					return nil
				})
			})
			if n := look(old); n != 0 {
				t.Errorf("after the write, in the same snapshot: got %d rows, want 0", n)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, db); n != 1 {
			t.Errorf("afterwards: got %d rows, want 1", n)
		}
	})
}

// Two handles simulate two processes on one store.
func TestConcurrentIncrementsAreAllCounted(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		handles := []*store.DB{storetest.Open(t, cfg), storetest.Open(t, cfg)}
		db := handles[0]
		makeTable(t, db)
		execute(t, db, `INSERT INTO things (id, n) VALUES ('counter', 0)`)
		const callers, each = 16, 10
		ctx := t.Context()
		var wg sync.WaitGroup
		for i := range callers {
			db := handles[i%2]
			wg.Go(func() {
				for range each {
					// Read, think, write: only a serializable transaction does not lose any.
					err := db.Tx(ctx, func(tx store.Tx) error {
						var n int
						if err := tx.QueryRow(ctx, `SELECT n FROM things WHERE id = 'counter'`).Scan(&n); err != nil {
							return err
						}
						_, err := tx.Exec(ctx, `UPDATE things SET n = $1 WHERE id = 'counter'`, n+1)
						return err
					})
					if err != nil {
						t.Errorf("increment: %v", err)
					}
				}
			})
		}
		wg.Wait()
		var n int
		db.Read(ctx, func(tx store.Tx) error { return tx.QueryRow(ctx, `SELECT n FROM things`).Scan(&n) })
		if n != callers*each {
			t.Errorf("counter: got %d, want %d", n, callers*each)
		}
	})
}

// Two transactions that each read what the other writes cannot both commit.
func TestWriteSkewIsPrevented(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		makeTable(t, db)
		ctx := t.Context()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				err := db.Tx(ctx, func(tx store.Tx) error {
					var n int
					if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM things`).Scan(&n); err != nil || n > 0 {
						return err
					}
					return insert(ctx, tx, fmt.Sprint(i), i)
				})
				if err != nil {
					t.Errorf("insert into an empty table: %v", err)
				}
			})
		}
		wg.Wait()
		if n := count(t, db); n != 1 {
			t.Errorf("rows inserted by transactions that saw none: got %d, want 1", n)
		}
	})
}

func TestEndedContextStartsNothing(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ran := func(store.Tx) error { t.Error("the function ran"); return nil }
		if err := db.Tx(ctx, ran); !errors.Is(err, context.Canceled) {
			t.Errorf("Tx: got %v, want %v", err, context.Canceled)
		}
		if err := db.Read(ctx, ran); !errors.Is(err, context.Canceled) {
			t.Errorf("Read: got %v, want %v", err, context.Canceled)
		}
	})
}

func TestClosedStoreRefuses(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db := storetest.Open(t, cfg)
		for range 2 {
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		ran := func(store.Tx) error { t.Error("the function ran"); return nil }
		if err := db.Tx(t.Context(), ran); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Tx: got %v, want %v", err, store.ErrClosed)
		}
		if err := db.Read(t.Context(), ran); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Read: got %v, want %v", err, store.ErrClosed)
		}
	})
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	type row struct {
		text  string
		n     int64
		bytes []byte
		yes   bool
		f     float64
		none  sql.Null[string]
	}
	want := row{"ünï'$1;\n", -1 << 63, []byte{0, 255, 1}, true, 0.1, sql.Null[string]{}}
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		execute(t, db, `CREATE TABLE kinds (a TEXT, b BIGINT, c BYTEA, d BOOLEAN, e DOUBLE PRECISION, f TEXT)`)
		ctx := t.Context()
		var got row
		err := db.Tx(ctx, func(tx store.Tx) error {
			return tx.QueryRow(ctx, `INSERT INTO kinds (a, b, c, d, e, f) VALUES ($1, $2, $3, $4, $5, $6) RETURNING a, b, c, d, e, f`,
				want.text, want.n, want.bytes, want.yes, want.f, want.none).
				Scan(&got.text, &got.n, &got.bytes, &got.yes, &got.f, &got.none)
		})
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	})
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Sealed names a column with values that a [Sealer] has encrypted, to count them by key and encrypt them again with another
// key. Empty values are not encrypted.
type Sealed struct {
	Table, Column string
	Key           []string               // the columns of the primary key
	Context       func(key []any) []byte // the context of the value in the row with the key, whose parts are texts and int64s
}

// Count counts the rows by the first head bytes of the value, which identify the key; the bytes are in a string.
func (s Sealed) Count(ctx context.Context, db *DB, head int) (map[string]int, error) {
	var counts map[string]int
	err := db.Read(ctx, func(tx Tx) error {
		counts = map[string]int{}
		read := func(rows *sql.Rows) error {
			var begins []byte
			var n int
			err := rows.Scan(&begins, &n)
			counts[string(begins)] = n
			return err
		}
		return Each(ctx, tx, read, fmt.Sprintf(`SELECT substr(%[1]s, 1, %[2]d), COUNT(*) FROM %[3]s WHERE length(%[1]s) > 0 GROUP BY 1`,
			s.Column, head, s.Table))
	})
	if err != nil {
		return nil, fmt.Errorf("count encrypted values in %s: %w", s.Table, err)
	}
	return counts, nil
}

// resealBatch is how many rows a transaction of Reseal changes, so that others need not wait long.
const resealBatch = 100

// Reseal decrypts every value that does not begin with head and encrypts it again, in small transactions. It does not
// overwrite a value that changes meanwhile. After an interruption, another call continues with the rest. It returns how many
// rows it has encrypted, and how many it could not decrypt.
func (s Sealed) Reseal(ctx context.Context, db *DB, keys Sealer, head []byte) (sealed, unopened int, err error) {
	var after []any
	for {
		var last []any
		var n, bad int
		err := db.Tx(ctx, func(tx Tx) (err error) {
			last, n, bad, err = s.resealSome(ctx, tx, keys, head, after)
			return err
		})
		if err != nil {
			return sealed, unopened, fmt.Errorf("encrypt %s again: %w", s.Table, err)
		}
		sealed, unopened = sealed+n, unopened+bad
		if last == nil {
			return sealed, unopened, nil
		}
		after = last
	}
}

// resealSome is Reseal of the next rows after a key, or of the first rows if that is nil. last is nil at the end.
func (s Sealed) resealSome(ctx context.Context, tx Tx, keys Sealer, head []byte, after []any) (last []any, sealed, unopened int, err error) {
	rows, err := s.next(ctx, tx, head, after)
	if err != nil {
		return nil, 0, 0, err
	}
	for _, r := range rows {
		where := s.Context(r.key)
		plain, err := keys.Open(r.value, where)
		if err != nil {
			unopened++
			continue
		}
		args := append([]any{keys.Seal(plain, where), r.value}, r.key...)
		n, err := tx.Exec(ctx, fmt.Sprintf(`UPDATE %[1]s SET %[2]s = $1 WHERE %[2]s = $2 AND %[3]s`, s.Table, s.Column, s.match("=", 3)), args...)
		if err != nil {
			return nil, 0, 0, err
		}
		sealed += int(n)
	}
	if len(rows) < resealBatch {
		return nil, sealed, unopened, nil
	}
	return rows[len(rows)-1].key, sealed, unopened, nil
}

// A sealedRow is a row's key and its value.
type sealedRow struct {
	key   []any
	value []byte
}

func (s Sealed) next(ctx context.Context, tx Tx, head []byte, after []any) ([]sealedRow, error) {
	from := "1 = 1"
	if after != nil {
		from = s.match(">", 2)
	}
	scan := func(rows *sql.Rows) (sealedRow, error) {
		r := sealedRow{key: make([]any, len(s.Key))}
		to := make([]any, 0, len(s.Key)+1)
		for i := range r.key {
			to = append(to, &r.key[i])
		}
		err := rows.Scan(append(to, &r.value)...)
		r.value = bytes.Clone(r.value)
		return r, err
	}
	return Collect(ctx, tx, scan, fmt.Sprintf(`SELECT %[1]s, %[2]s FROM %[3]s WHERE length(%[2]s) > 0 AND substr(%[2]s, 1, %[4]d) <> $1 AND %[5]s ORDER BY %[1]s LIMIT %[6]d`,
		strings.Join(s.Key, ", "), s.Column, s.Table, len(head), from, resealBatch), append([]any{head}, after...)...)
}

// match is the condition that compares the key with the binds from from on.
func (s Sealed) match(operator string, from int) string {
	return fmt.Sprintf("(%s) %s (%s)", strings.Join(s.Key, ", "), operator, Binds(from, len(s.Key)))
}

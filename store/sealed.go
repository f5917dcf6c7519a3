package store

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Sealed says where a package keeps what a [Sealer] has sealed, so that it can be counted by its key and sealed anew.
// An empty value is no sealed one.
type Sealed struct {
	Table, Column string
	Key           []string               // the columns of the primary key
	Context       func(key []any) []byte // that of the value in a row; its parts are texts and int64s
}

// Count tells of how many rows the value begins with each head of a length, as bytes in a string.
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
		return nil, fmt.Errorf("count what is sealed in %s: %w", s.Table, err)
	}
	return counts, nil
}

// resealAtOnce is how many rows a transaction of Reseal takes, so that others need not wait.
const resealAtOnce = 100

// Reseal opens and seals again every value that does not begin with the head, in small transactions beside whatever
// else happens to the rows: a value that is changed meanwhile stays as it is then. Begun again after an interruption it
// goes on with what is left. It returns how many rows it has sealed, and how many it could not open.
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
			return sealed, unopened, fmt.Errorf("seal %s anew: %w", s.Table, err)
		}
		sealed, unopened = sealed+n, unopened+bad
		if last == nil {
			return sealed, unopened, nil
		}
		after = last
	}
}

// resealSome is Reseal of the next rows after a key, from the first on where that is nil. Last is nil at the end.
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
	if len(rows) < resealAtOnce {
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
		strings.Join(s.Key, ", "), s.Column, s.Table, len(head), from, resealAtOnce), append([]any{head}, after...)...)
}

// match compares the key with parameters from the number on.
func (s Sealed) match(operator string, from int) string {
	return fmt.Sprintf("(%s) %s (%s)", strings.Join(s.Key, ", "), operator, Binds(from, len(s.Key)))
}

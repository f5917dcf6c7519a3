package store

import (
	"context"
	"database/sql"
	"strconv"
)

// Collect runs a query and returns the results of scan for each row; without rows, an empty slice, not nil. scan reads the
// current row with rows.Scan.
func Collect[T any](ctx context.Context, tx Tx, scan func(rows *sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	all := []T{}
	err := Each(ctx, tx, func(rows *sql.Rows) error {
		one, err := scan(rows)
		all = append(all, one)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Each runs a query and calls read for each row, until read fails. read reads the row with rows.Scan; [sql.RawBytes] are valid
// until it returns.
func Each(ctx context.Context, tx Tx, read func(rows *sql.Rows) error, query string, args ...any) error {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ScanOne reads a row with one column, for [Collect].
func ScanOne[T any](rows *sql.Rows) (value T, err error) {
	err = rows.Scan(&value)
	return value, err
}

// Binds returns "$first, $first+1, …" with n placeholders, for a list of values in a statement.
func Binds(first, n int) string {
	b := make([]byte, 0, 6*n)
	for i := range n {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(first+i), 10)
	}
	return string(b)
}

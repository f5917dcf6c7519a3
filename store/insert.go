package store

import (
	"context"
	"strconv"
)

// insertBinds is how many placeholders a statement of [InsertAll] has at most: SQLite takes longer for each the more there are.
const insertBinds = 240

// InsertAll inserts rows of equal length by few statements, and returns how many were inserted. Into is the beginning of the
// statement up to VALUES, such as "INSERT INTO t (a, b)", and end what follows the rows, such as "ON CONFLICT DO NOTHING".
func InsertAll(ctx context.Context, tx Tx, into, end string, rows [][]any) (inserted int64, err error) {
	for len(rows) > 0 {
		n := min(len(rows), max(1, insertBinds/max(1, len(rows[0]))))
		width := len(rows[0])
		query := append([]byte(into), " VALUES "...)
		args := make([]any, 0, n*width)
		for i, row := range rows[:n] {
			if i > 0 {
				query = append(query, ", "...)
			}
			query = append(query, '(')
			for j := range row {
				if j > 0 {
					query = append(query, ", "...)
				}
				query = append(query, '$')
				query = strconv.AppendInt(query, int64(len(args)+1+j), 10)
			}
			query = append(query, ')')
			args = append(args, row...)
		}
		query = append(append(query, ' '), end...)
		added, err := tx.Exec(ctx, string(query), args...)
		if err != nil {
			return inserted, err
		}
		inserted += added
		rows = rows[n:]
	}
	return inserted, nil
}

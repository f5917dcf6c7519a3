package partner

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// A table is rows as CSV with a line of column names (RFC 4180, but for the line ends, which are line feeds).
type table struct {
	w      *csv.Writer
	cells  []string
	failed error
}

func newTable(w io.Writer, columns ...string) *table {
	t := &table{w: csv.NewWriter(w), cells: make([]string, 0, len(columns))}
	t.failed = t.w.Write(columns)
	return t
}

// row writes texts, whole numbers and times.
func (t *table) row(values ...any) {
	t.cells = t.cells[:0]
	for _, value := range values {
		switch v := value.(type) {
		case string:
			t.cells = append(t.cells, noFormula(v))
		case int64:
			t.cells = append(t.cells, strconv.FormatInt(v, 10))
		case time.Time:
			t.cells = append(t.cells, v.UTC().Format(time.RFC3339Nano))
		default:
			panic(fmt.Sprintf("partner: a %T in a table", value))
		}
	}
	if err := t.w.Write(t.cells); err != nil && t.failed == nil {
		t.failed = err
	}
}

// noFormula puts an apostrophe before a text that a spreadsheet would run as a formula.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(text[0])) {
		return "'" + text
	}
	return text
}

func (t *table) err() error { return t.failed }

// end writes what is left and returns the first failure.
func (t *table) end() error {
	t.w.Flush()
	if t.failed == nil {
		t.failed = t.w.Error()
	}
	return t.failed
}

package store

import (
	"strconv"
	"strings"
	"time"
)

// Conditions are those of a WHERE clause, with their arguments. The zero value holds none.
type Conditions struct {
	parts []string
	args  []any
}

// Add adds a condition with a ? for each value.
func (c *Conditions) Add(text string, values ...any) {
	for _, v := range values {
		text = strings.Replace(text, "?", c.Bind(v), 1)
	}
	c.parts = append(c.parts, text)
}

// Bind returns the placeholder of a further argument, which follows those of the conditions so far.
func (c *Conditions) Bind(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// A Position is a place in a list: that of a row, by a time in microseconds and, among equal ones, by id. Callers seal it before
// they send it to clients.
type Position struct {
	At int64  `json:"at"`
	ID string `json:"id"`
}

// Newest adds the conditions of a page of a list, the newest first: the column at is in a window, from inclusive and to exclusive,
// and the row comes after the position of the last one of the page before, which was in the window. Zero ends and nil are none.
//
// With a position there is no condition for to: with two upper bounds SQLite may take the other for where it begins in an index, and
// read all pages before this one.
func (c *Conditions) Newest(at, id string, from, to time.Time, after *Position) {
	if !from.IsZero() {
		c.Add(at+" >= ?", Micros(from))
	}
	switch {
	case after != nil:
		c.Add("("+at+", "+id+") < (?, ?)", after.At, after.ID)
	case !to.IsZero():
		c.Add(at+" < ?", Micros(to))
	}
}

// String is what follows WHERE.
func (c *Conditions) String() string {
	if len(c.parts) == 0 {
		return "TRUE"
	}
	return strings.Join(c.parts, " AND ")
}

// Args are the arguments of the conditions, in order.
func (c *Conditions) Args() []any { return c.args }

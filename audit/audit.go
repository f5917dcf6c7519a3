// Package audit records who did what.
//
// A line is written in the transaction of the change that it records. Lines hold no secrets: no passwords, keys or tokens,
// and no links that contain them.
package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/namewharf/namewharf/store"
)

// An Author writes lines for an actor: a user of the operating system, a partner, an account or a process.
type Author struct {
	Name   string // never empty
	Reason string // given by the actor; may be empty
	Now    func() time.Time
}

// maxDetails is the maximum length of the details of a line in bytes. Longer ones are a programming error.
const maxDetails = 8 << 10

// Record writes a line in the caller's transaction: the action, such as "order.refund", and its subject, such as the id of the
// order. Details are stored as JSON; those of a change have "before" and "after". They may be nil.
func (a Author) Record(ctx context.Context, tx store.Tx, action, subject string, details map[string]any) error {
	if a.Name == "" || a.Now == nil || action == "" {
		return fmt.Errorf("write to the audit log: the author or the action %q is not complete", action)
	}
	if details == nil {
		details = map[string]any{}
	}
	text, err := json.Marshal(details)
	if err == nil && len(text) > maxDetails {
		err = errors.New("the details are too long")
	}
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO audit_log (id, at, actor, action, subject, reason, details) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			store.NewID("aud"), store.Micros(a.Now()), a.Name, action, subject, a.Reason, string(text))
	}
	if err != nil {
		return fmt.Errorf("write %s to the audit log: %w", action, err)
	}
	return nil
}

// A Line says who did what to what, when and why.
type Line struct {
	ID      string          `json:"id"`
	At      time.Time       `json:"at"`
	Actor   string          `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Reason  string          `json:"reason,omitzero"`
	Details json.RawMessage `json:"details"` // an object, often an empty one
}

// A Filter selects lines. Empty fields select all.
type Filter struct {
	Actor   string
	Action  string // an action, or a prefix up to a dot: "order" selects all actions on orders
	Subject string
	Since   time.Time // lines of this time and later
	Before  string    // lines older than the one with this id: the next page
	Limit   int       // most lines; 0: 100
}

const defaultLimit = 100

// Lines returns the lines that the filter selects, the newest first.
func Lines(ctx context.Context, db *store.DB, f Filter) ([]Line, error) {
	if f.Limit <= 0 {
		f.Limit = defaultLimit
	}
	c := f.conditions()
	limit := c.Bind(f.Limit)
	scan := func(rows *sql.Rows) (l Line, err error) {
		var at int64
		var details string
		err = rows.Scan(&l.ID, &at, &l.Actor, &l.Action, &l.Subject, &l.Reason, &details)
		l.At, l.Details = store.Time(at), json.RawMessage(details)
		return l, err
	}
	var all []Line
	err := db.Read(ctx, func(tx store.Tx) (err error) {
		all, err = store.Collect(ctx, tx, scan, `
			SELECT id, at, actor, action, subject, reason, details FROM audit_log WHERE `+c.String()+` ORDER BY id DESC LIMIT `+limit, c.Args()...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return all, nil
}

func (f Filter) conditions() (c store.Conditions) {
	if f.Actor != "" {
		c.Add("actor = ?", f.Actor)
	}
	if f.Action != "" {
		below := f.Action + "."
		c.Add("(action = ? OR SUBSTR(action, 1, ?) = ?)", f.Action, utf8.RuneCountInString(below), below)
	}
	if f.Subject != "" {
		c.Add("subject = ?", f.Subject)
	}
	if !f.Since.IsZero() {
		c.Add("at >= ?", store.Micros(f.Since))
	}
	if f.Before != "" {
		c.Add("id < ?", f.Before)
	}
	return c
}

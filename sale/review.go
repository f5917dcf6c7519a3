package sale

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// Flag makes sales of a domain wait for a person from now on, in either environment, within a transaction of the caller.
// A domain that is flagged stays so.
func (d *Desk) Flag(ctx context.Context, tx store.Tx, domain fqdn.Name, by Actor) error {
	return d.setFlag(ctx, tx, domain, true, by)
}

// Unflag ends that. Orders that are held stay so until they are cleared.
func (d *Desk) Unflag(ctx context.Context, tx store.Tx, domain fqdn.Name, by Actor) error {
	return d.setFlag(ctx, tx, domain, false, by)
}

func (d *Desk) setFlag(ctx context.Context, tx store.Tx, domain fqdn.Name, on bool, by Actor) error {
	changed, err := flag(ctx, tx, domain, on, store.Micros(d.cfg.Now()))
	if err != nil {
		return fmt.Errorf("flag a domain: %w", err)
	}
	if !changed {
		return nil
	}
	action := "domain.unflag"
	if on {
		action = "domain.flag"
	}
	return d.Record(ctx, tx, by.Name, action, domain.String(), by.Reason)
}

// Flagged returns the domains whose sales wait for a person, in alphabetical order.
func (d *Desk) Flagged(ctx context.Context) ([]fqdn.Name, error) {
	var all []fqdn.Name
	err := d.cfg.DB.Read(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `SELECT domain FROM flagged_domains ORDER BY domain`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			domain, err := fqdn.Parse(text)
			if err != nil {
				return fmt.Errorf("a flagged domain %w", err)
			}
			all = append(all, domain)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list flagged domains: %w", err)
	}
	return all, nil
}

// A Record is a line of the audit log: who did what to what, when and why.
type Record struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	Actor   string    `json:"actor"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	Reason  string    `json:"reason,omitzero"`
}

// Record writes a line of the audit log within a transaction of the caller. [Desk.Act], [Desk.Flag] and [Desk.Unflag] do
// so by themselves; it is exported for what an operator does elsewhere.
func (d *Desk) Record(ctx context.Context, tx store.Tx, actor, action, subject, reason string) error {
	if actor == "" {
		return fmt.Errorf("write to the audit log: nobody is named for %s", action)
	}
	_, err := tx.Exec(ctx, `INSERT INTO audit_log (id, at, actor, action, subject, reason) VALUES ($1, $2, $3, $4, $5, $6)`,
		store.NewID("aud"), store.Micros(d.cfg.Now()), actor, action, subject, reason)
	if err != nil {
		return fmt.Errorf("write to the audit log: %w", err)
	}
	return nil
}

// Records returns lines of the audit log, the newest first: at most limit of those before the one with the id, from the
// newest on if that is empty, and only about the subject if that is not.
func (d *Desk) Records(ctx context.Context, subject, before string, limit int) ([]Record, error) {
	all := []Record{}
	err := d.cfg.DB.Read(ctx, func(tx store.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT id, at, actor, action, subject, reason FROM audit_log
			WHERE (subject = $1 OR $1 = '') AND (id < $2 OR $2 = '') ORDER BY id DESC LIMIT $3`, subject, before, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r Record
			var at int64
			if err := rows.Scan(&r.ID, &at, &r.Actor, &r.Action, &r.Subject, &r.Reason); err != nil {
				return err
			}
			r.At = store.Time(at)
			all = append(all, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return all, nil
}

package sale

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// Flag makes later sales of a domain wait for manual review, in both environments, within a transaction of the caller.
// Flagging a flagged domain does nothing.
func (s *Service) Flag(ctx context.Context, tx store.Tx, domain fqdn.Name, by Actor) error {
	return s.setFlag(ctx, tx, domain, true, by)
}

// Unflag ends what [Service.Flag] began. Orders that are held stay held until they are cleared.
func (s *Service) Unflag(ctx context.Context, tx store.Tx, domain fqdn.Name, by Actor) error {
	return s.setFlag(ctx, tx, domain, false, by)
}

func (s *Service) setFlag(ctx context.Context, tx store.Tx, domain fqdn.Name, on bool, by Actor) error {
	changed, err := flag(ctx, tx, domain, on, store.Micros(s.cfg.Now()))
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
	return s.audit(ctx, tx, by, action, domain.String(), nil)
}

// Flagged returns the domains whose sales wait for manual review, in alphabetical order.
func (s *Service) Flagged(ctx context.Context) ([]fqdn.Name, error) {
	scan := func(rows *sql.Rows) (fqdn.Name, error) {
		text, err := store.ScanOne[string](rows)
		if err != nil {
			return fqdn.Name{}, err
		}
		domain, err := fqdn.Parse(text)
		if err != nil {
			return fqdn.Name{}, fmt.Errorf("a flagged domain %w", err)
		}
		return domain, nil
	}
	var all []fqdn.Name
	err := s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		all, err = store.Collect(ctx, tx, scan, `SELECT domain FROM flagged_domains ORDER BY domain`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list flagged domains: %w", err)
	}
	return all, nil
}

// audit writes to the audit log.
func (s *Service) audit(ctx context.Context, tx store.Tx, by Actor, action, subject string, details map[string]any) error {
	if by.Name == "" {
		return fmt.Errorf("write to the audit log: no actor is named for %s", action)
	}
	return s.cfg.Audit.Record(ctx, tx, by, action, subject, details)
}

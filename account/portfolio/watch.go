package portfolio

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/store"
)

// Limits of the daily registry check of proven names.
const (
	recheckEvery = 24 * time.Hour // each name; starts at its proof, which spreads the checks over the day
	recheckRetry = time.Hour      // after a failed check
	recheckBatch = 100            // names read at a time
	pollInterval = time.Minute    // between two polls for names that are due

	// DefaultPace leaves half of a registry's rate to interactive look-ups.
	DefaultPace = time.Second
)

// lease is held by the one process that checks.
const lease = "portfolio-recheck"

// Watch checks every proven name with its registry once a day, and suspends the claims and offers of those that changed
// hands, until ctx ends. Of several processes, one does the work.
func (p *Portfolio) Watch(ctx context.Context) {
	for failing := false; ; {
		asked, err := p.Recheck(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			p.cfg.Logger.Error("the daily check of names fails", "error", err)
		case err == nil && failing:
			p.cfg.Logger.Info("the daily check of names works again")
		}
		failing = err != nil
		if asked == recheckBatch && !failing {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
	}
}

// Recheck checks up to 100 names that are due and returns how many it checked: none while another process does so.
func (p *Portfolio) Recheck(ctx context.Context) (asked int, err error) {
	names, err := p.due(ctx)
	if err == nil && len(names) > 0 {
		_, err = p.cfg.DB.Exclusively(ctx, lease, func(ctx context.Context) (err error) {
			if names, err = p.due(ctx); err != nil { // another process may have checked them meanwhile
				return err
			}
			asked, err = p.recheckAll(ctx, names)
			return err
		})
	}
	if err != nil {
		return asked, fmt.Errorf("re-check names: %w", err)
	}
	if asked > 0 {
		return asked, p.cfg.Market.Refresh(ctx)
	}
	return 0, nil
}

// due reads the names whose registry check is due.
func (p *Portfolio) due(ctx context.Context) (names []owner, err error) {
	err = p.cfg.DB.Read(ctx, func(tx store.Tx) error {
		names, err = due(ctx, tx, p.cfg.DB.Now(), recheckBatch)
		return err
	})
	return names, err
}

// recheckAll checks one name after the other.
func (p *Portfolio) recheckAll(ctx context.Context, names []owner) (asked int, err error) {
	for i, name := range names {
		if i > 0 {
			select {
			case <-ctx.Done():
				return asked, ctx.Err()
			case <-time.After(p.cfg.Pace):
			}
		}
		if err := p.recheck(ctx, name); err != nil {
			return asked, err
		}
		asked++
	}
	return asked, nil
}

// recheck checks one name.
func (p *Portfolio) recheck(ctx context.Context, o owner) error {
	began := p.cfg.DB.Now()
	a := p.query(ctx, Claim{Domain: o.domain}, func(ctx context.Context, c Claim) (a answer) {
		a.registration, a.err = p.cfg.Registry.Registration(ctx, c.Domain, false)
		return a
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if f := (*fault.Error)(nil); a.err != nil && !errors.As(a.err, &f) {
		return a.err
	}
	return p.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		now := p.cfg.DB.Now()
		if a.err != nil {
			return postpone(ctx, tx, o, now.Add(max(recheckRetry, fault.From(a.err).Retry)))
		}
		claims, err := p.claims(ctx, tx, o.account, []fqdn.Name{o.domain})
		if err != nil || len(claims) == 0 || claims[0].Status != Verified || claims[0].VerifiedAt.After(began) {
			return err // owned by another account by now, or proven again, and then due again
		}
		return p.observe(ctx, tx, o.account, claims[0], a.registration)
	})
}

// observe stores what the registry says about a claimed name, and suspends the claim if the name changed hands.
func (p *Portfolio) observe(ctx context.Context, tx store.Tx, account string, c Claim, now Registration) error {
	at := p.cfg.DB.Now()
	var before Registration
	if !c.CheckedAt.Before(c.VerifiedAt) {
		before = c.Registration
	}
	if c.Status == Verified {
		if why := changedHands(before, now, c.VerifiedAt); why != "" {
			if err := unverify(ctx, tx, account, c.Domain, Suspended); err != nil {
				return err
			}
			if err := p.cfg.Market.Suspend(ctx, tx, account, []fqdn.Name{c.Domain}); err != nil {
				return err
			}
			if err := p.insertEvents(ctx, tx, Event{Account: account, Domain: c.Domain, Kind: Paused, Detail: why}); err != nil {
				return err
			}
		}
	}
	return setRegistration(ctx, tx, account, c.Domain, now.or(before), at, at.Add(recheckEvery))
}

// or fills the unknown fields of r with those known before.
func (r Registration) or(before Registration) Registration {
	if r.RegistrarID == "" && r.Registrar == "" {
		r.RegistrarID, r.Registrar = before.RegistrarID, before.Registrar
	}
	if r.Created.IsZero() {
		r.Created = before.Created
	}
	if r.Expires.IsZero() {
		r.Expires = before.Expires
	}
	return r
}

// slack is how much the dates of one registration may differ between RDAP and WHOIS.
const slack = 48 * time.Hour

// changedHands says in a sentence why a name may no longer belong to the account that proved it; empty: no sign of that.
// before is what the registry said after the proof; it may be zero.
func changedHands(before, now Registration, proven time.Time) string {
	known := func(a, b time.Time) bool { return !a.IsZero() && !b.IsZero() }
	switch {
	case now.Ended:
		return "the registry says that the name is not registered, or is being deleted"
	case now.Created.After(proven), known(before.Created, now.Created) && now.Created.After(before.Created.Add(slack)):
		return "the registry says that the name was registered anew"
	case otherRegistrar(before, now):
		return "the registry says that the name is with another registrar"
	case known(before.Expires, now.Expires) && now.Expires.Before(before.Expires.Add(-slack)):
		return "the registry says that the name expires sooner than before, as one that was registered anew does"
	}
	return ""
}

// otherRegistrar compares IANA numbers if both are known, and names only without numbers: one registrar uses several names.
func otherRegistrar(a, b Registration) bool {
	if a.RegistrarID != "" || b.RegistrarID != "" {
		return a.RegistrarID != "" && b.RegistrarID != "" && a.RegistrarID != b.RegistrarID
	}
	return a.Registrar != "" && b.Registrar != "" && !strings.EqualFold(a.Registrar, b.Registrar)
}

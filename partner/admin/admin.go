// Package admin is what the operator does with partners: their terms and credentials, their orders and events, flags on
// domains, and the keys that seal their secrets. Each change is recorded in the audit log.
package admin

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/signature"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// An Operator manages partners, their credentials and their orders, and records each change in the audit log. It works
// beside a running service, which refuses a revoked credential within [credential.MaxAge] and delivers the events.
type Operator struct {
	db   *store.DB
	keys *seal.Keys
	now  func() time.Time
	by   audit.Author

	logger *slog.Logger

	services wiring.Services
}

// New returns an operator with the name that the audit log records. It panics if the name is empty.
func New(db *store.DB, keys *seal.Keys, now func() time.Time, name string) *Operator {
	if name == "" {
		panic("partner: the operator has no name")
	}
	o := &Operator{db: db, keys: keys, now: now, by: audit.Author{Name: name, Now: now}, logger: slog.New(slog.DiscardHandler)}
	o.services = wiring.New(wiring.Config{
		DB: db, Keys: keys, Now: now, Logger: o.logger, Author: func(event.Stream) audit.Author { return o.by },
	})
	return o
}

// WithReason sets the reason that the audit log records for actions without a reason of their own.
func (o *Operator) WithReason(reason string) *Operator {
	o.by.Reason = reason
	return o
}

// A Partner is a company that sells names of the market.
type Partner struct {
	ID        string
	Name      string
	Terms     credential.Terms
	Created   time.Time
	Suspended time.Time // zero: not suspended
	Approved  time.Time // for credentials of LIVE; zero: not approved
}

const maxPartnerName = 200 // characters

// checkTerms fails with [fault.Validation] for invalid terms.
func checkTerms(t credential.Terms) error {
	if t.ReviewLimitCents < 0 {
		return fault.Invalid("review_limit_cents", "must not be negative")
	}
	for _, r := range []struct {
		field string
		rate  ledger.BasisPoints
	}{{"service_bp", t.Rates.Service}, {"partner_bp", t.Rates.Partner}, {"broker_bp", t.Rates.Broker}, {"referral_bp", t.Rates.Referral}} {
		if r.rate < 0 || r.rate > ledger.Whole {
			return fault.Invalid(r.field, "must be from 0 to %d", ledger.Whole)
		}
	}
	return nil
}

// termDetails returns the terms for the audit log.
func termDetails(t credential.Terms) map[string]any {
	return map[string]any{"review_limit_cents": t.ReviewLimitCents, "service_bp": t.Rates.Service, "partner_bp": t.Rates.Partner, "broker_bp": t.Rates.Broker, "referral_bp": t.Rates.Referral}
}

// CreatePartner creates a partner. It fails with [fault.Validation].
func (o *Operator) CreatePartner(ctx context.Context, name string, terms credential.Terms) (Partner, error) {
	name = strings.TrimSpace(name)
	if name == "" || len([]rune(name)) > maxPartnerName || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Partner{}, fault.Invalid("name", "must have 1 to %d printable characters", maxPartnerName)
	}
	if err := checkTerms(terms); err != nil {
		return Partner{}, err
	}
	p := Partner{ID: store.NewID("prt"), Name: name, Terms: terms, Created: store.Time(store.Micros(o.now()))}
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		if err := insertPartner(ctx, tx, p); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "partner.create", p.ID, map[string]any{"name": name, "terms": termDetails(terms)})
	})
	if err != nil {
		return Partner{}, fmt.Errorf("create a partner: %w", err)
	}
	return p, nil
}

// Partners returns all partners, the oldest first.
func (o *Operator) Partners(ctx context.Context) (all []Partner, err error) {
	err = o.db.Read(ctx, func(tx store.Tx) error {
		all, err = selectPartners(ctx, tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list partners: %w", err)
	}
	return all, nil
}

// SetTerms changes a partner's terms for later sales. It fails with [fault.NotFound] and [fault.Validation].
func (o *Operator) SetTerms(ctx context.Context, partnerID string, terms credential.Terms) error {
	if err := checkTerms(terms); err != nil {
		return err
	}
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		all, err := selectPartners(ctx, tx)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(p Partner) bool { return p.ID == partnerID })
		if at < 0 {
			return errNoPartner()
		}
		if _, err := updateTerms(ctx, tx, partnerID, terms); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "partner.terms", partnerID, map[string]any{"before": termDetails(all[at].Terms), "after": termDetails(terms)})
	})
	return fault.Wrap("change terms", err)
}

// Partner returns a partner. It fails with [fault.NotFound].
func (o *Operator) Partner(ctx context.Context, id string) (Partner, error) {
	all, err := o.Partners(ctx)
	if err != nil {
		return Partner{}, err
	}
	at := slices.IndexFunc(all, func(p Partner) bool { return p.ID == id })
	if at < 0 {
		return Partner{}, errNoPartner()
	}
	return all[at], nil
}

// Approve allows a partner to have credentials for LIVE; there is no way back. It fails with [fault.NotFound].
func (o *Operator) Approve(ctx context.Context, partnerID string) error {
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		approved, err := approvedAt(ctx, tx, partnerID)
		if err != nil || !approved.IsZero() {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE partners SET approved_at = $1 WHERE id = $2`, store.Micros(o.now()), partnerID); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "partner.approve", partnerID, nil)
	})
	return fault.Wrap("approve a partner", err)
}

// approvedAt returns when a partner was approved, zero if it was not. It fails with [fault.NotFound].
func approvedAt(ctx context.Context, tx store.Tx, partnerID string) (time.Time, error) {
	var at int64
	err := tx.QueryRow(ctx, `SELECT approved_at FROM partners WHERE id = $1`, partnerID).Scan(&at)
	if store.IsNoRows(err) {
		return time.Time{}, errNoPartner()
	}
	return store.Time(at), err
}

// Suspend refuses all credentials of a partner until [Operator.Resume]. It fails with [fault.NotFound].
func (o *Operator) Suspend(ctx context.Context, partnerID, reason string) error {
	return o.suspend(ctx, "partner.suspend", partnerID, reason, store.Micros(o.now()))
}

// Resume ends a suspension. It fails with [fault.NotFound].
func (o *Operator) Resume(ctx context.Context, partnerID, reason string) error {
	return o.suspend(ctx, "partner.resume", partnerID, reason, 0)
}

func (o *Operator) suspend(ctx context.Context, action, partnerID, reason string, at int64) error {
	return o.change(ctx, action, partnerID, reason, errNoPartner, func(tx store.Tx) (int64, error) {
		return tx.Exec(ctx, `UPDATE partners SET suspended_at = $1 WHERE id = $2`, at, partnerID)
	})
}

// change runs and records a change of one row. It fails with missing if there is no such row.
func (o *Operator) change(ctx context.Context, action, subject, reason string, missing func() error, do func(tx store.Tx) (int64, error)) error {
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		n, err := do(tx)
		if err == nil && n == 0 {
			err = missing()
		}
		if err != nil {
			return err
		}
		by := o.by
		by.Reason = cmp.Or(reason, by.Reason)
		return by.Record(ctx, tx, action, subject, nil)
	})
	return fault.Wrap(action, err)
}

func errNoPartner() error { return fault.New(fault.NotFound, "there is no such partner") }
func errNotApproved() error {
	return fault.New(fault.Conflict, "the partner is not approved for LIVE").WithHint("approve it first; the sandbox needs no approval")
}

func errNoCredential() error {
	return fault.New(fault.NotFound, "there is no such credential, or it is revoked")
}

// A Credential is a partner's credential without its secrets.
type Credential struct {
	KeyID       string
	Partner     string
	Environment credential.Environment
	Scopes      []string
	Secrets     int // valid now: two during a rotation
	Created     time.Time
	Revoked     time.Time // zero: not revoked
}

// CreateCredential creates a credential with the scopes, separated by commas or spaces. It fails with [fault.NotFound] and
// [fault.Validation], and with [fault.Conflict] for LIVE while the partner is not approved.
func (o *Operator) CreateCredential(ctx context.Context, partnerID string, env credential.Environment, scopes string) (signature.Credential, error) {
	given, err := credential.ParseScopes(scopes)
	if err != nil {
		return signature.Credential{}, err
	}
	prefix, ok := credential.KeyPrefix(env)
	if !ok {
		return signature.Credential{}, fault.Invalid("environment", "must be %s or %s", market.Sandbox, market.Live)
	}
	issued := signature.Credential{KeyID: store.NewID(prefix), Secret: credential.NewSecret(env)}
	c := Credential{KeyID: issued.KeyID, Partner: partnerID, Environment: env, Scopes: given, Created: o.now()}
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		approved, err := approvedAt(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		if env == market.Live && approved.IsZero() {
			return errNotApproved()
		}
		if err := insertCredential(ctx, tx, c); err != nil {
			return err
		}
		if err := o.insertSecret(ctx, tx, c.KeyID, 1, issued.Secret); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "credential.create", c.KeyID, map[string]any{"partner": partnerID, "environment": env, "scopes": given})
	})
	if err != nil {
		return signature.Credential{}, fault.Wrap("create a credential", err)
	}
	return issued, nil
}

// SecretOverlap is the default time for which the previous secret stays valid after a rotation.
const SecretOverlap = 24 * time.Hour

// RotateSecret gives a credential a new secret. The previous one stays valid for the overlap; zero ends it at once. It fails
// with [fault.NotFound], and with [fault.Conflict] while an earlier rotation still overlaps.
func (o *Operator) RotateSecret(ctx context.Context, keyID string, overlap time.Duration) (signature.Credential, error) {
	var issued signature.Credential
	err := o.db.Tx(ctx, func(tx store.Tx) error {
		now := o.now()
		env, last, good, err := secretsOf(ctx, tx, keyID, now)
		switch {
		case store.IsNoRows(err):
			return errNoCredential()
		case err != nil:
			return err
		case good > 1:
			return fault.New(fault.Conflict, "the secret is being changed already").WithHint("wait until the one before has ended")
		}
		if err := endSecrets(ctx, tx, keyID, now.Add(overlap)); err != nil {
			return err
		}
		issued = signature.Credential{KeyID: keyID, Secret: credential.NewSecret(env)}
		if err := o.insertSecret(ctx, tx, keyID, last+1, issued.Secret); err != nil {
			return err
		}
		return o.by.Record(ctx, tx, "credential.rotate", keyID, map[string]any{"overlap": overlap.String()})
	})
	if err != nil {
		return signature.Credential{}, fault.Wrap("rotate a secret", err)
	}
	return issued, nil
}

func (o *Operator) insertSecret(ctx context.Context, tx store.Tx, keyID string, number int, secret string) error {
	return insertSecret(ctx, tx, keyID, number, o.keys.Seal([]byte(secret), credential.SecretContext(keyID, number)), o.now())
}

// RevokeCredential revokes a credential permanently. It fails with [fault.NotFound].
func (o *Operator) RevokeCredential(ctx context.Context, keyID, reason string) error {
	return o.change(ctx, "credential.revoke", keyID, reason, errNoCredential, func(tx store.Tx) (int64, error) {
		return tx.Exec(ctx, `UPDATE partner_credentials SET revoked_at = $1 WHERE key_id = $2 AND revoked_at = 0`, store.Micros(o.now()), keyID)
	})
}

// Credentials returns the credentials of a partner, or of all if partnerID is empty, the oldest first.
func (o *Operator) Credentials(ctx context.Context, partnerID string) (all []Credential, err error) {
	err = o.db.Read(ctx, func(tx store.Tx) error {
		all, err = selectCredentials(ctx, tx, partnerID, o.now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list credentials: %w", err)
	}
	return all, nil
}

// Orders returns a page of the orders of all partners, the newest first.
func (o *Operator) Orders(ctx context.Context, f sale.Filter) (sale.Page, error) {
	return o.services.Sales.List(ctx, sale.Party{}, f)
}

// Order returns an order of any partner. It fails with [fault.NotFound].
func (o *Operator) Order(ctx context.Context, id string) (sale.Order, error) {
	return o.services.Sales.Order(ctx, sale.Party{}, id)
}

// Transition runs an action on an order of any partner, by the partner's clock. It fails with [fault.NotFound], and with
// [fault.Conflict] if the order's state does not allow it.
func (o *Operator) Transition(ctx context.Context, id string, a sale.Action, reason string) (changed sale.Order, err error) {
	before, err := o.Order(ctx, id)
	if err != nil {
		return sale.Order{}, err
	}
	by := o.actor(reason)
	err = o.db.Tx(ctx, func(tx store.Tx) error {
		now, err := wiring.LocalTime(ctx, tx, o.now(), credential.Party{Partner: before.Partner, Environment: credential.Environment(before.Environment)})
		if err != nil {
			return err
		}
		changed, err = o.services.Sales.Transition(ctx, tx, id, a, by, now)
		return err
	})
	return changed, err
}

func (o *Operator) actor(reason string) sale.Actor {
	return sale.Actor{Name: o.by.Name, Reason: cmp.Or(reason, o.by.Reason)}
}

// Flag holds later sales of a domain for manual review.
func (o *Operator) Flag(ctx context.Context, domain fqdn.Name, reason string) error {
	return o.db.Tx(ctx, func(tx store.Tx) error {
		return o.services.Sales.Flag(ctx, tx, domain, o.actor(reason))
	})
}

// Unflag undoes [Operator.Flag]. Orders that are held already wait until they are cleared.
func (o *Operator) Unflag(ctx context.Context, domain fqdn.Name, reason string) error {
	return o.db.Tx(ctx, func(tx store.Tx) error {
		return o.services.Sales.Unflag(ctx, tx, domain, o.actor(reason))
	})
}

// Deliveries returns a page of a partner's webhook deliveries, the latest events first, and the cursor of the next page.
func (o *Operator) Deliveries(ctx context.Context, partnerID string, env credential.Environment, f event.DeliveryFilter) ([]event.Delivery, string, error) {
	return o.services.Events.Deliveries(ctx, wiring.Stream(credential.Party{Partner: partnerID, Environment: env}), f)
}

// Redeliver queues an event for delivery once more. It fails with [fault.NotFound] and [fault.Conflict].
func (o *Operator) Redeliver(ctx context.Context, partnerID string, env credential.Environment, id string) (event.Delivery, error) {
	return o.services.Events.Redeliver(ctx, wiring.Stream(credential.Party{Partner: partnerID, Environment: env}), id)
}

// CheckLedger checks that the ledger balances and agrees with the orders.
func (o *Operator) CheckLedger(ctx context.Context) (ledger.Report, error) {
	return ledger.Check(ctx, o.db, orderClaims, orderTotals)
}

// Seed imports the inventory of the sandbox: about 290 names under .example and .test with made-up prices, always the
// same. The report lists names that were sold meanwhile as bad rows.
func (o *Operator) Seed(ctx context.Context) (market.Report, error) {
	return market.Import(ctx, o.db, strings.NewReader(SeedCSV()), market.ImportOptions{
		Environment: market.Sandbox, Partial: true, Audit: o.by, Action: "sandbox.seed",
	})
}

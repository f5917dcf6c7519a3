package brokerage

import (
	"context"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Tier says who makes offers: the operator for the buyer, or the buyer.
type Tier string

// The tiers.
const (
	Managed   Tier = "managed"
	SelfServe Tier = "self_serve" // the buyer may make offers on the progress page
)

// Schema is the enumeration of the tiers.
func (Tier) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(Managed), string(SelfServe)}}
}

// A State is how far a case is.
type State string

// The states, in their order. Completed and Closed are ends.
const (
	Open        State = "OPEN"
	Contacted   State = "CONTACTED"
	Negotiating State = "NEGOTIATING"
	Agreed      State = "AGREED"
	Completed   State = "COMPLETED"
	Closed      State = "CLOSED"
)

// States are all there are, in their order.
var States = []State{Open, Contacted, Negotiating, Agreed, Completed, Closed}

// Schema is the enumeration of the states.
func (State) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, state := range States {
		s.Enum = append(s.Enum, string(state))
	}
	return s
}

// A Case is the acquisition of a domain, in the words of the wire.
type Case struct {
	CaseID            string    `json:"case_id"`
	Domain            string    `json:"domain"`
	Tier              Tier      `json:"tier"`
	Status            State     `json:"status"`
	Budget            int64     `json:"budget" jsonschema:"what the buyer is ready to pay, in minor units"`
	Currency          string    `json:"currency"`
	PriceCents        int64     `json:"price_cents,omitzero" jsonschema:"what was agreed with the owner"`
	PartnerShareCents int64     `json:"partner_share_cents,omitzero" jsonschema:"the partner's share of a completed case"`
	ProgressURL       string    `json:"progress_url,omitzero" jsonschema:"the buyer's page; whoever has the link sees it"`
	CreatedAt         time.Time `json:"created_at"`
	UpdatedAt         time.Time `json:"updated_at"`
	Timeline          []Step    `json:"timeline,omitzero"`

	Partner     string `json:"-"`
	Environment string `json:"-"`
	BuyerEmail  string `json:"-"` // empty: taken out

	version int
}

// Party is whose case it is.
func (c Case) Party() Party { return Party{c.Partner, c.Environment} }

// A Step is a line of the timeline.
type Step struct {
	At     time.Time `json:"at"`
	Status State     `json:"status"`
	Note   string    `json:"note,omitzero"`

	Private string `json:"-"` // the operator's note
}

// Bounds of what cases hold.
const (
	MaxEmail = 254  // bytes
	MaxNote  = 1000 // characters of a note or a message
)

// A Request asks for a case.
type Request struct {
	Domain     fqdn.Name
	Tier       Tier
	BuyerEmail string
	Budget     money.Amount // an empty currency is USD
}

func (r *Request) check() error {
	if r.Tier != Managed && r.Tier != SelfServe {
		return fault.Invalid("tier", "must be %s or %s", Managed, SelfServe)
	}
	if a, err := mail.ParseAddress(r.BuyerEmail); err != nil || a.Address != r.BuyerEmail || len(r.BuyerEmail) > MaxEmail || !plainText(r.BuyerEmail, false) {
		return fault.Invalid("buyer_email", "must be an e-mail address of at most %d bytes", MaxEmail)
	}
	if r.Budget.Cents < 1 || r.Budget.Cents > money.MaxCents {
		return fault.Invalid("budget", "must be from 1 to %d cents", int64(money.MaxCents))
	}
	if r.Budget.Currency == "" {
		r.Budget.Currency = "USD"
	}
	currency, err := money.ParseCurrency(r.Budget.Currency)
	if err != nil {
		return fault.Invalid("currency", "%s", err)
	}
	r.Budget.Currency = currency
	return nil
}

// plainText reports whether s is UTF-8 without control characters, but for line feeds where lines are allowed.
func plainText(s string, lines bool) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && !(lines && r == '\n') || unicode.Is(unicode.Bidi_Control, r)
	})
}

// checkNote refuses a note that is too long or holds control characters.
func checkNote(field, note string) error {
	if utf8.RuneCountInString(note) > MaxNote || !plainText(note, true) {
		return fault.Invalid(field, "must be at most %d characters without control characters", MaxNote)
	}
	return nil
}

// Open opens a case of the party within a transaction of the caller. Of several at once for a domain one succeeds. It fails
// with
//   - [fault.Validation] naming the field;
//   - [fault.Conflict] with the reasons in the details for a domain that is not eligible;
//   - [*NeedsFindings] for a domain of LIVE whose [Findings] are not in ctx: add them by [Service.Investigate], outside of the
//     transaction, and call again.
func (s *Service) Open(ctx context.Context, tx store.Tx, p Party, r Request, now time.Time) (Case, error) {
	if err := r.check(); err != nil {
		return Case{}, err
	}
	e, err := s.eligible(ctx, tx, p, r.Domain)
	if err != nil {
		return Case{}, err
	}
	if !e.Eligible {
		return Case{}, errIneligible(e.Reasons)
	}
	token := newToken()
	at := store.Time(store.Micros(now))
	c := Case{
		CaseID: store.NewID("bkc"), Domain: r.Domain.String(), Tier: r.Tier, Status: Open, Budget: r.Budget.Cents, Currency: r.Budget.Currency,
		CreatedAt: at, UpdatedAt: at, Partner: p.Partner, Environment: p.Environment, BuyerEmail: r.BuyerEmail, version: 1,
	}
	added, err := insertCase(ctx, tx, c, token.digest(), s.cfg.Keys.Seal(token[:], tokenContext(c.CaseID)))
	switch {
	case err != nil:
		return Case{}, fmt.Errorf("open a case: %w", err)
	case !added:
		return Case{}, errIneligible([]Reason{OpenCase})
	}
	if err := insertStep(ctx, tx, c.CaseID, c.version, Step{At: at, Status: Open}); err != nil {
		return Case{}, fmt.Errorf("open a case: %w", err)
	}
	by := Actor{Name: "partner " + p.Partner, Party: p}
	if err := s.cfg.Audit.Record(ctx, tx, by, "brokerage.open", c.CaseID, map[string]any{"domain": c.Domain, "tier": c.Tier, "budget": r.Budget.String()}); err != nil {
		return Case{}, err
	}
	c.ProgressURL = s.progressURL(token)
	return c, nil
}

// Case returns a case of the party with its timeline and progress link. It fails with [fault.NotFound] for an unknown case and
// for one of another party.
func (s *Service) Case(ctx context.Context, p Party, id string) (c Case, err error) {
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		if c, err = selectCase(ctx, tx, p, id); err != nil {
			return err
		}
		if c.Timeline, err = selectSteps(ctx, tx, id); err != nil {
			return err
		}
		c.ProgressURL, err = s.ProgressURL(ctx, tx, id)
		return err
	})
	return c, caseError("read a case", err)
}

// CaseIn is [Service.Case] within a transaction of the caller, without timeline and progress link.
func (s *Service) CaseIn(ctx context.Context, tx store.Tx, p Party, id string) (Case, error) {
	c, err := selectCase(ctx, tx, p, id)
	return c, caseError("read a case", err)
}

func caseError(doing string, err error) error {
	if store.IsNoRows(err) {
		return errNoCase()
	}
	return fault.Wrap(doing, err)
}

func errNoCase() error { return fault.New(fault.NotFound, "there is no such case") }

// A Filter says which cases to list. Zero fields do not filter.
type Filter struct {
	Status      State
	Environment string    // for operators
	From, To    time.Time // of creation; From inclusive, To exclusive
	Limit       int       // 1 to MaxPage; 0: DefaultPage
	After       *Position // from Page.Next; nil: from the start
}

// Limits of a page.
const (
	DefaultPage = 25
	MaxPage     = 100
)

// A Position is a place between two cases of a list.
type Position = store.Position

// A Page is a part of the cases, without timelines and progress links.
type Page struct {
	Cases []Case
	Next  *Position // nil: this is the end
}

// List returns the party's cases, the newest first. It fails with [fault.Validation].
func (s *Service) List(ctx context.Context, p Party, f Filter) (page Page, err error) {
	if f.Limit == 0 {
		f.Limit = DefaultPage
	}
	if f.Limit < 1 || f.Limit > MaxPage {
		return Page{}, fault.Invalid("limit", "must be from 1 to %d", MaxPage)
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) (err error) {
		page.Cases, err = selectCases(ctx, tx, p, f)
		return err
	})
	if err != nil {
		return Page{}, fmt.Errorf("list cases: %w", err)
	}
	if len(page.Cases) > f.Limit {
		page.Cases = page.Cases[:f.Limit]
		last := page.Cases[f.Limit-1]
		page.Next = &Position{At: store.Micros(last.CreatedAt), ID: last.CaseID}
	}
	return page, nil
}

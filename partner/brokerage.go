package partner

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/store"
)

func (a *API) eligibility() op.Operation[PriceIn, brokerage.Eligibility] {
	return op.Operation[PriceIn, brokerage.Eligibility]{
		Name:  "partner_brokerage_eligibility",
		Title: "Ask whether a name can be brokered",
		Doc: "Whether a case can be opened for a domain, and why not: active_site, open_case, listed, unregistered, or undetermined " +
			"where registry or site do not answer clearly. In the sandbox names like active-acme.example, parked-acme.example and " +
			"unregistered-acme.example are answered by rule.",
		Route: op.Route{Method: "GET", Path: root + "/brokerage/eligibility"},
		Scope: credential.ScopeBroker, Limit: ClassSearch, Effect: op.Reads,
		Example: PriceIn{Domain: "parked-acme.example"},
		Do: func(ctx context.Context, in PriceIn) (brokerage.Eligibility, error) {
			name, err := a.registrable(in.Domain)
			if err != nil {
				return brokerage.Eligibility{}, err
			}
			return a.cases.Eligible(ctx, wiring.Broker(party(ctx)), name)
		},
	}
}

// Email is an e-mail address.
type Email string

// Schema is a bounded text.
func (Email) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: new(3), MaxLength: new(brokerage.MaxEmail)}
}

// A CaseIn asks for a brokerage case.
type CaseIn struct {
	Domain     DomainText     `json:"domain" jsonschema:"the domain that the buyer wants"`
	Tier       brokerage.Tier `json:"tier" jsonschema:"managed: the service negotiates; self_serve: the buyer may also make offers on the progress page"`
	BuyerEmail Email          `json:"buyer_email" jsonschema:"address of the buyer; neither the owner nor the progress page shows it"`
	Budget     Cents          `json:"budget" jsonschema:"what the buyer is ready to pay, in cents"`
	Currency   Text           `json:"currency,omitzero" jsonschema:"ISO 4217 code; USD when left out"`
}

// registrable reads a name that is registered as such: one label below its suffix.
func (a *API) registrable(text DomainText) (fqdn.Name, error) {
	name, err := text.parse("domain")
	if err != nil {
		return fqdn.Name{}, err
	}
	if suffix, _ := a.cfg.Suffixes.Of(name); name.Dots() != suffix.Dots()+1 {
		return fqdn.Name{}, fault.Invalid("domain", "must be one label and its suffix, such as acme.com")
	}
	return name, nil
}

func (a *API) createCase() op.Operation[CaseIn, brokerage.Case] {
	def := op.Operation[CaseIn, brokerage.Case]{
		Name:  "partner_create_case",
		Title: "Open a brokerage case",
		Doc: "Asks the service to acquire a domain that is not for sale here. The answer has a link to a page that shows the buyer the " +
			"progress without a sign-in. A domain that is not eligible, or has an open case, is a conflict with the reasons in its details.",
		Route:   op.Route{Method: "POST", Path: root + "/brokerage", Status: http.StatusCreated},
		Scope:   credential.ScopeBroker,
		Example: CaseIn{Domain: "parked-acme.example", Tier: brokerage.SelfServe, BuyerEmail: "buyer@example.com", Budget: 500_000},
	}
	def.Kept = op.Once(investigating{a}, a.openCase)
	return asWrite(def)
}

func (a *API) openCase(ctx context.Context, tx store.Tx, in CaseIn, now time.Time) (brokerage.Case, error) {
	name, err := a.registrable(in.Domain)
	if err != nil {
		return brokerage.Case{}, err
	}
	return a.cases.Open(ctx, tx, wiring.Broker(party(ctx)), brokerage.Request{
		Domain: name, Tier: in.Tier, BuyerEmail: string(in.BuyerEmail), Budget: money.Amount{Cents: int64(in.Budget), Currency: string(in.Currency)},
	}, now)
}

// investigating runs what opens cases: where an effect needs findings about a domain, its transaction is rolled back, registry
// and site are asked, and it runs again.
type investigating struct{ *API }

// Once implements [op.Answers].
func (i investigating) Once(ctx context.Context, r op.Repeatable, effect func(context.Context, store.Tx, time.Time) (any, error)) (op.Answer, error) {
	answer, err := i.API.Once(ctx, r, effect)
	if needs, ok := errors.AsType[*brokerage.NeedsFindings](err); ok {
		return i.API.Once(i.cases.Investigate(ctx, needs.Domain), r, effect)
	}
	return answer, err
}

// A CaseID names a case in the path.
type CaseID struct {
	CaseID Text `json:"case_id" jsonschema:"the case's id"`
}

func (a *API) getCase() op.Operation[CaseID, brokerage.Case] {
	return op.Operation[CaseID, brokerage.Case]{
		Name:  "partner_get_case",
		Title: "Look at a brokerage case",
		Doc:   "One of the partner's cases, with its timeline and the link to the buyer's page.",
		Route: op.Route{Method: "GET", Path: root + "/brokerage/{case_id}"},
		Scope: credential.ScopeBroker, Limit: ClassReporting, Effect: op.Reads,
		Example: CaseID{"bkc_06bqexample0000000000000000"},
		Do: func(ctx context.Context, in CaseID) (brokerage.Case, error) {
			return a.cases.Case(ctx, wiring.Broker(party(ctx)), string(in.CaseID))
		},
	}
}

// CasesIn asks for a page of cases.
type CasesIn struct {
	Status brokerage.State `json:"status,omitzero"`
	From   DateOrTime      `json:"from,omitzero" jsonschema:"opened at this date or time or later"`
	To     DateOrTime      `json:"to,omitzero" jsonschema:"opened before this date or time"`
	Limit  PageLimit       `json:"limit,omitzero" jsonschema:"cases a page; 25 when left out"`
	Cursor op.Cursor       `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// CasesOut is a page of cases, the newest first, without timelines and progress links.
type CasesOut struct {
	Cases []brokerage.Case `json:"cases"`
	Page  Page             `json:"page"`
}

func (a *API) listCases() op.Operation[CasesIn, CasesOut] {
	return op.Operation[CasesIn, CasesOut]{
		Name:  "partner_list_cases",
		Title: "List brokerage cases",
		Doc: "The partner's cases and what came of them, the newest first, by status and time of opening. The timeline and the progress " +
			"link are in the single case.",
		Route: op.Route{Method: "GET", Path: root + "/brokerage"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: CasesIn{Status: brokerage.Open, Limit: 10},
		Do:      a.listedCases,
	}
}

func (a *API) listedCases(ctx context.Context, in CasesIn) (CasesOut, error) {
	p := party(ctx)
	f := brokerage.Filter{Status: in.Status, Limit: int(in.Limit)}
	var err error
	if f.From, f.To, err = window(in.From, in.To); err != nil {
		return CasesOut{}, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	codec, err := newCursorCodec(a.cfg.Keys, p, "cases", filters)
	if err != nil {
		return CasesOut{}, err
	}
	if in.Cursor != "" {
		f.After = new(brokerage.Position)
		if err := codec.decode(in.Cursor, f.After); err != nil {
			return CasesOut{}, err
		}
	}
	page, err := a.cases.List(ctx, wiring.Broker(p), f)
	if err != nil {
		return CasesOut{}, err
	}
	out := CasesOut{Cases: page.Cases}
	if page.Next != nil {
		out.Page.NextCursor, err = codec.encode(page.Next)
	}
	return out, err
}

// SandboxCaseAction is what the operator would do to a case.
type SandboxCaseAction string

// The actions.
const (
	SandboxCaseAdvance SandboxCaseAction = "advance" // one state on; the price is the budget
	SandboxCaseClose   SandboxCaseAction = "close"
)

// Schema is the enumeration of the plays.
func (SandboxCaseAction) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(SandboxCaseAdvance), string(SandboxCaseClose)}}
}

// A SandboxCaseIn names a case and what to do with it.
type SandboxCaseIn struct {
	CaseID Text              `json:"case_id" jsonschema:"the case's id"`
	Action SandboxCaseAction `json:"play"`
}

func (a *API) sandboxCaseTransition() op.Operation[SandboxCaseIn, brokerage.Case] {
	return write(a, op.Operation[SandboxCaseIn, brokerage.Case]{
		Name:  "partner_play_case",
		Title: "Play the operator of a case",
		Doc: "Does to a brokerage case in the sandbox what the operator does to a real one: advance takes it one state on, up to COMPLETED, " +
			"and agrees on the budget as the price; close ends it without a deal.",
		Route:   op.Route{Method: "POST", Path: root + "/sandbox/brokerage/{case_id}/{play}"},
		Scope:   credential.ScopeBroker,
		Example: SandboxCaseIn{CaseID: "bkc_06bqexample0000000000000000", Action: SandboxCaseAdvance},
	}, func(ctx context.Context, tx store.Tx, in SandboxCaseIn, now time.Time) (brokerage.Case, error) {
		p, err := inSandbox(ctx)
		if err != nil {
			return brokerage.Case{}, err
		}
		by := brokerage.Actor{Name: wiring.ActorName(p.Partner), Reason: "sandbox", Party: wiring.Broker(p)}
		c, err := a.cases.CaseIn(ctx, tx, by.Party, string(in.CaseID))
		if err != nil {
			return brokerage.Case{}, err
		}
		change := brokerage.Change{Action: brokerage.Close}
		if in.Action == SandboxCaseAdvance {
			action, ok := c.Status.Next()
			if !ok {
				return brokerage.Case{}, fault.New(fault.Conflict, "the case is %s, which is an end", c.Status)
			}
			if change.Action = action; action == brokerage.Agree {
				change.PriceCents = c.Budget
			}
		}
		if c, err = a.cases.Transition(ctx, tx, string(in.CaseID), change, by, now); err != nil {
			return brokerage.Case{}, err
		}
		c.ProgressURL, err = a.cases.ProgressURL(ctx, tx, c.CaseID)
		return c, err
	})
}

package partner

import (
	"context"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/store"
)

// EarningsIn asks for a page of commissions.
type EarningsIn struct {
	From   DateOrTime `json:"from,omitzero" jsonschema:"accrued at this date or time or later"`
	To     DateOrTime `json:"to,omitzero" jsonschema:"accrued before this date or time"`
	Limit  PageLimit  `json:"limit,omitzero" jsonschema:"entries a page; 25 when left out"`
	Cursor op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// An EarningState is the state of a commission.
type EarningState string

// Schema is the list of states.
func (EarningState) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "string", Enum: []any{string(ledger.Accrued), string(ledger.Pending), string(ledger.PaidOut), string(ledger.Reversed)},
		Description: "accrued: sold; pending: the transfer is completed; paid_out: in a payout that is paid; reversed: refunded, cancelled or charged back before that",
	}
}

// An Earning is an entry of the partner's commission ledger.
type Earning struct {
	EntryID      string       `json:"entry_id"`
	Source       Source       `json:"source"`
	State        EarningState `json:"state"`
	AmountCents  int64        `json:"amount_cents" jsonschema:"negative in an entry that takes back one that is in a payout"`
	BalanceCents int64        `json:"balance_cents" jsonschema:"sum of the entries in the currency up to this one that are not reversed"`
	Currency     string       `json:"currency"`
	OrderID      string       `json:"order_id,omitzero"`
	CaseID       string       `json:"case_id,omitzero"`
	At           time.Time    `json:"at"`
}

// EarningsOut is a page of commissions, the newest first.
type EarningsOut struct {
	Entries []Earning `json:"entries"`
	Page    Page      `json:"page"`
}

func (a *API) myCommissions() op.Operation[EarningsIn, EarningsOut] {
	return op.Operation[EarningsIn, EarningsOut]{
		Name:  "partner_my_commissions",
		Title: "List commissions",
		Doc:   "The partner's commission ledger with its running balance, the newest entry first. Needs the link to an affiliate account.",
		Route: op.Route{Method: "GET", Path: root + "/me/commissions"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: EarningsIn{From: "2026-11-01"},
		Do:      a.commissions,
	}
}

func (a *API) commissions(ctx context.Context, in EarningsIn) (out EarningsOut, err error) {
	p := party(ctx)
	if err := a.links.RequireAffiliate(ctx, p.Partner); err != nil {
		return EarningsOut{}, err
	}
	f := ledger.Filter{Owner: account(p), Limit: int(in.Limit)}
	if f.From, f.To, err = window(in.From, in.To); err != nil {
		return EarningsOut{}, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	list, after, err := beginPage[ledger.Position](a, p, "commissions", filters, in.Cursor)
	if err != nil {
		return EarningsOut{}, err
	}
	f.After = after
	var next *ledger.Position
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var all []ledger.Balanced
		all, next, err = ledger.Commissions(ctx, tx, f)
		for _, c := range all {
			out.Entries = append(out.Entries, Earning{
				c.ID, Source(c.Source), EarningState(c.State), c.Amount.Cents, c.Balance, c.Amount.Currency, c.Order, c.Case, c.At,
			})
		}
		return err
	})
	if err != nil {
		return EarningsOut{}, err
	}
	out.Page, err = endPage(list, next)
	return out, err
}

// A PaidTotal is what was paid in a currency.
type PaidTotal struct {
	Currency    string `json:"currency"`
	AmountCents int64  `json:"amount_cents"`
}

// MyPayoutsOut is a page of payouts, the newest first, with the sums of those that are paid.
type MyPayoutsOut struct {
	Payouts []Payout    `json:"payouts"`
	Totals  []PaidTotal `json:"totals" jsonschema:"sums by currency of the payouts in the window that are paid"`
	Page    Page        `json:"page"`
}

func (a *API) myPayouts() op.Operation[PayoutsIn, MyPayoutsOut] {
	return op.Operation[PayoutsIn, MyPayoutsOut]{
		Name:  "partner_my_payouts",
		Title: "List payouts with totals",
		Doc:   "What the partner is paid, of every source, the newest first, with the sums of what was paid. Needs the link to an affiliate account.",
		Route: op.Route{Method: "GET", Path: root + "/me/payouts"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: PayoutsIn{From: "2026-11-01"},
		Do: func(ctx context.Context, in PayoutsIn) (out MyPayoutsOut, err error) {
			if err := a.links.RequireAffiliate(ctx, party(ctx).Partner); err != nil {
				return MyPayoutsOut{}, err
			}
			out.Payouts, out.Page, out.Totals, err = a.payouts(ctx, "my payouts", in)
			return out, err
		},
	}
}

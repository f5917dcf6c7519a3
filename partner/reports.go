package partner

import (
	"context"
	"io"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// window reads the ends of a window.
func window(from, to DateOrTime) (start, end time.Time, err error) {
	if start, err = from.parse("from"); err != nil {
		return start, end, err
	}
	if end, err = to.parse("to"); err != nil {
		return start, end, err
	}
	if !start.IsZero() && !end.IsZero() && end.Before(start) {
		return start, end, fault.Invalid("to", "must not be before from")
	}
	return start, end, nil
}

// beginPage reads the cursor of a list, whose filters are bound to it, into a position of the list; nil: from the start.
func beginPage[P any](a *API, p credential.Party, name string, filters any, c op.Cursor) (l cursorCodec, after *P, err error) {
	if l, err = newCursorCodec(a.cfg.Keys, p, name, filters); err != nil || c == "" {
		return l, nil, err
	}
	after = new(P)
	return l, after, l.decode(c, after)
}

// endPage is the page object of an answer; next is nil at the end.
func endPage[P any](l cursorCodec, next *P) (page Page, err error) {
	if next != nil {
		page.NextCursor, err = l.encode(next)
	}
	return page, err
}

func account(p credential.Party) ledger.Owner {
	return ledger.Owner{Partner: p.Partner, Environment: string(p.Environment)}
}

// A TransactionsIn asks for a report of sales.
type TransactionsIn struct {
	Status       sale.State        `json:"status,omitzero"`
	PaymentModel sale.PaymentModel `json:"payment_model,omitzero"`
	From         DateOrTime        `json:"from,omitzero" jsonschema:"created at this date or time or later"`
	To           DateOrTime        `json:"to,omitzero" jsonschema:"created before this date or time"`
	Limit        PageLimit         `json:"limit,omitzero" jsonschema:"transactions a page; 25 when left out"`
	Cursor       op.Cursor         `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// A Transaction is a sale in a report, with the amounts that were recorded.
type Transaction struct {
	PublicID        string            `json:"public_id"`
	Domain          string            `json:"domain"`
	SalePriceCents  int64             `json:"sale_price_cents"`
	CommissionCents int64             `json:"commission_cents" jsonschema:"the service's on a sale that the partner collected, else the partner's"`
	Currency        string            `json:"currency"`
	Status          sale.State        `json:"status"`
	PaymentModel    sale.PaymentModel `json:"payment_model"`
	CreatedAt       time.Time         `json:"created_at"`
}

func newTransaction(o sale.Order) Transaction {
	return Transaction{o.PublicID, o.Domain, o.SalePriceCents, o.CommissionCents, o.Currency, o.Status, o.PaymentModel, o.CreatedAt}
}

// TransactionsOut is a page of a report and the sums of the whole report.
type TransactionsOut struct {
	Transactions []Transaction `json:"transactions"`
	Totals       []sale.Total  `json:"totals" jsonschema:"sums by currency of all that the filters select, whatever the status"`
	Page         Page          `json:"page"`
}

func (a *API) listTransactions() op.Operation[TransactionsIn, TransactionsOut] {
	return op.Operation[TransactionsIn, TransactionsOut]{
		Name:  "partner_list_transactions",
		Title: "Report sales",
		Doc: "The partner's sales, the newest first, with totals by currency over all that the filters select. Amounts are those that " +
			"were recorded, whatever became of the order: filter by status for sales that stand.",
		Route: op.Route{Method: "GET", Path: root + "/transactions"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: TransactionsIn{PaymentModel: sale.PartnerCollected, From: "2026-11-01", To: "2026-12-01"},
		Do:      a.transactions,
		CSV:     a.exportTransactions,
	}
}

func (in TransactionsIn) filter() (f sale.TransactionFilter, err error) {
	f = sale.TransactionFilter{Status: in.Status, Model: in.PaymentModel}
	f.From, f.To, err = window(in.From, in.To)
	return f, err
}

func (a *API) transactions(ctx context.Context, in TransactionsIn) (TransactionsOut, error) {
	p := party(ctx)
	f, err := in.filter()
	if err != nil {
		return TransactionsOut{}, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	list, after, err := beginPage[sale.Position](a, p, "transactions", filters, in.Cursor)
	if err != nil {
		return TransactionsOut{}, err
	}
	limit := int(in.Limit)
	if limit == 0 {
		limit = sale.DefaultPage
	}
	orders, next, err := a.sales.Transactions(ctx, wiring.Seller(p), f, limit, after)
	if err != nil {
		return TransactionsOut{}, err
	}
	out := TransactionsOut{Transactions: make([]Transaction, len(orders))}
	for i, o := range orders {
		out.Transactions[i] = newTransaction(o)
	}
	if out.Totals, err = a.sales.Totals(ctx, wiring.Seller(p), f); err != nil {
		return TransactionsOut{}, err
	}
	out.Page, err = endPage(list, next)
	return out, err
}

// exportTransactions writes all that the filters select, or what follows the cursor.
func (a *API) exportTransactions(ctx context.Context, in TransactionsIn, w io.Writer) error {
	p := party(ctx)
	f, err := in.filter()
	if err != nil {
		return err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	_, after, err := beginPage[sale.Position](a, p, "transactions", filters, in.Cursor)
	if err != nil {
		return err
	}
	table := newTable(w, "public_id", "domain", "sale_price_cents", "commission_cents", "currency", "status", "payment_model", "created_at")
	for {
		orders, next, err := a.sales.Transactions(ctx, wiring.Seller(p), f, sale.MostTransactions, after)
		if err != nil {
			return err
		}
		for _, o := range orders {
			table.row(o.PublicID, o.Domain, o.SalePriceCents, o.CommissionCents, o.Currency, string(o.Status), string(o.PaymentModel), o.CreatedAt)
		}
		if after = next; next == nil || table.err() != nil {
			return table.end()
		}
	}
}

// PayoutsIn asks for a page of payouts.
type PayoutsIn struct {
	From   DateOrTime `json:"from,omitzero" jsonschema:"created at this date or time or later"`
	To     DateOrTime `json:"to,omitzero" jsonschema:"created before this date or time"`
	Limit  PageLimit  `json:"limit,omitzero" jsonschema:"payouts a page; 25 when left out"`
	Cursor op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// A Source says what a commission is for.
type Source string

// Schema is the list of sources.
func (Source) Schema() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, source := range ledger.Sources() {
		s.Enum = append(s.Enum, string(source))
	}
	return s
}

// A PayoutStatus is the status of a payout.
type PayoutStatus string

// Schema is the list of statuses.
func (PayoutStatus) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(ledger.PayoutCreated), string(ledger.PayoutSent), string(ledger.PayoutUndelivered)}}
}

// A Payout is money paid to the partner.
type Payout struct {
	PayoutID    string       `json:"payout_id"`
	Source      Source       `json:"source"`
	AmountCents int64        `json:"amount_cents"`
	Currency    string       `json:"currency"`
	Status      PayoutStatus `json:"status"`
	CreatedAt   time.Time    `json:"created_at"`
	PaidAt      time.Time    `json:"paid_at,omitzero"`
	Reference   string       `json:"reference,omitzero" jsonschema:"of the payment"`
}

func newPayout(d ledger.Disbursement) Payout {
	p := Payout{
		PayoutID: d.ID, Source: Source(d.Source), AmountCents: d.Amount.Cents, Currency: d.Amount.Currency, Status: PayoutStatus(d.Status),
		CreatedAt: d.Created, Reference: d.Reference,
	}
	if d.Status == ledger.PayoutSent {
		p.PaidAt = d.Ended
	}
	return p
}

// PayoutsOut is a page of payouts, the newest first.
type PayoutsOut struct {
	Payouts []Payout `json:"payouts"`
	Page    Page     `json:"page"`
}

func (a *API) listPayouts() op.Operation[PayoutsIn, PayoutsOut] {
	return op.Operation[PayoutsIn, PayoutsOut]{
		Name:  "partner_list_payouts",
		Title: "List payouts",
		Doc:   "What the partner is paid: commissions of sales that the service collected, shares of brokerage deals and of referred sales, the newest first.",
		Route: op.Route{Method: "GET", Path: root + "/payouts"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: PayoutsIn{From: "2026-11-01"},
		Do: func(ctx context.Context, in PayoutsIn) (out PayoutsOut, err error) {
			out.Payouts, out.Page, _, err = a.payouts(ctx, "payouts", in)
			return out, err
		},
	}
}

// payouts reads a page of payouts, and the totals of those that are paid.
func (a *API) payouts(ctx context.Context, name string, in PayoutsIn) (all []Payout, page Page, totals []PaidTotal, err error) {
	p := party(ctx)
	f := ledger.Filter{Owner: account(p), Limit: int(in.Limit)}
	if f.From, f.To, err = window(in.From, in.To); err != nil {
		return nil, Page{}, nil, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	list, after, err := beginPage[ledger.Position](a, p, name, filters, in.Cursor)
	if err != nil {
		return nil, Page{}, nil, err
	}
	f.After = after
	var next *ledger.Position
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var found []ledger.Disbursement
		if found, next, err = ledger.Payouts(ctx, tx, f); err != nil {
			return err
		}
		for _, d := range found {
			all = append(all, newPayout(d))
		}
		sums, err := ledger.PaidTotals(ctx, tx, f.Owner, f.From, f.To)
		for _, s := range sums {
			totals = append(totals, PaidTotal{s.Currency, s.Cents})
		}
		return err
	})
	if err != nil {
		return nil, Page{}, nil, err
	}
	page, err = endPage(list, next)
	return all, page, totals, err
}

package partner

import (
	"context"
	"io"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/store"
)

// SettlementsIn asks for a page of statements.
type SettlementsIn struct {
	From   DateOrTime `json:"from,omitzero" jsonschema:"of periods that begin at this date or time or later"`
	To     DateOrTime `json:"to,omitzero" jsonschema:"of periods that begin before this date or time"`
	Limit  PageLimit  `json:"limit,omitzero" jsonschema:"statements a page; 25 when left out"`
	Cursor op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// A SettlementStatus is the status of a statement.
type SettlementStatus string

// Schema is the list of statuses.
func (SettlementStatus) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{string(ledger.StatementOpen), string(ledger.StatementPaid)}}
}

// A Settlement is a statement of what the partner owes for a month in a currency.
type Settlement struct {
	SettlementID            string           `json:"settlement_id"`
	PeriodStart             time.Time        `json:"period_start"`
	PeriodEnd               time.Time        `json:"period_end" jsonschema:"the first moment after the period"`
	Currency                string           `json:"currency"`
	GrossSoldCents          int64            `json:"gross_sold_cents" jsonschema:"prices that the partner collected"`
	RefundedCents           int64            `json:"refunded_cents" jsonschema:"prices of the orders that are reversed"`
	CommissionRetainedCents int64            `json:"commission_retained_cents"`
	AmountOwedCents         int64            `json:"amount_owed_cents"`
	OrderCount              int64            `json:"order_count" jsonschema:"orders that the partner collected"`
	ServiceCollectedCount   int64            `json:"service_collected_count" jsonschema:"orders that the service collected; nothing is owed for them"`
	Status                  SettlementStatus `json:"status"`
	ClosedAt                time.Time        `json:"closed_at"`
}

func newSettlement(s ledger.Statement) Settlement {
	return Settlement{
		s.ID, s.Period.Start, s.Period.End, s.Currency, s.Gross, s.Refunded, s.Commission, s.Owed, s.Orders, s.ServiceCollected,
		SettlementStatus(s.Status), s.Closed,
	}
}

// SettlementsOut is a page of statements, the latest period first.
type SettlementsOut struct {
	Settlements []Settlement `json:"settlements"`
	Page        Page         `json:"page"`
}

func (a *API) listSettlements() op.Operation[SettlementsIn, SettlementsOut] {
	return op.Operation[SettlementsIn, SettlementsOut]{
		Name:  "partner_list_settlements",
		Title: "List statements",
		Doc:   "What the partner owes for the sales that it collected, a statement a month and currency, the latest month first.",
		Route: op.Route{Method: "GET", Path: root + "/settlements"},
		Scope: credential.ScopeBuy, Limit: ClassReporting, Effect: op.Reads,
		Example: SettlementsIn{From: "2026-01-01"},
		Do:      a.settlements,
	}
}

func (a *API) settlements(ctx context.Context, in SettlementsIn) (out SettlementsOut, err error) {
	p := party(ctx)
	f := ledger.Filter{Owner: account(p), Limit: int(in.Limit)}
	if f.From, f.To, err = window(in.From, in.To); err != nil {
		return SettlementsOut{}, err
	}
	filters := in
	filters.Limit, filters.Cursor = 0, ""
	list, after, err := beginPage[ledger.Position](a, p, "settlements", filters, in.Cursor)
	if err != nil {
		return SettlementsOut{}, err
	}
	f.After = after
	var next *ledger.Position
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		var all []ledger.Statement
		all, next, err = ledger.Statements(ctx, tx, f)
		for _, s := range all {
			out.Settlements = append(out.Settlements, newSettlement(s))
		}
		return err
	})
	if err != nil {
		return SettlementsOut{}, err
	}
	out.Page, err = endPage(list, next)
	return out, err
}

// A SettlementIn names a statement in the path and a page of its lines.
type SettlementIn struct {
	SettlementID Text      `json:"settlement_id" jsonschema:"the statement's id"`
	Limit        PageLimit `json:"limit,omitzero" jsonschema:"lines a page; 25 when left out"`
	Cursor       op.Cursor `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// A LineType says what a line of a statement is about.
type LineType string

// Schema is the list of types.
func (LineType) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "string", Enum: []any{string(ledger.SaleLine), string(ledger.CommissionLine), string(ledger.ReversalLine)},
		Description: "sale: the partner collected the price; commission: the service did, and nothing is owed; reversal: an order of an earlier statement was charged back",
	}
}

// A SettlementLine is a line of a statement.
type SettlementLine struct {
	OrderID         string    `json:"order_id"`
	Domain          string    `json:"domain"`
	Type            LineType  `json:"type"`
	GrossCents      int64     `json:"gross_cents" jsonschema:"the price; negative in a reversal"`
	CommissionCents int64     `json:"commission_cents" jsonschema:"the service's if the partner collected the price, else the partner's"`
	OwedCents       int64     `json:"owed_cents" jsonschema:"what the partner owes the service"`
	At              time.Time `json:"at" jsonschema:"when the transfer was completed, or the order reversed"`
}

// A SettlementOut is a statement with a page of its lines, the newest first.
type SettlementOut struct {
	Settlement
	Lines []SettlementLine `json:"lines"`
	Page  Page             `json:"page"`
}

func (a *API) getSettlement() op.Operation[SettlementIn, SettlementOut] {
	return op.Operation[SettlementIn, SettlementOut]{
		Name:  "partner_get_settlement",
		Title: "Look at a statement",
		Doc:   "One of the partner's statements with its lines, the newest first: an order each.",
		Route: op.Route{Method: "GET", Path: root + "/settlements/{settlement_id}"},
		Scope: credential.ScopeBuy, Limit: ClassReporting, Effect: op.Reads,
		Example: SettlementIn{SettlementID: "stl_06bqexample0000000000000000"},
		Do:      a.settlement,
		CSV:     a.exportSettlement,
	}
}

// linesOf reads a page of the lines of one of the caller's statements. It fails with [fault.NotFound].
func (a *API) linesOf(ctx context.Context, id string, limit int, after *ledger.Position) (s ledger.Statement, lines []ledger.Line, next *ledger.Position, err error) {
	err = a.cfg.DB.Read(ctx, func(tx store.Tx) error {
		if s, err = ledger.StatementOf(ctx, tx, account(party(ctx)), id); err != nil {
			return err
		}
		lines, next, err = ledger.Lines(ctx, tx, id, limit, after)
		return err
	})
	return s, lines, next, err
}

func (a *API) settlement(ctx context.Context, in SettlementIn) (SettlementOut, error) {
	list, after, err := beginPage[ledger.Position](a, party(ctx), "settlement", in.SettlementID, in.Cursor)
	if err != nil {
		return SettlementOut{}, err
	}
	s, lines, next, err := a.linesOf(ctx, string(in.SettlementID), int(in.Limit), after)
	if err != nil {
		return SettlementOut{}, err
	}
	out := SettlementOut{Settlement: newSettlement(s), Lines: make([]SettlementLine, len(lines))}
	for i, l := range lines {
		out.Lines[i] = SettlementLine{l.Order, l.Domain, LineType(l.Type), l.Gross, l.Commission, l.Owed, l.At}
	}
	out.Page, err = endPage(list, next)
	return out, err
}

// exportSettlement writes all lines of a statement, or those that follow the cursor.
func (a *API) exportSettlement(ctx context.Context, in SettlementIn, w io.Writer) error {
	_, after, err := beginPage[ledger.Position](a, party(ctx), "settlement", in.SettlementID, in.Cursor)
	if err != nil {
		return err
	}
	var table *table
	for {
		s, lines, next, err := a.linesOf(ctx, string(in.SettlementID), ledger.MostLines, after)
		if err != nil {
			return err
		}
		if table == nil {
			table = newTable(w, "order_id", "domain", "type", "gross_cents", "commission_cents", "owed_cents", "currency", "at")
		}
		for _, l := range lines {
			table.row(l.Order, l.Domain, string(l.Type), l.Gross, l.Commission, l.Owed, s.Currency, l.At)
		}
		if after = next; next == nil || table.err() != nil {
			return table.end()
		}
	}
}

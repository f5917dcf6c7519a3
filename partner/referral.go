package partner

import (
	"context"
	"net/http"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/store"
)

// referrer is who signed the request, if it is linked to an affiliate account. It fails with [fault.Forbidden].
func (a *API) referrer(ctx context.Context) (credential.Party, error) {
	p := party(ctx)
	return p, a.links.RequireAffiliate(ctx, p.Partner)
}

// Label is a partner's own name of a link.
type Label string

// Schema is a bounded text.
func (Label) Schema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MaxLength: new(referral.MaxLabel)}
}

// A LinkIn asks for a tracked link.
type LinkIn struct {
	Type    referral.Type        `json:"type" jsonschema:"where it leads: to the home page, to a domain for sale, or to a product"`
	Domain  DomainText           `json:"domain,omitzero" jsonschema:"of a link of type domain"`
	Product referral.ProductName `json:"product,omitzero" jsonschema:"of a link of type product"`
	Label   Label                `json:"label,omitzero" jsonschema:"the partner's own name for it"`
}

func (a *API) createLink() op.Operation[LinkIn, referral.Link] {
	return write(a, op.Operation[LinkIn, referral.Link]{
		Name:  "partner_create_link",
		Title: "Create a tracked link",
		Doc: "A link that leads to the home page, to a domain for sale or to a product, and counts who follows it. A checkout by the same " +
			"browser within 30 days earns the partner its referral share. The partner must be linked to an affiliate account.",
		Route:   op.Route{Method: "POST", Path: root + "/links", Status: http.StatusCreated},
		Scope:   credential.ScopeRefer,
		Example: LinkIn{Type: referral.Domain, Domain: "brewhaven.example", Label: "newsletter"},
	}, func(ctx context.Context, tx store.Tx, in LinkIn, now time.Time) (referral.Link, error) {
		p := party(ctx)
		if err := a.links.RequireAffiliateIn(ctx, tx, p.Partner); err != nil {
			return referral.Link{}, err
		}
		r := referral.Request{Type: in.Type, Product: in.Product, Label: string(in.Label)}
		if in.Domain != "" {
			var err error
			if r.Domain, err = in.Domain.parse("domain"); err != nil {
				return referral.Link{}, err
			}
		}
		return a.links.Create(ctx, tx, wiring.Referrer(p), r, now)
	})
}

// LinksIn asks for a page of links.
type LinksIn struct {
	Limit  PageLimit `json:"limit,omitzero" jsonschema:"links a page; 25 when left out"`
	Cursor op.Cursor `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// LinksOut is a page of links, the newest first.
type LinksOut struct {
	Links []referral.LinkReport `json:"links"`
	Page  Page                  `json:"page"`
}

func (a *API) listLinks() op.Operation[LinksIn, LinksOut] {
	return op.Operation[LinksIn, LinksOut]{
		Name:  "partner_list_links",
		Title: "List tracked links",
		Doc:   "The partner's links, the newest first, with their clicks and sales.",
		Route: op.Route{Method: "GET", Path: root + "/links"},
		Scope: credential.ScopeRefer, Limit: ClassReporting, Effect: op.Reads,
		Example: LinksIn{Limit: 10},
		Do: func(ctx context.Context, in LinksIn) (LinksOut, error) {
			p, err := a.referrer(ctx)
			if err != nil {
				return LinksOut{}, err
			}
			codec, after, err := a.after(p, "links", nil, in.Cursor)
			if err != nil {
				return LinksOut{}, err
			}
			page, err := a.links.Links(ctx, wiring.Referrer(p), after, int(in.Limit))
			if err != nil {
				return LinksOut{}, err
			}
			out := LinksOut{Links: page.Links}
			if page.Next != nil {
				out.Page.NextCursor, err = codec.encode(page.Next)
			}
			return out, err
		},
	}
}

// after reads the cursor of a list of package referral; an empty one is the beginning.
func (a *API) after(p credential.Party, name string, filters any, c op.Cursor) (codec cursorCodec, after *referral.Position, err error) {
	if codec, err = newCursorCodec(a.cfg.Keys, p, name, filters); err != nil || c == "" {
		return codec, nil, err
	}
	after = new(referral.Position)
	return codec, after, codec.decode(c, after)
}

// A WindowIn is a window of time; each end may be missing.
type WindowIn struct {
	From DateOrTime `json:"from,omitzero" jsonschema:"from this date or time on"`
	To   DateOrTime `json:"to,omitzero" jsonschema:"before this date or time"`
}

func (in WindowIn) window() (w referral.Window, err error) {
	w.From, w.To, err = window(in.From, in.To)
	return w, err
}

func (a *API) clicks() op.Operation[WindowIn, referral.Clicks] {
	return op.Operation[WindowIn, referral.Clicks]{
		Name:  "partner_referral_clicks",
		Title: "Count referral clicks",
		Doc:   "The clicks on the partner's links, by day: once a visitor, link and day, without crawlers and prefetches. They appear within seconds.",
		Route: op.Route{Method: "GET", Path: root + "/me/clicks"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: WindowIn{From: "2026-11-01"},
		Do: func(ctx context.Context, in WindowIn) (referral.Clicks, error) {
			p, w, err := a.reported(ctx, in)
			if err != nil {
				return referral.Clicks{}, err
			}
			return a.links.Clicks(ctx, wiring.Referrer(p), w)
		},
	}
}

// reported is who asks for a report, and its window.
func (a *API) reported(ctx context.Context, in WindowIn) (p credential.Party, w referral.Window, err error) {
	if w, err = in.window(); err != nil {
		return p, w, err
	}
	p, err = a.referrer(ctx)
	return p, w, err
}

// SalesIn asks for a page of referred sales.
type SalesIn struct {
	From   DateOrTime `json:"from,omitzero" jsonschema:"sold at this date or time or later"`
	To     DateOrTime `json:"to,omitzero" jsonschema:"sold before this date or time"`
	Limit  PageLimit  `json:"limit,omitzero" jsonschema:"sales a page; 25 when left out"`
	Cursor op.Cursor  `json:"cursor,omitzero" jsonschema:"next_cursor of the page before"`
}

// SalesOut is a page of referred sales, the newest first.
type SalesOut struct {
	Sales []referral.Sale `json:"sales"`
	Page  Page            `json:"page"`
}

func (a *API) referredSales() op.Operation[SalesIn, SalesOut] {
	return op.Operation[SalesIn, SalesOut]{
		Name:  "partner_referred_sales",
		Title: "List referred sales",
		Doc: "The sales by the partner's links, the newest first, with the share as it accrued and the buyer masked. What became of a share " +
			"is in the commissions.",
		Route: op.Route{Method: "GET", Path: root + "/me/sales"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: SalesIn{From: "2026-11-01", Limit: 10},
		Do: func(ctx context.Context, in SalesIn) (SalesOut, error) {
			p, w, err := a.reported(ctx, WindowIn{in.From, in.To})
			if err != nil {
				return SalesOut{}, err
			}
			codec, after, err := a.after(p, "sales", WindowIn{in.From, in.To}, in.Cursor)
			if err != nil {
				return SalesOut{}, err
			}
			page, err := a.links.Sales(ctx, wiring.Referrer(p), w, after, int(in.Limit))
			if err != nil {
				return SalesOut{}, err
			}
			out := SalesOut{Sales: page.Sales}
			if page.Next != nil {
				out.Page.NextCursor, err = codec.encode(page.Next)
			}
			return out, err
		},
	}
}

func (a *API) analytics() op.Operation[WindowIn, referral.Analytics] {
	return op.Operation[WindowIn, referral.Analytics]{
		Name:  "partner_analytics",
		Title: "Referral analytics",
		Doc: "From clicks by checkouts to sales, in all and by day, over at most 400 days; the last 30 when no window is given. Clicks count by " +
			"whole days.",
		Route: op.Route{Method: "GET", Path: root + "/analytics"},
		Scope: credential.ScopeReport, Limit: ClassReporting, Effect: op.Reads,
		Example: WindowIn{From: "2026-11-01", To: "2026-12-01"},
		Do: func(ctx context.Context, in WindowIn) (referral.Analytics, error) {
			p, w, err := a.reported(ctx, in)
			if err != nil {
				return referral.Analytics{}, err
			}
			now, err := a.time(ctx, p)
			if err != nil {
				return referral.Analytics{}, err
			}
			return a.links.Analytics(ctx, wiring.Referrer(p), w, now)
		},
	}
}

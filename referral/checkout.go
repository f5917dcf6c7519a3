package referral

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A Checkout is the session in which a browser begins to pay.
type Checkout struct {
	ID          string // chk_…
	Partner     string // whose session it is
	Environment string // SANDBOX or LIVE
}

// Checkout notes, within a transaction of the caller, by which link the browser of a checkout came. Call it whenever a browser
// begins to pay, with the value of its cookie, or "" where it has none; the last link counts. Nothing is noted for a cookie
// that is forged or older than [CookieLife] by the clock of the link's partner, for a link of the session's own partner or of
// the other environment, and for a partner that is no affiliate any more; those are no errors.
func (s *Service) Checkout(ctx context.Context, tx store.Tx, cookie string, c Checkout) error {
	code, at, ok, err := s.readCookie(ctx, cookie)
	if err != nil {
		return fmt.Errorf("read a referral cookie: %w", err)
	}
	if !ok {
		return nil
	}
	l, err := selectLinkOf(ctx, tx, code)
	if store.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up a link: %w", err)
	}
	now, err := s.cfg.Clock(ctx, tx, l.party())
	if err != nil {
		return err
	}
	earns, err := isAffiliate(ctx, tx, l.Partner)
	if err != nil {
		return fmt.Errorf("look up an affiliate: %w", err)
	}
	if !earns || now.Sub(at) > CookieLife || l.Environment != c.Environment || l.Partner == c.Partner {
		err = deleteCheckout(ctx, tx, c.ID)
	} else {
		err = upsertCheckout(ctx, tx, c.ID, l, now)
	}
	if err != nil {
		return fmt.Errorf("note a checkout: %w", err)
	}
	return nil
}

// An Order is a sale that may have been referred.
type Order struct {
	ID         string // ord_…
	Checkout   string // the session in which it was bought
	Domain     string // A-label form
	Price      money.Amount
	BuyerEmail string // is stored masked
}

// Attribute accrues the share of the partner whose link led to the order, in the order's transaction: nothing, where
// [Service.Checkout] noted no link for its session. An order is attributed once.
func (s *Service) Attribute(ctx context.Context, tx store.Tx, o Order) error {
	linkID, p, err := selectCheckout(ctx, tx, o.Checkout)
	if store.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up a checkout: %w", err)
	}
	now, err := s.cfg.Clock(ctx, tx, p)
	if err != nil {
		return err
	}
	share, err := s.cfg.Books.Referred(ctx, tx, p, o.ID, o.Price, now)
	if err != nil {
		return fmt.Errorf("accrue a referral share: %w", err)
	}
	sale := Sale{
		PublicID: o.ID, Buyer: MaskEmail(o.BuyerEmail), Domain: o.Domain, AmountCents: o.Price.Cents, CommissionCents: share.Cents,
		Currency: o.Price.Currency, At: store.Time(store.Micros(now)),
	}
	if err := insertSale(ctx, tx, linkID, p, sale); err != nil {
		return fmt.Errorf("record a referred sale: %w", err)
	}
	return nil
}

// MaskEmail shows the first letters of an address and its top-level domain: "jane@example.com" is "j•••@e•••.com". What is no
// address is "•••".
func MaskEmail(address string) string {
	const hidden = "•••"
	local, host, ok := cutLast(address, '@')
	if !ok || local == "" || host == "" {
		return hidden
	}
	masked := first(local) + hidden + "@" + first(host) + hidden
	if dot := strings.LastIndexByte(host, '.'); dot > 0 {
		masked += host[dot:]
	}
	return masked
}

func first(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return s[:size]
}

package checkout

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/payment"
	"github.com/namewharf/namewharf/payment/testprovider"
	"github.com/namewharf/namewharf/store"
)

// A View is what the page of a session shows.
type View struct {
	Session Session
	Partner string       // name of the partner; empty: the service sells by itself
	Test    bool         // no real money moves
	Step    Step         // what the buyer can do
	Price   money.Amount // what the buyer is asked for, or paid
	Before  money.Amount // what an earlier form of the page said, where the price has changed since
	Offer   string       // for the form: fixes the price for [OfferLife]
	Back    string       // the address of the partner to which the buyer returns
	Page    string       // of the provider, where the buyer pays
}

// A Step is what is next for a buyer.
type Step string

// The steps.
const (
	Ask      Step = "ask"      // for the e-mail address, and go on to pay
	GoPay    Step = "pay"      // at View.Page
	Wait     Step = "wait"     // the provider has not confirmed the payment yet
	Done     Step = "done"     // paid: return to View.Back
	NotPaid  Step = "not paid" // nothing was charged; the buyer may try again
	Lost     Step = "lost"     // somebody else was faster; nothing was charged
	SoldOut  Step = "sold"     // the name cannot be had; nothing was paid
	Reversed Step = "reversed" // it was paid, and the money went back
)

// pageTime bounds what a page waits for a provider. The payment goes on by itself.
const pageTime = 8 * time.Second

// View returns what the page of a link shows. It fails with [fault.Validation] for a link that is forged or another service's, and
// with [fault.Gone] for one that has expired. Both texts name nothing of the session.
func (s *Service) View(ctx context.Context, pt string) (View, error) {
	v, now, err := s.visit(ctx, pt)
	if err != nil || v.Step != Ask {
		return v, err
	}
	if !now.Before(v.Session.ExpiresAt) {
		return View{}, errExpired()
	}
	return s.ask(ctx, v, now)
}

// visit reads the session of a link, expired or not, and decides what is next as far as its row tells. It returns the time by the
// partner's clock.
func (s *Service) visit(ctx context.Context, pt string) (v View, now time.Time, err error) {
	l, err := s.readLink(pt)
	if err != nil {
		return View{}, time.Time{}, err
	}
	var seller Seller
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		v.Session, seller, err = s.find(ctx, tx, l.session, l.partner, l.environment)
		return err
	})
	switch {
	case fault.Is(err, fault.NotFound), err == nil && seller.Suspended: // removed with time, or closed
		return View{}, time.Time{}, errExpired()
	case err != nil:
		return View{}, time.Time{}, fmt.Errorf("read the session of a checkout link: %w", err)
	}
	v.Price, v.Test, v.Step, v.Back = v.Session.Price, s.Testing(v.Session.Environment), Ask, v.Session.CancelURL
	if v.Session.Partner != OwnPartner {
		v.Partner = seller.Name
	}
	switch v.Session.Status {
	case Paid:
		v.Step, v.Back = Done, v.Session.returnURL()
	case Refunded:
		v.Step = Reversed
	}
	return v, seller.Now, nil
}

// Testing reports whether no real money moves in an environment.
func (s *Service) Testing(environment string) bool {
	p := s.cfg.Providers[environment]
	return environment == sandbox || p != nil && p.Name() == testprovider.Name
}

// ask completes the view of a session that can be paid.
func (s *Service) ask(ctx context.Context, v View, now time.Time) (View, error) {
	var err error
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		v.Price, err = s.price(ctx, tx, v.Session, now)
		return err
	})
	switch {
	case notForSale(err):
		v.Step = SoldOut
		return v, nil
	case err != nil:
		return View{}, fault.Wrap("price of a checkout session", err)
	case !s.Takes(v.Session.Environment):
		return View{}, errNoPayments()
	}
	v.Offer = offer{v.Price, now.Add(OfferLife)}.sign(s.cfg.Secret, v.Session.ID)
	return v, nil
}

// A Form is what the buyer sends from the page of a session.
type Form struct {
	Offer string
	Email string
	Visit string // of a tracked link, from the browser's cookie; empty: none
}

// Pay takes the form of the page and goes on to the payment: the Step of the view is GoPay, with the address of the provider's page.
// It is Ask again, with Before set, where the price has changed since a form that is older than [OfferLife]. It fails with
// [fault.Validation] on email, and on a form that is not of this session; with [fault.Unavailable] where the provider cannot be
// reached now; and as [Service.View] does.
func (s *Service) Pay(ctx context.Context, pt string, f Form) (View, error) {
	v, now, err := s.visit(ctx, pt)
	if err != nil || v.Step != Ask {
		return v, err
	}
	if !now.Before(v.Session.ExpiresAt) {
		return View{}, errExpired()
	}
	offered, err := readOffer(s.cfg.Secret, v.Session.ID, f.Offer)
	if err != nil {
		return View{}, err
	}
	if v, err = s.ask(ctx, v, now); err != nil || v.Step != Ask {
		return v, err
	}
	if !now.Before(offered.expires) && offered.price != v.Price {
		v.Before = offered.price
		return v, nil
	}
	if now.Before(offered.expires) {
		v.Price = offered.price
	}
	if err := s.cfg.Sales.CheckEmail("email", f.Email); err != nil {
		v.Session.BuyerEmail = f.Email
		return v, err
	}
	err = s.cfg.DB.Tx(ctx, func(tx store.Tx) error {
		if err := setBuyer(ctx, tx, v.Session.ID, f.Email); err != nil {
			return err
		}
		return s.cfg.Referrals.Began(ctx, tx, f.Visit, v.Session)
	})
	if err != nil {
		return View{}, fmt.Errorf("note the buyer of a checkout session: %w", err)
	}
	v.Session.BuyerEmail = f.Email
	return s.start(ctx, v, pt)
}

// start begins the payment at v.Price, or finds the one that is in progress.
func (s *Service) start(ctx context.Context, v View, pt string) (View, error) {
	address := func(path, id string) string {
		return s.cfg.BaseURL + "/checkout/" + path + "?" + url.Values{"pt": {pt}, "payment": {id}}.Encode()
	}
	call, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	p, err := s.payments.Start(call, payment.Request{
		Partner: v.Session.Partner, Environment: v.Session.Environment, Purchase: v.Session.ID, Amount: v.Price,
		Title: v.Session.Domain.Unicode(), Email: v.Session.BuyerEmail,
		Pages: func(id string) (string, string) { return address("return", id), address("cancel", id) },
	})
	switch {
	case errors.Is(err, payment.ErrNoProvider):
		return View{}, errNoPayments()
	case errors.Is(err, payment.ErrFinal), errors.Is(err, payment.ErrDeclined):
		return View{}, fault.New(fault.PaymentUnavailable, "This amount cannot be paid with our payment provider").WithCause(err).
			WithHint("nothing was charged")
	case errors.Is(err, payment.ErrUnavailable), errors.Is(err, payment.ErrUnknown), err != nil && call.Err() != nil && ctx.Err() == nil:
		return View{}, fault.New(fault.Unavailable, "The payment provider cannot be reached now").WithCause(err).
			WithHint("nothing was charged; try again in a minute").WithRetry(time.Minute)
	case err != nil:
		return View{}, fault.Wrap("start a payment", err)
	}
	if p.State == payment.Started {
		v.Step, v.Page = GoPay, p.PageURL
		return v, nil
	}
	return s.outcome(ctx, pt, p)
}

// Return is for the browser that comes back from the provider: it asks for the status of the payment and returns what is next. The
// link may have expired meanwhile. It fails with [fault.Validation] for a forged link and for a payment that is not of the session.
func (s *Service) Return(ctx context.Context, pt, id string) (View, error) {
	return s.come(ctx, pt, id, s.payments.Advance)
}

// Cancel is for the browser that comes back without paying: it ends the payment, unless it was made all the same, and leaves the
// session open. It fails as [Service.Return] does.
func (s *Service) Cancel(ctx context.Context, pt, id string) (View, error) {
	v, err := s.come(ctx, pt, id, s.payments.Cancel)
	if err == nil && v.Step == Wait { // the provider does not answer: what it holds is let go when it does
		v.Step = NotPaid
	}
	return v, err
}

func (s *Service) come(ctx context.Context, pt, id string, do func(context.Context, string) (payment.Payment, error)) (View, error) {
	l, err := s.readLink(pt)
	if err != nil {
		return View{}, err
	}
	p, err := s.payments.Get(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && p.Purchase != l.session {
		return View{}, errForged()
	}
	if err != nil {
		return View{}, err
	}
	call, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	if after, err := do(call, id); err == nil {
		p = after
	} else if ctx.Err() != nil || call.Err() == nil {
		return View{}, err
	}
	return s.outcome(ctx, pt, p)
}

// outcome is what is next after a payment.
func (s *Service) outcome(ctx context.Context, pt string, p payment.Payment) (View, error) {
	v, now, err := s.visit(ctx, pt)
	if err != nil || v.Step != Ask {
		return v, err
	}
	switch {
	case p.Lost():
		v.Step = Lost
	case p.State == payment.Failed, p.State == payment.Started && p.Todo == payment.ToRelease:
		v.Step = NotPaid
		if !now.Before(v.Session.ExpiresAt) {
			v.Step = SoldOut
		}
	case p.State == payment.Started:
		v.Step = Wait
	}
	return v, nil
}

// returnURL is where the buyer goes after paying: the partner's address with order and session added to its query.
func (s Session) returnURL() string {
	u, err := url.Parse(s.ReturnURL)
	if err != nil { // it was checked when the session was made
		return s.ReturnURL
	}
	more := "order=" + url.QueryEscape(s.OrderID) + "&session=" + url.QueryEscape(s.ID)
	if u.RawQuery != "" {
		more = u.RawQuery + "&" + more
	}
	u.RawQuery = more
	return u.String()
}

// OfPayment returns the addresses to which the browser of a payment's buyer may be redirected in the end, for a content security
// policy. It fails with [fault.NotFound].
func (s *Service) OfPayment(ctx context.Context, id string) (addresses []string, err error) {
	p, err := s.payments.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	err = s.cfg.DB.Read(ctx, func(tx store.Tx) error {
		session, err := selectSession(ctx, tx, p.Purchase)
		addresses = []string{session.ReturnURL, session.CancelURL}
		return err
	})
	if store.IsNoRows(err) {
		return nil, fault.New(fault.NotFound, "there is no such payment")
	}
	return addresses, err
}

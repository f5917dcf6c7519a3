package pages

import (
	"context"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
)

// Cases are brokerage cases as their buyers see them; [brokerage.Service] is one.
type Cases interface {
	Progress(ctx context.Context, token string) (brokerage.Progress, error)
	Offer(ctx context.Context, token string, cents int64, message string) error
}

// progressPath is the pattern of progress pages.
const progressPath = brokerage.ProgressPath + "{token}"

// progressData is the data of a progress page.
type progressData struct {
	brokerage.Progress
	Unicode string // of the domain, where it differs
	State   string
	Path    string // of this page
	Left    int    // offers that may still be made
	Amount  string // as it was typed
	Message string

	MaxMessage int
}

// stateWords are the states of a case for its buyer.
var stateWords = map[brokerage.State]string{
	brokerage.Open:        "Your request has come in. Next, the owner is written to.",
	brokerage.Contacted:   "The owner has been written to. Now we wait for an answer.",
	brokerage.Negotiating: "The owner has answered. The price is being negotiated.",
	brokerage.Agreed:      "There is an agreement on the price. The domain is about to be transferred.",
	brokerage.Completed:   "The domain has been acquired.",
	brokerage.Closed:      "This case is closed. The domain could not be acquired.",
}

// stateNames are the states in a word or two.
var stateNames = map[brokerage.State]string{
	brokerage.Open: "Request received", brokerage.Contacted: "Owner contacted", brokerage.Negotiating: "Negotiating", brokerage.Agreed: "Price agreed",
	brokerage.Completed: "Acquired", brokerage.Closed: "Closed",
}

func (p *Pages) progress(req *request) (response, error) {
	return p.progressPage(req, progressData{})
}

// progressPage reads the case of the token in the path. The page holds nothing about the owner or the partner.
func (p *Pages) progressPage(req *request, d progressData) (response, error) {
	req.w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	found, err := p.partners.Cases.Progress(req.Context(), req.PathValue("token"))
	if err != nil {
		return response{}, err
	}
	d.Progress, d.State, d.Path = found, stateWords[found.Status], req.URL.Path
	d.Left, d.MaxMessage = brokerage.MaxOffers-len(found.Offers), brokerage.MaxNote
	if name, err := fqdn.Parse(found.Domain); err == nil && name.IDN() {
		d.Unicode = name.Unicode()
	}
	return response{page: "progress", title: "Acquiring " + found.Domain, data: d, private: true}, nil
}

// makeOffer records an offer and shows the page anew, so that loading it again sends nothing.
func (p *Pages) makeOffer(req *request) (response, error) {
	d := progressData{Amount: req.PostForm.Get("amount"), Message: req.PostForm.Get("message")}
	cents, err := offerOf(d.Amount)
	if err == nil {
		err = p.partners.Cases.Offer(req.Context(), req.PathValue("token"), cents, d.Message)
	}
	if err == nil {
		return seeOther(req.URL.Path), nil
	}
	a, ours := p.progressPage(req, d)
	if ours != nil {
		return response{}, ours
	}
	return formProblem(a, err)
}

// offerOf is an amount as a person writes it, in cents.
func offerOf(text string) (int64, error) {
	amount, err := priceOf(text)
	if err != nil || amount.Cents > money.MaxCents {
		return 0, fault.Invalid("amount", "must be an amount such as 1200 or 1200.50")
	}
	return amount.Cents, nil
}

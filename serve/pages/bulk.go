package pages

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/tools"
)

const bulkPath = domainsPath + "/bulk"

// addOp is the operation that the form offers beside those of a [portfolio.Change].
const addOp portfolio.Op = "add"

// A bulkOp is an operation that the form offers.
type bulkOp struct {
	Op    portfolio.Op
	Words string
}

var bulkOps = []bulkOp{
	{addOp, "Add to your list"},
	{portfolio.Verify, "Check the proof"},
	{portfolio.List, "Offer at the price"},
	{portfolio.SetPrice, "Change the price of what is offered"},
	{portfolio.Unlist, "Stop offering"},
	{portfolio.Refresh, "Ask the registry again"},
	{portfolio.Remove, "Remove from your list"},
}

// A bulkForm is the data of the bulk page.
type bulkForm struct {
	Ops     []bulkOp
	Op      portfolio.Op
	Names   string // as entered
	Price   string
	Most    int
	Ready   bool // the preview is shown, so the form can be applied
	Outcome *bulkResult
}

// A bulkResult is the result of a change, or its preview.
type bulkResult struct {
	Preview     bool
	Total, Well int
	Failed      []failedName
}

// A failedName is a name that could not be changed, as entered, and the reason.
type failedName struct{ Name, Why string }

func (p *Pages) bulk(*request) (response, error) { return bulkPage(bulkForm{Op: addOp}), nil }

func bulkPage(h bulkForm) response {
	h.Ops, h.Most = bulkOps, portfolio.MaxChange
	return response{page: "bulk", title: "Change many names", data: h}
}

// changeMany previews a change or applies it. Names that failed stay in the form to be corrected.
func (p *Pages) changeMany(req *request) (response, error) {
	h := bulkForm{Op: portfolio.Op(req.PostForm.Get("op")), Names: req.PostForm.Get("names"), Price: req.PostForm.Get("price")}
	change, given, err := h.change()
	if err != nil {
		return formProblem(bulkPage(h), err)
	}
	change.DryRun = req.PostForm.Get("do") != "apply"
	if err = p.charge(req, tools.ChangeCost(change.Op, len(given))); err == nil {
		h.Outcome, err = p.apply(req.Context(), req.session.AccountID, change, given)
	}
	if err != nil {
		return formProblem(bulkPage(h), err)
	}
	h.Ready = change.DryRun && h.Outcome.Well > 0
	if !change.DryRun {
		left := make([]string, len(h.Outcome.Failed))
		for i, f := range h.Outcome.Failed {
			left[i] = f.Name
		}
		h.Names = strings.Join(left, "\n")
	}
	return bulkPage(h), nil
}

// change returns the change of the form without its names, and the names as entered.
func (h bulkForm) change() (portfolio.Change, []string, error) {
	c := portfolio.Change{Op: h.Op}
	given := strings.FieldsFunc(h.Names, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	switch {
	case !slices.ContainsFunc(bulkOps, func(d bulkOp) bool { return d.Op == h.Op }):
		return c, nil, fault.New(fault.Validation, "This form has no action")
	case len(given) == 0:
		return c, nil, fault.Invalid("names", "is empty")
	case len(given) > portfolio.MaxChange:
		return c, nil, fault.Invalid("names", "may hold %d names; these are %d", portfolio.MaxChange, len(given))
	}
	if h.Op == portfolio.List || h.Op == portfolio.SetPrice {
		price, err := priceOf(h.Price)
		if err != nil {
			return c, nil, err
		}
		c.Price = price
	}
	return c, given, nil
}

// Commas separate thousands only: one that is meant as a decimal point must not multiply the price.
var writtenPrice = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]{1,2})?$`)

// priceOf parses an amount in USD as a person writes it.
func priceOf(text string) (money.Amount, error) {
	text = strings.TrimSpace(text)
	cents, err := money.ParseDecimal(text)
	if err != nil || cents < 1 || !writtenPrice.MatchString(text) {
		return money.Amount{}, fault.Invalid("price", "must be an amount such as 1200 or 1200.50")
	}
	return money.USD(cents), nil
}

// apply applies a change to the valid names among given, or previews it.
func (p *Pages) apply(ctx context.Context, account string, c portfolio.Change, given []string) (*bulkResult, error) {
	errs, places := make([]error, len(given)), []int{}
	for i, text := range given {
		name, err := fqdn.Parse(text)
		if err != nil {
			errs[i] = fault.Invalid("domain", "%s", err)
			continue
		}
		c.Names, places = append(c.Names, name), append(places, i)
	}
	do := p.portfolios.Apply
	if c.Op == addOp {
		do = p.addAll
	}
	done, err := do(ctx, account, c)
	if err != nil {
		return nil, err
	}
	for i, err := range done {
		errs[places[i]] = err
	}
	out := &bulkResult{Preview: c.DryRun, Total: len(given)}
	for i, err := range errs {
		if err == nil {
			out.Well++
			continue
		}
		said, _, err := problemOf(nameProblem(c.Op, err))
		if err != nil {
			return nil, err
		}
		out.Failed = append(out.Failed, failedName{given[i], said.Text})
	}
	return out, nil
}

// nameProblem rewords errors of the portfolio, which are for programs, for the page.
func nameProblem(did portfolio.Op, err error) error {
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "This name is not on your list").WithHint("add it first")
	case did == portfolio.SetPrice && fault.Is(err, fault.Conflict):
		return fault.New(fault.Conflict, "This name is not offered")
	}
	return err
}

// addAll adds the names to the account's list. A preview checks nothing more.
func (p *Pages) addAll(ctx context.Context, account string, c portfolio.Change) ([]error, error) {
	errs := make([]error, len(c.Names))
	for i, name := range c.Names {
		if c.DryRun {
			continue
		}
		if _, errs[i] = p.portfolios.Add(ctx, account, name); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return errs, nil
}

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

// add is what can be done to many names beside what a [portfolio.Change] does.
const add portfolio.Op = "add"

// A deed is an op as the form offers it.
type deed struct {
	Op    portfolio.Op
	Words string
}

var deeds = []deed{
	{add, "Add to your list"},
	{portfolio.Verify, "Check the proof"},
	{portfolio.List, "Offer at the price"},
	{portfolio.SetPrice, "Change the price of what is offered"},
	{portfolio.Unlist, "Stop offering"},
	{portfolio.Refresh, "Ask the registry again"},
	{portfolio.Remove, "Remove from your list"},
}

// A heap is the page on which many names are changed.
type heap struct {
	Ops     []deed
	Op      portfolio.Op
	Names   string // as they were pasted
	Price   string
	Most    int
	Ready   bool // it was shown what would happen
	Outcome *outcome
}

// An outcome is what became of the names, or would.
type outcome struct {
	Rehearsed   bool
	Total, Well int
	Failed      []failed
}

// A failed is a name that could not be changed, as it was given.
type failed struct{ Name, Why string }

func (p *Pages) bulk(*visit) (answer, error) { return bulkPage(heap{Op: add}), nil }

func bulkPage(h heap) answer {
	h.Ops, h.Most = deeds, portfolio.MaxChange
	return answer{page: "bulk", title: "Change many names", data: h}
}

// changeMany shows what would become of the names, or does it. What failed stays in the form to be mended.
func (p *Pages) changeMany(v *visit) (answer, error) {
	h := heap{Op: portfolio.Op(v.PostForm.Get("op")), Names: v.PostForm.Get("names"), Price: v.PostForm.Get("price")}
	change, given, err := h.change()
	if err != nil {
		return again(bulkPage(h), err)
	}
	change.DryRun = v.PostForm.Get("do") != "apply"
	if err = p.charge(v, tools.ChangeCost(change.Op, len(given))); err == nil {
		h.Outcome, err = p.apply(v.Context(), v.session.AccountID, change, given)
	}
	if err != nil {
		return again(bulkPage(h), err)
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

// change is what the form asks for, without the names, and those as they were given.
func (h heap) change() (portfolio.Change, []string, error) {
	c := portfolio.Change{Op: h.Op}
	given := strings.FieldsFunc(h.Names, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	switch {
	case !slices.ContainsFunc(deeds, func(d deed) bool { return d.Op == h.Op }):
		return c, nil, fault.New(fault.Validation, "This form does not say what to do")
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

// A comma stands between thousands only: one that is meant as a decimal point must not multiply the price.
var writtenPrice = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(,[0-9]{3})+)(\.[0-9]{1,2})?$`)

// priceOf is an amount as a person writes it.
func priceOf(text string) (money.Amount, error) {
	text = strings.TrimSpace(text)
	cents, err := money.ParseDecimal(text)
	if err != nil || cents < 1 || !writtenPrice.MatchString(text) {
		return money.Amount{}, fault.Invalid("price", "must be an amount such as 1200 or 1200.50")
	}
	return money.USD(cents), nil
}

// apply does the change to the names that are some, or rehearses it.
func (p *Pages) apply(ctx context.Context, account string, c portfolio.Change, given []string) (*outcome, error) {
	errs, places := make([]error, len(given)), []int{}
	for i, text := range given {
		name, err := fqdn.Parse(text)
		if err != nil {
			errs[i] = fault.Invalid("domain", "%s", err)
			continue
		}
		c.Names, places = append(c.Names, name), append(places, i)
	}
	do := p.names.Apply
	if c.Op == add {
		do = p.addAll
	}
	done, err := do(ctx, account, c)
	if err != nil {
		return nil, err
	}
	for i, err := range done {
		errs[places[i]] = err
	}
	out := &outcome{Rehearsed: c.DryRun, Total: len(given)}
	for i, err := range errs {
		if err == nil {
			out.Well++
			continue
		}
		said, _, err := problemOf(nameProblem(c.Op, err))
		if err != nil {
			return nil, err
		}
		out.Failed = append(out.Failed, failed{given[i], said.Text})
	}
	return out, nil
}

// nameProblem says why a name could not be changed in the words of a page, where the portfolio's are for programs.
func nameProblem(did portfolio.Op, err error) error {
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, "This name is not on your list").WithHint("add it first")
	case did == portfolio.SetPrice && fault.Is(err, fault.Conflict):
		return fault.New(fault.Conflict, "This name is not offered")
	}
	return err
}

// addAll adds the names to the account's list. A rehearsal finds only what is no name at all.
func (p *Pages) addAll(ctx context.Context, account string, c portfolio.Change) ([]error, error) {
	errs := make([]error, len(c.Names))
	for i, name := range c.Names {
		if c.DryRun {
			continue
		}
		if _, errs[i] = p.names.Add(ctx, account, name); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return errs, nil
}

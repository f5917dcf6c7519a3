package pages

import (
	"net/url"
	"slices"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/tools"
)

const domainsPath = "/account/domains"

// domainsPerPage is how many names a page shows.
const domainsPerPage = 100

// domainsData is the data of the page of domains.
type domainsData struct {
	Claims []portfolio.Claim // a name just added, then those of the page
	Label  string            // of the TXT record
	More   string            // URL of the next page; empty: this is the last
	Entry  string            // the name to add, as entered
	Open   string            // the name whose details are open
	Here   string            // URL of this page
}

func (p *Pages) domains(req *request) (response, error) { return p.domainsPage(req, domainsData{}) }

// domainsPage reads the names of the requested page.
func (p *Pages) domainsPage(req *request, s domainsData) (response, error) {
	after, err := fqdn.Parse(req.URL.Query().Get("after"))
	if err != nil {
		after = fqdn.Name{}
	}
	claims, more, err := p.portfolios.List(req.Context(), req.session.AccountID, after, domainsPerPage)
	if err != nil {
		return response{}, err
	}
	s.Label, s.Here = portfolio.ProofLabel, domainsPath
	if !after.IsZero() {
		s.Here = domainsAfter(after)
	}
	if more {
		s.More = domainsAfter(claims[len(claims)-1].Domain)
	}
	if s.Claims == nil || slices.ContainsFunc(claims, func(c portfolio.Claim) bool { return c.Domain == s.Claims[0].Domain }) {
		s.Claims = claims
	} else {
		s.Claims = append(s.Claims, claims...)
	}
	return response{page: "domains", title: "Your domain names", data: s}, nil
}

func domainsAfter(name fqdn.Name) string {
	return domainsPath + "?" + url.Values{"after": {name.String()}}.Encode()
}

// changeDomains applies the action of the pressed button to a name.
func (p *Pages) changeDomains(req *request) (response, error) {
	var s domainsData
	var notice string
	name, err := fqdn.Parse(req.PostForm.Get("domain"))
	adds := req.PostForm.Get("do") == string(addOp)
	switch {
	case err != nil:
		err = fault.Invalid("domain", "%s", err)
	case adds:
		if err = p.charge(req, tools.ChangeCost(addOp, 1)); err != nil {
			break
		}
		var claim portfolio.Claim
		if claim, err = p.portfolios.Add(req.Context(), req.session.AccountID, name); err == nil {
			s.Claims = []portfolio.Claim{claim} // shown even where it belongs to another page
			notice = name.String() + " is on your list. Publish its DNS record to prove that it is yours."
		}
	default:
		notice, err = p.changeDomain(req, name)
	}
	if s.Open = name.String(); err != nil && adds {
		s.Entry = req.PostForm.Get("domain")
	}
	a, internalErr := p.domainsPage(req, s)
	if internalErr != nil {
		return response{}, internalErr
	}
	if err != nil {
		return formProblem(a, err)
	}
	a.notice = notice
	return a, nil
}

func (p *Pages) changeDomain(req *request, name fqdn.Name) (notice string, err error) {
	c := portfolio.Change{Names: []fqdn.Name{name}}
	switch req.PostForm.Get("do") {
	case "verify":
		c.Op, notice = portfolio.Verify, name.String()+" is yours."
	case "list":
		if c.Price, err = priceOf(req.PostForm.Get("price")); err != nil {
			return "", err
		}
		c.Op, notice = portfolio.List, name.String()+" is offered. It is for sale while it is proven."
	case "unlist":
		c.Op, notice = portfolio.Unlist, name.String()+" is not offered any more."
	case "remove":
		c.Op, notice = portfolio.Remove, name.String()+" is off your list."
	default:
		return "", fault.New(fault.Validation, "This form has no action")
	}
	if err := p.charge(req, tools.ChangeCost(c.Op, 1)); err != nil {
		return "", err
	}
	failed, err := p.portfolios.Apply(req.Context(), req.session.AccountID, c)
	if err != nil {
		return "", err
	}
	return notice, nameProblem(c.Op, failed[0])
}

package pages

import (
	"net/url"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
)

// listed is how many names a page shows.
const listed = 100

// A shelf is the page of an account's names.
type shelf struct {
	Claims []portfolio.Claim
	Label  string // of the proof, in front of the name
	More   string // the next page; empty: this is the last
	Entry  string // what was given as a name to add
}

func (p *Pages) domains(v *visit) (answer, error) { return p.domainsPage(v, "") }

func (p *Pages) domainsPage(v *visit, entry string) (answer, error) {
	after, err := fqdn.Parse(v.URL.Query().Get("after"))
	if err != nil {
		after = fqdn.Name{}
	}
	claims, more, err := p.names.List(v.Context(), v.session.AccountID, after, listed)
	if err != nil {
		return answer{}, err
	}
	s := shelf{Claims: claims, Label: portfolio.ProofLabel, Entry: entry}
	if more {
		s.More = "/account/domains?" + url.Values{"after": {claims[len(claims)-1].Domain.String()}}.Encode()
	}
	return answer{page: "domains", title: "Your domain names", data: s}, nil
}

// changeDomains does to a name what the pressed button says.
func (p *Pages) changeDomains(v *visit) (answer, error) {
	given, notice := v.PostForm.Get("domain"), ""
	name, err := fqdn.Parse(given)
	if err != nil {
		err = fault.Invalid("domain", "%s", err.Error())
	} else {
		notice, err = p.changeDomain(v, name)
	}
	a, ours := p.domainsPage(v, "")
	if ours != nil {
		return answer{}, ours
	}
	if err != nil {
		if v.PostForm.Get("do") == "add" {
			a, ours = p.domainsPage(v, given)
		}
		if ours != nil {
			return answer{}, ours
		}
		return again(a, err)
	}
	a.notice = notice
	return a, nil
}

func (p *Pages) changeDomain(v *visit, name fqdn.Name) (notice string, err error) {
	c := portfolio.Change{Names: []fqdn.Name{name}}
	switch v.PostForm.Get("do") {
	case "add":
		_, err := p.names.Add(v.Context(), v.session.AccountID, name)
		return name.String() + " is on your list. Show that it is yours with the record below.", err
	case "verify":
		c.Op, notice = portfolio.Verify, name.String()+" is yours."
	case "list":
		cents, err := money.ParseDecimal(v.PostForm.Get("price"))
		if err != nil {
			return "", fault.Invalid("price", "must be an amount such as 1200 or 1200.50")
		}
		c.Op, c.Price, notice = portfolio.List, money.USD(cents), name.String()+" is offered; it is for sale while the proof stands."
	case "unlist":
		c.Op, notice = portfolio.Unlist, name.String()+" is not offered any more."
	case "remove":
		c.Op, notice = portfolio.Remove, name.String()+" is off your list."
	default:
		return "", fault.New(fault.Validation, "This form does not say what to do")
	}
	failed, err := p.names.Apply(v.Context(), v.session.AccountID, c)
	if err != nil {
		return "", err
	}
	return notice, failed[0]
}

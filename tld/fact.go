package tld

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/op"
)

// A fact is the place of a fact in a [Metadata].
type fact interface {
	set(value string) error // reads the value of a field in facts.txt
	known() bool
}

// facts are the facts that may be unknown, in the order of [Metadata]: the dotted path that names each in facts.txt
// and in Unknown, the kind of block that has it, and its place.
var facts = []struct {
	path  string
	block string
	place func(*Metadata) fact
}{
	{"registry.name", "delegated", func(m *Metadata) fact { return (*text)(&m.Registry.Name) }},
	{"registry.url", "delegated", func(m *Metadata) fact { return (*webURL)(&m.Registry.URL) }},
	{"term.min_years", "rules", func(m *Metadata) fact { return (*number)(&m.Term.MinYears) }},
	{"term.max_years", "rules", func(m *Metadata) fact { return (*number)(&m.Term.MaxYears) }},
	{"organization.required", "rules", func(m *Metadata) fact { return (*truth)(&m.Organization.Required) }},
	{"organization.eligibility", "rules", func(m *Metadata) fact { return (*text)(&m.Organization.Eligibility) }},
	{"organization.allowed_countries", "rules", func(m *Metadata) fact { return (*countries)(&m.Organization.AllowedCountries) }},
	{"organization.local_presence", "rules", func(m *Metadata) fact { return (*truth)(&m.Organization.LocalPresence) }},
	{"nameservers.min", "rules", func(m *Metadata) fact { return (*count)(&m.Nameservers.Min) }},
	{"nameservers.max", "rules", func(m *Metadata) fact { return (*number)(&m.Nameservers.Max) }},
	{"nameservers.required", "rules", func(m *Metadata) fact { return (*truth)(&m.Nameservers.Required) }},
	{"nameservers.must_resolve", "rules", func(m *Metadata) fact { return (*truth)(&m.Nameservers.MustResolve) }},
	{"transfer.auth_code", "rules", func(m *Metadata) fact { return (*truth)(&m.Transfer.AuthCode) }},
	{"transfer.adds_years", "rules", func(m *Metadata) fact { return (*count)(&m.Transfer.AddsYears) }},
	{"lifecycle.add_grace_days", "rules", func(m *Metadata) fact { return (*count)(&m.Lifecycle.AddGraceDays) }},
	{"lifecycle.renew_grace_days", "rules", func(m *Metadata) fact { return (*count)(&m.Lifecycle.RenewGraceDays) }},
	{"lifecycle.redemption_days", "rules", func(m *Metadata) fact { return (*count)(&m.Lifecycle.RedemptionDays) }},
	{"lifecycle.pending_delete_days", "rules", func(m *Metadata) fact { return (*count)(&m.Lifecycle.PendingDeleteDays) }},
	{"label.min", "rules", func(m *Metadata) fact { return (*number)(&m.Label.Min) }},
	{"label.max", "rules", func(m *Metadata) fact { return (*number)(&m.Label.Max) }},
	{"label.idn", "rules", func(m *Metadata) fact { return (*truth)(&m.Label.IDN) }},
	{"dnssec", "rules", func(m *Metadata) fact { return (*truth)(&m.DNSSEC) }},
	{"rdap.url", "delegated", func(m *Metadata) fact { return (*webURL)(&m.RDAP.URL) }},
	{"rdap.source", "delegated", func(m *Metadata) fact { return &m.RDAP.Source }},
	{"whois.server", "delegated", func(m *Metadata) fact { return (*host)(&m.WHOIS.Server) }},
}

// unknown lists the facts that m lacks.
func unknown(m *Metadata) []string {
	paths := make([]string, 0, len(facts))
	for _, f := range facts {
		if !f.place(m).known() {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// setFact sets the fact from a field of a block of the kind.
func setFact(m *Metadata, kind string, f field) error {
	for _, known := range facts {
		if known.path != f.key || known.block != kind {
			continue
		}
		place := known.place(m)
		if place.known() {
			return fmt.Errorf("line %d: %s: said before", f.line, f.key)
		}
		if err := place.set(f.value); err != nil {
			return fmt.Errorf("line %d: %s: %w", f.line, f.key, err)
		}
		return nil
	}
	return fmt.Errorf("line %d: not a fact of a %s block", f.line, kind)
}

// check refuses facts that contradict one another.
func check(m *Metadata) error {
	minNS, _ := m.Nameservers.Min.Value()
	switch {
	case m.Type == "":
		return fmt.Errorf("type is missing")
	case m.Term.MaxYears != 0 && m.Term.MinYears > m.Term.MaxYears:
		return fmt.Errorf("term.min_years is over term.max_years")
	case m.Label.Max != 0 && m.Label.Min > m.Label.Max || m.Label.Max > fqdn.MaxLabel:
		return fmt.Errorf("label.min is over label.max, or that over 63")
	case m.Nameservers.Max != 0 && minNS > m.Nameservers.Max:
		return fmt.Errorf("nameservers.min is over nameservers.max")
	case (m.RDAP.URL == "") != (m.RDAP.Source == ""):
		return fmt.Errorf("rdap.url and rdap.source come together")
	}
	return nil
}

type text string

func (t *text) known() bool { return *t != "" }

func (t *text) set(value string) error {
	*t = text(value)
	return nil
}

type webURL string

func (u *webURL) known() bool { return *u != "" }

func (u *webURL) set(value string) error {
	p, err := url.Parse(value)
	if err != nil || p.Scheme != "https" && p.Scheme != "http" || p.Host == "" || p.User != nil {
		return fmt.Errorf("not an http or https URL")
	}
	*u = webURL(value)
	return nil
}

type host string

func (h *host) known() bool { return *h != "" }

func (h *host) set(value string) error {
	name, err := fqdn.Parse(value)
	if err != nil || name.String() != value {
		return fmt.Errorf("not a host name in A-label form")
	}
	*h = host(value)
	return nil
}

// A number is from 1 to 999; what may be 0 is a count.
type number int

func (n *number) known() bool { return *n != 0 }

func (n *number) set(value string) error {
	v, err := parseNumber(value)
	if err == nil && v == 0 {
		err = fmt.Errorf("is 0")
	}
	*n = number(v)
	return err
}

func parseNumber(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > 999 || strconv.Itoa(n) != value {
		return 0, fmt.Errorf("not a number from 0 to 999")
	}
	return n, nil
}

type count op.Count

func (c *count) known() bool { return *c != count{} }

func (c *count) set(value string) error {
	n, err := parseNumber(value)
	*c = count(op.CountOf(n))
	return err
}

type truth op.Truth

func (t *truth) known() bool { return op.Truth(*t) != op.Unknown }

func (t *truth) set(value string) error {
	switch value {
	case "yes":
		*t = truth(op.Yes)
	case "no":
		*t = truth(op.No)
	default:
		return fmt.Errorf("neither yes nor no")
	}
	return nil
}

type countries []string

func (c *countries) known() bool { return *c != nil }

func (c *countries) set(value string) error {
	codes := strings.Split(value, " ")
	for _, code := range codes {
		if code != "EEA" && len(code) != 2 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return fmt.Errorf("not ISO 3166 codes, EU or EEA")
		}
	}
	*c = codes
	return nil
}

func (t *Type) set(value string) error {
	*t = Type(value)
	if !slices.Contains(t.Schema().Enum, any(value)) {
		return fmt.Errorf("not a type")
	}
	return nil
}

func (s *RDAPSource) known() bool { return *s != "" }

func (s *RDAPSource) set(value string) error {
	*s = RDAPSource(value)
	if *s != FromIANA && *s != Supplement {
		return fmt.Errorf("neither iana nor supplement")
	}
	return nil
}

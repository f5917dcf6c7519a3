package tools

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/tld"
)

// A text is the rendering of an answer for who reads text alone: a line for each name, with what the JSON says of it.
// What comes from outside is put in by [text.add], which keeps it within its line.
type text struct{ strings.Builder }

// add appends values without separators. Control and format characters (bidirectional ones among them) become spaces, so that
// no value can begin a line or turn the text around.
func (t *text) add(values ...string) *text {
	for _, v := range values {
		t.WriteString(oneLine(v))
	}
	return t
}

// line ends the line.
func (t *text) line() { t.WriteByte('\n') }

// field appends "name: value" as a line where there is a value.
func (t *text) field(name, value string) {
	if value != "" {
		t.add(name, ": ", value).line()
	}
}

// done returns the text without the last line's end.
func (t *text) done() string { return strings.TrimSuffix(t.String(), "\n") }

func oneLine(s string) string {
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) }
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if odd(r) {
			return ' '
		}
		return r
	}, s)
}

// parts joins what is not empty.
func parts(separator string, values ...string) string {
	var b strings.Builder
	for _, v := range values {
		if v == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(separator)
		}
		b.WriteString(v)
	}
	return b.String()
}

// amount is a price to read: $10.99, or 10.99 CHF where the currency has no sign of its own here.
func amount(cents int64, currency string) string {
	figure, _, _ := strings.Cut(money.Amount{Cents: cents}.String(), " ")
	if sign := symbol(currency); !strings.HasSuffix(sign, " ") {
		return sign + figure
	}
	return figure + " " + currency
}

// costs is the price of an action for its term; empty where there is none.
func costs(action string, cents int64, currency string, years int) string {
	if currency == "" {
		return ""
	}
	figure := action + " " + amount(cents, currency)
	switch years {
	case 0:
		return figure
	case 1:
		return figure + "/yr"
	}
	return figure + "/" + strconv.Itoa(years) + " yr"
}

func (p Price) text() string {
	if p.Masked {
		return p.Display
	}
	return amount(p.PriceCents, p.Currency)
}

func (r Registration) text(action string) string {
	return costs(action, r.PriceCents, r.Currency, r.TermYears)
}

func (l Listing) text() string {
	if l == (Listing{}) {
		return ""
	}
	return "for sale " + l.Price.text()
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

func labelled(label, value string) string {
	if value == "" {
		return ""
	}
	return label + " " + value
}

func bracketed(value string) string {
	if value == "" {
		return ""
	}
	return " (" + value + ")"
}

func retryIn(seconds int) string {
	if seconds == 0 {
		return ""
	}
	return "retry in " + strconv.Itoa(seconds) + " s"
}

// results appends a line for each name: its status, how sure that is, what it costs, and why it is not a plain yes or no.
func (t *text) results(results []Result, checked time.Time) {
	if !checked.IsZero() {
		t.add("checked ", checked.UTC().Format(time.RFC3339)).line()
	}
	for _, r := range results {
		confidence := string(r.Confidence)
		if r.Confidence == "none" {
			confidence = ""
		}
		t.add(r.Domain, bracketed(r.Unicode), ": ", parts("; ",
			string(r.Status)+bracketed(confidence),
			r.Registration.text("register"), r.Renewal.text("renew"),
			r.Listing.text(), r.Reason, retryIn(r.RetryAfter),
		)).line()
	}
}

func (out SearchOut) text() string {
	var t text
	t.add("search for ", out.Label, ", ")
	t.results(out.Results, out.CheckedAt)
	t.masked(out.PricesMasked, out.Unlock)
	return t.done()
}

// masked says that prices are masked where that is so and matters.
func (t *text) masked(masked bool, unlock Unlock) {
	if masked && unlock.Message != "" {
		t.add("prices for sale are masked: ", unlock.Message).line()
	}
}

func (out CheckOut) text() string {
	var t text
	t.results(out.Results, out.CheckedAt)
	return t.done()
}

func (s Suggestion) prices() string {
	return parts("; ", s.Registration.text("register"), s.Renewal.text("renew"))
}

func (out SuggestOut) text() string {
	var t text
	t.add("names made of ", strings.Join(out.Words, ", "), "; ", strconv.Itoa(out.Checked), " looked up, checked ", out.CheckedAt.UTC().Format(time.RFC3339)).line()
	prices := map[string]string{} // of each TLD, said once
	for _, s := range out.Suggestions {
		price := s.prices()
		if _, said := prices[s.TLD]; !said && price != "" {
			prices[s.TLD] = price
			t.field("."+s.TLD, price)
		}
	}
	for _, s := range out.Suggestions {
		price := s.prices()
		if price == prices[s.TLD] {
			price = ""
		}
		t.add(s.Domain, ": ", parts("; ", string(s.Status)+bracketed(string(s.Confidence)), price, s.Listing.text(), s.Why)).line()
	}
	if len(out.Suggestions) == 0 {
		t.add("none of them can be had").line()
	}
	return t.done()
}

// excerptRunes is how much of a description is always in a text; of a longer one it is two fifths.
const excerptRunes = 40

// excerpt is the beginning of a description, in quotation marks: it is the seller's.
func excerpt(s string) string {
	if s == "" {
		return ""
	}
	s = strings.ReplaceAll(s, `"`, "'")
	if n := utf8.RuneCountInString(s); n > excerptRunes {
		s = string([]rune(s)[:max(excerptRunes, n*2/5)]) + "…"
	}
	return `"` + s + `"`
}

func (out ListingsOut) text() string {
	var t text
	if len(out.Listings) == 0 {
		t.add("no listings").line()
	}
	for _, l := range out.Listings {
		t.add(parts(" ", l.Domain+bracketed(l.Unicode), l.Price.text(), "since", day(l.ListedAt), excerpt(l.Description))).line()
	}
	t.masked(out.PricesMasked, out.Unlock)
	t.field("next_cursor", string(out.Page.NextCursor))
	return t.done()
}

func (out WhoisOut) text() string {
	var t text
	state := cmp.Or(either(out.Registered, "registered", "not registered"), "not known whether registered")
	t.add(out.Domain, bracketed(out.Unicode), ": ", parts(", ",
		state+bracketed(string(out.Source)),
		labelled("created", day(out.CreatedAt))+bracketed(inDays(out.AgeDays)),
		labelled("updated", day(out.UpdatedAt)),
		labelled("expires", day(out.ExpiresAt))+bracketed(inDays(out.DaysToExpiry)),
	)).line()
	r := out.Registrar
	t.field("registrar", parts(", ", r.Name+bracketed(labelled("IANA", r.IANAID)), parts(" ", r.AbuseEmail, r.AbusePhone)))
	t.field("holder", parts(", ", out.Registrant.Name, out.Registrant.Organization, out.Registrant.Country))
	codes := make([]string, len(out.Status))
	for i, s := range out.Status {
		codes[i] = s.Code
	}
	t.field("status", strings.Join(codes, ", "))
	hosts := make([]string, len(out.Nameservers))
	for i, ns := range out.Nameservers {
		hosts[i] = ns.Host + bracketed(strings.Join(ns.Addresses, " "))
	}
	t.field("ns", strings.Join(hosts, " "))
	t.field("dnssec", either(out.DNSSEC.Signed, "yes", "no"))
	t.field("withheld", strings.Join(out.Redacted, ", "))
	for _, w := range out.Warnings {
		t.field("warning", w)
	}
	t.field("then", retryIn(out.RetryAfter))
	if out.Raw != "" { // asked for as it is; its lines are set off
		t.add("raw reply, quoted:").line()
		for l := range strings.Lines(out.Raw) {
			t.add("> ", strings.TrimRight(l, "\r\n")).line()
		}
	}
	return t.done()
}

func inDays(i op.Integer) string {
	if n, known := i.Value(); known {
		return strconv.Itoa(n) + " d"
	}
	return ""
}

func (out PriceOut) text() string {
	var t text
	t.add(".", out.TLD, ": ", costs(string(out.Op), out.PriceCents, out.Currency, out.TermYears), ", as of ", string(out.AsOf))
	return t.done()
}

func (a ActionPrice) text(action tld.Action) string {
	return costs(string(action), a.PriceCents, a.Currency, a.TermYears)
}

func (p TLDPrices) text() string {
	return parts(", ", p.Register.text(tld.Register), p.Renew.text(tld.Renew), p.Transfer.text(tld.Transfer), p.Restore.text(tld.Restore))
}

func (out CompareOut) text() string {
	var t text
	t.add("total of ", strconv.Itoa(out.Years), " years, cheapest first").line()
	for _, y := range out.Results {
		t.add(".", y.TLD, ": ", parts(", ", amount(y.Total.PriceCents, y.Total.Currency),
			y.Register.text(tld.Register), y.Renew.text(tld.Renew), y.Transfer.text(tld.Transfer), y.Restore.text(tld.Restore),
			"as of "+string(y.AsOf))).line()
	}
	t.field("no prices", strings.Join(out.Unknown, ", "))
	return t.done()
}

func (out TLDsOut) text() string {
	var t text
	for _, p := range out.TLDs {
		t.add(parts(": ", "."+p.TLD+" "+string(p.Type), p.text())).line()
	}
	t.field("next_cursor", string(out.Page.NextCursor))
	return t.done()
}

func (out AddOut) text() string {
	var t text
	t.add(out.Domain, ": ", string(out.Status)).line()
	t.add("publish this DNS record, then run bulk_domains with op verify: ", out.Proof.Name, " ", string(out.Proof.Type), " ", out.Proof.Value)
	return t.done()
}

func (out DomainsOut) text() string {
	var t text
	if len(out.Domains) == 0 {
		t.add("no domains").line()
	}
	for _, d := range out.Domains {
		t.add(d.Domain, ": ", parts(", ", string(d.Status), d.Listing.text(), labelled("expires", day(d.ExpiresAt)))).line()
	}
	t.field("next_cursor", string(out.Page.NextCursor))
	return t.done()
}

func (out BulkOut) text() string {
	var t text
	if out.DryRun {
		t.add("dry run, nothing is changed: ")
	}
	t.add(string(out.Op), ": ", strconv.Itoa(out.Succeeded), " succeeded, ", strconv.Itoa(out.Failed), " failed").line()
	var fine []string
	for _, r := range out.Results {
		if r.OK {
			fine = append(fine, r.Domain)
			continue
		}
		t.add(r.Domain, ": ", parts("; ", string(r.Error.Code), r.Error.Message, retryIn(r.Error.RetryAfter))).line()
	}
	t.field("succeeded", strings.Join(fine, ", "))
	return t.done()
}

// batchText renders a batch: each answer as it is alone, below its id.
func batchText(set *op.Set) func(batch.Out) string {
	return func(out batch.Out) string {
		var t text
		for _, r := range out.Results {
			t.add("[", r.ID, "] ", r.Op, ": ")
			o := set.Named(r.Op)
			switch {
			case !r.OK:
				t.add(parts("; ", string(r.Error.Code), r.Error.Message, retryIn(r.Error.RetryAfter))).line()
			case o == nil:
				t.add(string(r.Result)).line()
			default:
				t.WriteString(o.Text(op.Answer{JSON: r.Result})) // rendered by the operation, each value within its line
				t.line()
			}
		}
		return t.done()
	}
}

func metadataText(m tld.Metadata) string {
	var t text
	unicodeForm := ""
	if m.Unicode != m.TLD {
		unicodeForm = m.Unicode
	}
	t.add(".", m.TLD, bracketed(unicodeForm), ": ", parts("; ", string(m.Type), m.Registry.Name,
		labelled("years", span(op.CountOf(m.Term.MinYears), m.Term.MaxYears)),
		labelled("label", span(op.CountOf(m.Label.Min), m.Label.Max)), is("IDN", m.Label.IDN), is("DNSSEC", m.DNSSEC),
		"as of "+string(m.AsOf))).line()
	o := m.Organization
	t.field("who", parts("; ", o.Eligibility, is("organization needed", o.Required), is("local presence", o.LocalPresence),
		labelled("countries", strings.Join(o.AllowedCountries, " "))))
	n := m.Nameservers
	t.field("nameservers", parts("; ", span(n.Min, n.Max), either(n.Required, "required", "optional"), either(n.MustResolve, "must resolve", "need not resolve")))
	t.field("transfer", parts("; ", is("auth code", m.Transfer.AuthCode), labelled("adds years", count(m.Transfer.AddsYears))))
	l := m.Lifecycle
	t.field("days", parts(", ", labelled("add grace", count(l.AddGraceDays)), labelled("renew grace", count(l.RenewGraceDays)),
		labelled("redemption", count(l.RedemptionDays)), labelled("pending delete", count(l.PendingDeleteDays))))
	t.field("unknown", grouped(m.Unknown))
	return t.done()
}

// grouped joins dotted paths that follow one another under one parent: a.b/c.
func grouped(paths []string) string {
	var b strings.Builder
	last := ""
	for i, path := range paths {
		parent, child, nested := strings.Cut(path, ".")
		switch {
		case nested && parent == last:
			b.WriteString("/" + strings.TrimSuffix(child, "_days"))
			continue
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strings.TrimSuffix(path, "_days"))
		if last = ""; nested {
			last = parent
		}
	}
	return b.String()
}

// span is a range of numbers, either of which may be unknown; the highest is zero then.
func span(least op.Count, most int) string {
	n, known := least.Value()
	switch {
	case most == 0 && n == 0:
		return ""
	case most == 0:
		return "at least " + strconv.Itoa(n)
	case !known:
		return "up to " + strconv.Itoa(most)
	case n == most:
		return strconv.Itoa(n)
	}
	return strconv.Itoa(n) + "-" + strconv.Itoa(most)
}

// is says that something is so, or that it is not; nothing where it is not known.
func is(what string, t op.Truth) string { return either(t, what, "no "+what) }

func either(t op.Truth, yes, no string) string {
	return map[op.Truth]string{op.Yes: yes, op.No: no}[t]
}

func count(c op.Count) string {
	if n, known := c.Value(); known {
		return strconv.Itoa(n)
	}
	return ""
}

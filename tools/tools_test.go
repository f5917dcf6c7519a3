package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

// listings are for sale in the tests. The prices of the .com names fall as the names grow, so that an order by price
// would show.
const listings = `domain,price_cents,floor_price_cents,currency,description,keywords
brewhaven.com,990000,700000,USD,A name for a coffee house,coffee;brew
coffeeshop.io,880000,,USD,,
roastery.shop,770000,,EUR,,
emberlane.org,660000,,USD,,
xn--bcher-kva.com,550000,,USD,,
`

// A fixture is the operations over a registry on loopback and a store of their own.
type fixture struct {
	set      *op.Set
	registry *demoregistry.Registry
	market   *market.Market
	lookup   *lookup.Service
}

func newFixture(t testing.TB) *fixture { return newFixtureOn(t, demoregistry.Config{Count: true}, nil) }

// newFixtureOn is a fixture over a registry of this kind. A zone may be nil.
func newFixtureOn(t testing.TB, cfg demoregistry.Config, zone lookup.Zone) *fixture {
	t.Helper()
	reg, err := demoregistry.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	file, err := lookup.ParseRegistry(reg.File())
	if err != nil {
		t.Fatal(err)
	}
	look, err := lookup.New(lookup.Config{Suffixes: tld.DefaultTable(), Registry: file, BootstrapURL: lookup.BootstrapOff, Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(look.Close)
	db, err := store.Open(t.Context(), store.Config{Temporary: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	m, err := market.New(t.Context(), market.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	report, err := m.Import(t.Context(), strings.NewReader(listings), market.ImportOptions{Environment: market.Live})
	if err != nil || len(report.Bad) > 0 {
		t.Fatalf("import: %v, %v", report.Bad, err)
	}
	set := tools.New(tools.Config{
		Lookup: look, Market: m, Table: tld.DefaultTable(), Prices: tld.NewPrices(tld.DefaultBook()),
		BaseURL: "https://names.example", Secret: make([]byte, 32), Now: time.Now,
	})
	return &fixture{set, reg, m, look}
}

// call runs an operation and decodes its answer.
func call[Out any](ctx context.Context, t testing.TB, s *fixture, name, in string) (out Out, err error) {
	t.Helper()
	answer, err := s.set.Named(name).Call(ctx, []byte(in))
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(answer.JSON, &out); err != nil {
		t.Fatalf("%s(%s) answered %s: %v", name, in, answer.JSON, err)
	}
	return out, nil
}

func signedIn(ctx context.Context) context.Context {
	return op.WithCaller(ctx, op.Caller{Account: "acc_1", Scopes: []string{tools.ScopePricing}})
}

// brief is what a test compares of a result.
func brief(results []tools.Result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s %s %s", r.Domain, r.Kind, r.Status)
		if r.Listing != (tools.Listing{}) {
			b.WriteString(" for sale")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestSearch(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, test := range []struct {
		name, in, label string
		want            []string // the first results
		count           int
	}{
		{"a registered name and its siblings", `{"q":"cobaltpine.com"}`, "cobaltpine", []string{"cobaltpine.com exact registered", "cobaltpine.net sibling registered", "cobaltpine.org sibling registered"}, 12},
		{"a free one", `{"q":"quietmeadow.org"}`, "quietmeadow", []string{"quietmeadow.org exact available", "quietmeadow.com sibling available"}, 12},
		{"under a suffix that is not among the usual ones", `{"q":"cobaltpine.de"}`, "cobaltpine", []string{"cobaltpine.de exact registered", "cobaltpine.com sibling registered"}, 13},
		{"a label", `{"q":"cobaltpine"}`, "cobaltpine", []string{"cobaltpine.com sibling registered"}, 12},
		{"a URL", `{"q":"https://www.cobaltpine.co.uk/about?x=1"}`, "cobaltpine", []string{"cobaltpine.co.uk exact registered", "cobaltpine.com sibling registered"}, 13},
		{"a host and a path", `{"q":"cobaltpine.com/about"}`, "cobaltpine", []string{"cobaltpine.com exact registered"}, 12},
		{"chosen suffixes", `{"q":"quietmeadow","tlds":["de",".CO.UK","de"]}`, "quietmeadow", []string{"quietmeadow.de sibling available", "quietmeadow.co.uk sibling available"}, 2},
		{"a bare suffix is a label", `{"q":"co.uk","tlds":["test"]}`, "co", []string{"co.test sibling available"}, 1},
		{"Unicode", `{"q":"Bücher.com","tlds":["com"]}`, "bücher", []string{"xn--bcher-kva.com exact registered for sale"}, 1},
		{"expiring", `{"q":"oldharbor.net","tlds":["net"]}`, "oldharbor", []string{"oldharbor.net exact expiring"}, 1},
		{"reserved", `{"q":"registry.shop","tlds":["shop"]}`, "registry", []string{"registry.shop exact reserved"}, 1},
		{"an unknown suffix", `{"q":"acme.nosuchsuffix","tlds":["test"]}`, "acme", []string{"acme.nosuchsuffix exact invalid", "acme.test sibling available"}, 2},
		{"a phrase adds listings", `{"q":"coffee shop!","tlds":["com","io"]}`, "coffeeshop", []string{
			"coffeeshop.com sibling available", "coffeeshop.io sibling available for sale", "coffee-shop.com sibling available", "coffee-shop.io sibling available",
		}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := call[tools.SearchOut](t.Context(), t, s, "search_domain", test.in)
			if err != nil {
				t.Fatal(err)
			}
			got := brief(out.Results)
			if want := strings.Join(test.want, "\n") + "\n"; !strings.HasPrefix(got, want) || out.Label != test.label || test.count > 0 && len(out.Results) != test.count {
				t.Errorf("search(%s), label %s, %d results:\n%swant label %s, %d results beginning with\n%s", test.in, out.Label, len(out.Results), got, test.label, test.count, want)
			}
		})
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	long := strings.Repeat("a", 254)
	for _, test := range []struct{ name, in, field string }{
		{"nothing", `{"q":" "}`, "q"},
		{"an empty label", `{"q":"a..com"}`, "q"},
		{"an underscore", `{"q":"a_b.com"}`, "q"},
		{"an address", `{"q":"192.0.2.1"}`, "q"},
		{"an IPv6 address in a URL", `{"q":"http://[2001:db8::1]/"}`, "q"},
		{"a control character", `{"q":"a\u0007.com"}`, "q"},
		{"a right-to-left override", `{"q":"a\u202e.com"}`, "q"},
		{"a label of 64", `{"q":"` + strings.Repeat("a", 64) + `.com"}`, "q"},
		{"254 characters", `{"q":"` + long + `"}`, "q"},
		{"words of punctuation", `{"q":"!! ??"}`, "q"},
		{"a suffix that is none", `{"q":"a","tlds":["com","a b"]}`, "tlds[1]"},
		{"no suffix at all", `{"q":"a","tlds":[]}`, "tlds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := s.registry.Requests("")
			_, err := call[tools.SearchOut](t.Context(), t, s, "search_domain", test.in)
			if f := fault.From(err); f == nil || f.Code != fault.Validation || len(f.Fields) == 0 || f.Fields[0].Field != test.field {
				t.Errorf("search(%s): %v, want a validation error on %s", test.in, err, test.field)
			}
			if after := s.registry.Requests(""); after != before {
				t.Errorf("search(%s) sent %v, want no upstream byte", test.in, after)
			}
		})
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	const in = `{"q":"brewhaven.com","tlds":["com"]}`
	anonymous, err := call[tools.SearchOut](t.Context(), t, s, "search_domain", in)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tools.Price{Masked: true, Display: "$•••", Currency: "USD"}); anonymous.Results[0].Listing.Price != want || !anonymous.PricesMasked {
		t.Errorf("anonymous: %+v, want %+v", anonymous.Results[0].Listing.Price, want)
	}
	if want := (tools.Unlock{Message: "Sign in with OAuth to see real marketplace prices.", ResourceMetadata: "https://names.example/.well-known/oauth-protected-resource"}); anonymous.Unlock != want {
		t.Errorf("unlock: %+v, want %+v", anonymous.Unlock, want)
	}
	real, err := call[tools.SearchOut](signedIn(t.Context()), t, s, "search_domain", in)
	if err != nil {
		t.Fatal(err)
	}
	if want := (tools.Price{PriceCents: 990000, Currency: "USD"}); real.Results[0].Listing.Price != want || real.PricesMasked || real.Unlock != (tools.Unlock{}) {
		t.Errorf("signed in: %+v, want %+v", real, want)
	}
	again, err := call[tools.SearchOut](t.Context(), t, s, "search_domain", in)
	if err != nil || again.Results[0].Listing.Price != anonymous.Results[0].Listing.Price {
		t.Errorf("anonymous after a signed-in call: %+v, %v", again.Results[0].Listing.Price, err)
	}
}

func TestRealPricesNeedASignedInCaller(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	noScope := op.WithCaller(t.Context(), op.Caller{Account: "acc_1"})
	for _, test := range []struct{ op, in string }{
		{"search_domain", `{"q":"a","require_real_prices":true}`},
		{"market_listings", `{"require_real_prices":true}`},
		{"market_listings", `{"sort":"price"}`},
		{"market_listings", `{"min_price_cents":1}`},
		{"market_listings", `{"max_price_cents":100}`},
		{"batch_lookup", `{"operations":[{"id":"a","op":"search_domain"}],"require_real_prices":true}`},
	} {
		_, err := s.set.Named(test.op).Call(t.Context(), []byte(test.in))
		if f := fault.From(err); f == nil || f.Code != fault.AuthenticationRequired || f.Scope != tools.ScopePricing {
			t.Errorf("%s(%s) anonymous: %v, want authentication_required for %s", test.op, test.in, err, tools.ScopePricing)
		}
		if _, err := s.set.Named(test.op).Call(noScope, []byte(test.in)); !fault.Is(err, fault.InsufficientScope) {
			t.Errorf("%s(%s) without the scope: %v, want insufficient_scope", test.op, test.in, err)
		}
		if _, err := s.set.Named(test.op).Call(signedIn(t.Context()), []byte(test.in)); err != nil {
			t.Errorf("%s(%s) signed in: %v", test.op, test.in, err)
		}
	}
}

func TestCheckKeepsTheOrderAndNamesWhatIsNoName(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	out, err := call[tools.CheckOut](t.Context(), t, s, "check_domains", `{"domains":["quietmeadow.com","a_b.com","acme","cobaltpine.io","com","brewhaven.com"]}`)
	want := "quietmeadow.com exact available\na_b.com exact invalid\nacme exact invalid\ncobaltpine.io exact registered\ncom exact invalid\nbrewhaven.com exact registered for sale\n"
	if got := brief(out.Results); err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	if r := out.Results[1].Reason; !strings.Contains(r, "underscore") {
		t.Errorf("reason of a_b.com: %q, want what is wrong with it", r)
	}
}

func TestCheckCostsALookupForTenNames(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, test := range []struct{ names, want int }{{1, 1}, {10, 1}, {11, 2}, {200, 20}} {
		in, _ := json.Marshal(map[string]any{"domains": strings.Split(strings.Repeat("a.test,", test.names-1)+"a.test", ",")})
		c, err := s.set.Named("check_domains").Begin(t.Context(), in)
		if err != nil || len(c.Charges) != 1 || c.Charges[0] != (op.Charge{Class: op.Lookup, Count: test.want}) {
			t.Errorf("%d names: %+v, %v; want %d look-ups", test.names, c, err, test.want)
		}
	}
}

func TestWhois(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	registered, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", `{"domain":"www.cobaltpine.com"}`)
	if err != nil {
		t.Fatal(err)
	}
	if registered.Domain != "cobaltpine.com" || registered.Registered != op.Yes || registered.Registrar.Name == "" || registered.Registrant.Name == "" ||
		registered.CreatedAt.IsZero() || len(registered.Nameservers) == 0 || len(registered.Status) == 0 || registered.Status[0].Meaning == "" || registered.Raw != "" {
		t.Errorf("registered: %+v", registered)
	}
	raw, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", `{"domain":"cobaltpine.com","include_raw":true}`)
	if err != nil || raw.Raw == "" {
		t.Errorf("include_raw: %d bytes, %v", len(raw.Raw), err)
	}
	free, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", `{"domain":"quietmeadow.com"}`)
	if err != nil || free.Registered != op.No {
		t.Errorf("free: %+v, %v", free, err)
	}
	withheld, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", `{"domain":"emberlane.org"}`)
	if err != nil || withheld.Registrant.Name != "" || len(withheld.Redacted) == 0 {
		t.Errorf("redacted: %+v, %v", withheld, err)
	}
	unclear, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", `{"domain":"fault-503.broken.test"}`)
	if err != nil || unclear.Registered != op.Unknown || len(unclear.Warnings) == 0 {
		t.Errorf("unknown: %+v, %v; want a warning and no registered", unclear, err)
	}
	for _, in := range []string{`{"domain":"com"}`, `{"domain":"a.nosuchsuffix"}`, `{"domain":"10.0.0.1"}`, `{"domain":"a b.com"}`} {
		if _, err := call[tools.WhoisOut](t.Context(), t, s, "whois_lookup", in); !fault.Is(err, fault.Validation) {
			t.Errorf("whois(%s): %v, want a validation error", in, err)
		}
	}
}

func TestRegistrationPrices(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, test := range []struct{ in, want string }{
		{`{"tld":"com"}`, `"op":"register"`},
		{`{"tld":".COM","op":"renew"}`, `"tld":"com","op":"renew"`},
		{`{"tld":"co.uk","op":"renew"}`, `"tld":"co.uk"`},
		{`{"tld":"com","op":"restore"}`, `"currency":"USD"`},
	} {
		answer, err := s.set.Named("tld_registration_price").Call(t.Context(), []byte(test.in))
		if err != nil || !strings.Contains(string(answer.JSON), test.want) {
			t.Errorf("price(%s): %s, %v; want %s in it", test.in, answer.JSON, err, test.want)
		}
	}
	for in, want := range map[string]fault.Code{
		`{"tld":"nosuchsuffix"}`:         fault.NotFound,
		`{"tld":"co.uk","op":"restore"}`: fault.NotFound,
		`{"tld":"com","op":"buy"}`:       fault.Validation,
		`{"tld":"a b"}`:                  fault.Validation,
		`{"tld":"com","op":"Renew"}`:     fault.Validation,
		`{"tld":"5g.in","op":"lease"}`:   fault.Validation,
	} {
		if _, err := s.set.Named("tld_registration_price").Call(t.Context(), []byte(in)); !fault.Is(err, want) {
			t.Errorf("price(%s): %v, want %s", in, err, want)
		}
	}
}

func TestTLDPagesHoldEverySuffixOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	seen, in := map[string]bool{}, `{"limit":100}`
	for range 30 {
		out, err := call[tools.TLDsOut](t.Context(), t, s, "list_tlds", in)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range out.TLDs {
			if seen[row.TLD] {
				t.Errorf("%s comes twice", row.TLD)
			}
			seen[row.TLD] = true
		}
		if out.Page.NextCursor == "" {
			break
		}
		in = fmt.Sprintf(`{"limit":100,"cursor":%q}`, out.Page.NextCursor)
	}
	for _, suffix := range tld.DefaultTable().Delegated() {
		if !seen[suffix] {
			t.Errorf("%s is missing", suffix)
		}
	}
}

func TestListingPages(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, how := range []string{"cursor", "offset"} {
		var names []string
		in := `{"limit":2,"sort":"name"}`
		for range 5 {
			out, err := call[tools.ListingsOut](t.Context(), t, s, "market_listings", in)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range out.Listings {
				names = append(names, l.Domain)
			}
			if out.Page.NextCursor == "" {
				break
			}
			in = fmt.Sprintf(`{"limit":2,"sort":"name","cursor":%q}`, out.Page.NextCursor)
			if how == "offset" {
				in = fmt.Sprintf(`{"limit":2,"sort":"name","offset":%d}`, len(names))
			}
		}
		if got, want := fmt.Sprint(names), "[brewhaven.com coffeeshop.io emberlane.org roastery.shop xn--bcher-kva.com]"; got != want {
			t.Errorf("by %s: got %s, want %s", how, got, want)
		}
	}
	first, err := call[tools.ListingsOut](t.Context(), t, s, "market_listings", `{"limit":2}`)
	if err != nil {
		t.Fatal(err)
	}
	cursor := string(first.Page.NextCursor)
	for name, in := range map[string]string{
		"with another sort":   fmt.Sprintf(`{"sort":"name","cursor":%q}`, cursor),
		"with another filter": fmt.Sprintf(`{"tld":"com","cursor":%q}`, cursor),
		"of another list":     fmt.Sprintf(`{"cursor":%q}`, "AAAA"+cursor[4:]),
		"with an offset":      fmt.Sprintf(`{"offset":2,"cursor":%q}`, cursor),
		"made up":             `{"cursor":"eyJhIjoxfQ"}`,
	} {
		if _, err := s.set.Named("market_listings").Call(t.Context(), []byte(in)); !fault.Is(err, fault.Validation) {
			t.Errorf("a cursor %s: %v, want a validation error", name, err)
		}
	}
}

// Every operation's zero answer fits its schema: no null, nothing missing.
func TestZero(t *testing.T) {
	t.Parallel()
	for _, o := range newFixture(t).set.All() {
		zero, err := o.Zero()
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := o.Out.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(zero), "null") && !strings.Contains(string(zero), `"next_cursor":null`) {
			t.Errorf("%s: the zero answer holds null: %s", o.Name, zero)
		}
		var value map[string]any
		if err := json.Unmarshal(zero, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); err != nil && !strings.Contains(err.Error(), "enum") { // no enumeration holds ""
			t.Errorf("%s: the zero answer %s: %v", o.Name, zero, err)
		}
	}
}

// Real answers fit their schemas.
func TestExamplesFit(t *testing.T) {
	t.Parallel()
	for _, o := range newFixture(t).set.All() {
		if o.Scope != "" {
			continue // TestPortfolioAnswersFit has an account
		}
		answer, err := o.Call(t.Context(), o.Example)
		if err != nil {
			t.Errorf("%s(%s): %v", o.Name, o.Example, err)
			continue
		}
		resolved, err := o.Out.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(answer.JSON, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); err != nil {
			t.Errorf("%s: the answer %s\n%v", o.Name, answer.JSON, err)
		}
	}
}

// An assistant pays for each byte: a search answer stays within 1 300 tokens (o200k_base), of 3.4 bytes each, a look-up within 900.
func TestAnswersKeepTheirBudget(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, test := range []struct {
		op, in string
		most   int
	}{
		{"search_domain", `{"q":"quietmeadow.de"}`, 4250}, // every one of 13 names free: the most that there is to say
		{"search_domain", `{"q":"quietmeadow"}`, 4000},
		{"search_domain", `{"q":"brewhaven.com"}`, 4000},
		{"search_domain", `{"q":"cobaltpine.com"}`, 4000},
		{"whois_lookup", `{"domain":"cobaltpine.com"}`, 2500},
		{"whois_lookup", `{"domain":"cobaltpine.co.uk"}`, 2500},
	} {
		answer, err := s.set.Named(test.op).Call(t.Context(), []byte(test.in))
		if err != nil || len(answer.JSON) > test.most {
			t.Errorf("%s(%s): %d bytes, %v; want at most %d\n%s", test.op, test.in, len(answer.JSON), err, test.most, answer.JSON)
		}
	}
}

// An answer that shows a marketplace price depends on the caller, and must say so to every cache on the way.
func TestAnswersWithPricesVary(t *testing.T) {
	t.Parallel()
	for _, o := range newFixture(t).set.All() {
		schema, err := json.Marshal(o.Out)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(schema), `"masked"`) && !o.PerCaller {
			t.Errorf("%s shows prices but does not vary with the caller", o.Name)
		}
	}
	s := newFixture(t)
	for _, call := range []struct{ op, in string }{
		{"search_domain", `{"q":"brewhaven.com"}`},
		{"check_domains", `{"domains":["brewhaven.com"]}`},
		{"suggest_domains", `{"q":"brew haven","tlds":["com"],"styles":["compound"],"limit":1}`},
		{"market_listings", `{}`},
		{"batch_lookup", `{"operations":[{"id":"a","op":"market_listings"}]}`},
	} {
		for _, test := range []struct {
			ctx    context.Context
			public bool
		}{{t.Context(), true}, {signedIn(t.Context()), false}, {t.Context(), true}, {signedIn(t.Context()), false}} {
			answer, err := s.set.Named(call.op).Call(test.ctx, []byte(call.in))
			if err != nil || answer.Public != test.public || strings.Contains(string(answer.JSON), `"masked":true`) != test.public {
				t.Errorf("%s(%s): public %v, %v, %s; want public %v and masked alike", call.op, call.in, answer.Public, err, answer.JSON, test.public)
			}
		}
	}
}

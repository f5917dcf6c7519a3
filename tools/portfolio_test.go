package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/account/portfolio"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/lookup"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
	"github.com/namewharf/namewharf/tld"
	"github.com/namewharf/namewharf/tools"
)

// An office is the operations with a portfolio, on a database of the test's.
type office struct {
	fixture
	db        *store.DB
	portfolio *portfolio.Portfolio
}

func newOffice(t testing.TB, db *store.DB) *office {
	t.Helper()
	reg, err := demoregistry.Start(demoregistry.Config{Count: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reg.Close() })
	file, err := lookup.ParseRegistry(reg.File())
	if err != nil {
		t.Fatal(err)
	}
	look, err := lookup.New(lookup.Config{Suffixes: tld.DefaultTable(), Registry: file, BootstrapURL: lookup.BootstrapOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(look.Close)
	m, err := market.New(t.Context(), market.Config{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	names := portfolio.New(portfolio.Config{
		DB: db, Suffixes: look.Suffixes(), DNS: look, Registry: tools.RegistryOf(look), Market: tools.MarketOf(m, db.Now), Pace: time.Nanosecond,
	})
	set := tools.New(tools.Config{
		Lookup: look, Market: m, Table: tld.DefaultTable(), Prices: tld.NewPrices(tld.DefaultBook()),
		BaseURL: "https://names.example", Secret: make([]byte, 32), Now: time.Now, Portfolio: names,
	})
	return &office{fixture{set, reg, m, look}, db, names}
}

// as is a context in which the account asks, with the scope for its own names.
func as(ctx context.Context, account string) context.Context {
	return op.WithCaller(ctx, op.Caller{Account: account, Scopes: []string{tools.ScopeDomains}})
}

func (o *office) add(ctx context.Context, t testing.TB, domain string) tools.AddOut {
	t.Helper()
	out, err := call[tools.AddOut](ctx, t, &o.fixture, "add_domain", fmt.Sprintf(`{"domain":%q}`, domain))
	if err != nil {
		t.Fatalf("add_domain(%s): %v", domain, err)
	}
	return out
}

// publish puts the proof of the claim into the DNS beside the records there.
func (o *office) publish(claims ...tools.AddOut) {
	values := map[string][]string{}
	for _, c := range claims {
		values[c.Proof.Name] = append(values[c.Proof.Name], c.Proof.Value)
	}
	for name, v := range values {
		o.registry.SetTXT(name, append(v, "v=spf1 -all")...)
	}
}

// bulk runs an op and returns its results as "domain ok" or "domain code", in order.
func (o *office) bulk(ctx context.Context, t testing.TB, in string) string {
	t.Helper()
	out, err := call[tools.BulkOut](ctx, t, &o.fixture, "bulk_domains", in)
	if err != nil {
		t.Fatalf("bulk_domains(%s): %v", in, err)
	}
	var lines []string
	for _, r := range out.Results {
		if r.OK {
			lines = append(lines, r.Domain+" ok")
		} else {
			lines = append(lines, r.Domain+" "+string(r.Error.Code))
		}
	}
	return strings.Join(lines, ", ")
}

func (o *office) mustOwn(ctx context.Context, t testing.TB, domains ...string) {
	t.Helper()
	for _, d := range domains {
		o.publish(o.add(ctx, t, d))
	}
	in, _ := json.Marshal(map[string]any{"op": "verify", "domains": domains})
	if got := o.bulk(ctx, t, string(in)); strings.Count(got, " ok") != len(domains) {
		t.Fatalf("verify: %s", got)
	}
}

// portfolioOf is the account's names as "domain status price", page by page.
func (o *office) portfolioOf(ctx context.Context, t testing.TB) string {
	t.Helper()
	var lines []string
	in := `{"limit":2}`
	for {
		out, err := call[tools.DomainsOut](ctx, t, &o.fixture, "list_domains", in)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range out.Domains {
			line := d.Domain + " " + string(d.Status)
			if d.Listing != (tools.Listing{}) {
				line += fmt.Sprintf(" %d %s", d.Listing.Price.PriceCents, d.Listing.Price.Currency)
			}
			lines = append(lines, line)
		}
		if out.Page.NextCursor == "" {
			return strings.Join(lines, ", ")
		}
		in = fmt.Sprintf(`{"limit":2,"cursor":%q}`, out.Page.NextCursor)
	}
}

func (o *office) forSale(domain string) bool {
	_, ok := o.market.Get(market.Live, fqdn.MustParse(domain))
	return ok
}

func equal(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\ngot  %s\nwant %s", what, got, want)
	}
}

func TestPortfolioFromClaimToSale(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ada := as(t.Context(), "acc_ada")
		claim := o.add(ada, t, " CobaltPine.COM. ")
		if claim.Domain != "cobaltpine.com" || claim.Status != "pending" || claim.Proof.Type != "TXT" ||
			claim.Proof.Name != "_namewharf.cobaltpine.com" || len(claim.Proof.Value) < 26 {
			t.Errorf("claim: %+v", claim)
		}
		if again := o.add(ada, t, "cobaltpine.com"); again != claim {
			t.Errorf("claimed again: %+v, want %+v", again, claim)
		}
		o.add(ada, t, "emberlane.org")
		o.add(ada, t, "bücher.com")
		const verify = `{"op":"verify","domains":["cobaltpine.com","emberlane.org"]}`
		equal(t, "a price before the offer", o.bulk(ada, t, `{"op":"set_price","domains":["cobaltpine.com"],"params":{"priceCents":5}}`), "cobaltpine.com conflict")
		equal(t, "offered before the proof", o.bulk(ada, t, `{"op":"list","domains":["cobaltpine.com"],"params":{"priceCents":250000,"currency":"EUR"}}`), "cobaltpine.com ok")
		if o.forSale("cobaltpine.com") {
			t.Error("a name is for sale before its proof")
		}
		equal(t, "without a record", o.bulk(ada, t, verify), "cobaltpine.com conflict, emberlane.org conflict")
		o.registry.SetTXT(claim.Proof.Name, "x"+claim.Proof.Value, strings.ToLower(claim.Proof.Value))
		equal(t, "with another record", o.bulk(ada, t, verify), "cobaltpine.com conflict, emberlane.org conflict")
		o.publish(claim)
		equal(t, "with the record", o.bulk(ada, t, verify), "cobaltpine.com ok, emberlane.org conflict")
		if !o.forSale("cobaltpine.com") {
			t.Error("an offered name is not for sale after its proof")
		}
		equal(t, "again", o.bulk(ada, t, `{"op":"verify","domains":["cobaltpine.com"]}`), "cobaltpine.com ok")
		equal(t, "another price", o.bulk(ada, t, `{"op":"set_price","domains":["cobaltpine.com"],"params":{"priceCents":300000}}`), "cobaltpine.com ok")
		equal(t, "portfolio", o.portfolioOf(ada, t), "cobaltpine.com verified 300000 USD, emberlane.org pending, xn--bcher-kva.com pending")

		equal(t, "unlisted", o.bulk(ada, t, `{"op":"unlist","domains":["cobaltpine.com","emberlane.org"]}`), "cobaltpine.com ok, emberlane.org ok")
		if o.forSale("cobaltpine.com") {
			t.Error("an unlisted name is for sale")
		}
		equal(t, "listed again", o.bulk(ada, t, `{"op":"list","domains":["cobaltpine.com"],"params":{"priceCents":1}}`), "cobaltpine.com ok")
		if !o.forSale("cobaltpine.com") {
			t.Error("a proven name is not for sale at once")
		}
		equal(t, "removed", o.bulk(ada, t, `{"op":"remove","domains":["cobaltpine.com","bücher.com"]}`), "cobaltpine.com ok, xn--bcher-kva.com ok")
		equal(t, "portfolio", o.portfolioOf(ada, t), "emberlane.org pending")
		if o.forSale("cobaltpine.com") {
			t.Error("a removed name is for sale")
		}
		if other := o.add(ada, t, "cobaltpine.com"); other.Proof == claim.Proof {
			t.Error("the proof of a removed claim is asked for again, and is still in the DNS")
		}
		equal(t, "what happened", o.log(t, "acc_ada"), "added cobaltpine.com, removed xn--bcher-kva.com, removed cobaltpine.com, "+
			"verified cobaltpine.com, added xn--bcher-kva.com, added emberlane.org, added cobaltpine.com")
	})
}

// log is what happened to the account's names, the latest first; that of one call in the reverse order of the names.
func (o *office) log(t testing.TB, account string) string {
	t.Helper()
	events, err := o.portfolio.Log(t.Context(), account, 100)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range events {
		lines = append(lines, string(e.Kind)+" "+e.Domain.String())
	}
	return strings.Join(lines, ", ")
}

func TestTheNewestProofWins(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ada, bob := as(t.Context(), "acc_ada"), as(t.Context(), "acc_bob")
		adas, bobs := o.add(ada, t, "cobaltpine.com"), o.add(bob, t, "cobaltpine.com")
		if adas.Proof.Value == bobs.Proof.Value {
			t.Fatal("two accounts prove a name by the same record")
		}
		const verify, list = `{"op":"verify","domains":["cobaltpine.com"]}`, `{"op":"list","domains":["cobaltpine.com"],"params":{"priceCents":%d}}`
		o.publish(adas)
		equal(t, "ada", o.bulk(ada, t, verify), "cobaltpine.com ok")
		equal(t, "ada offers", o.bulk(ada, t, fmt.Sprintf(list, 1)), "cobaltpine.com ok")
		equal(t, "bob, by ada's record", o.bulk(bob, t, verify), "cobaltpine.com conflict")
		equal(t, "bob offers what ada sells", o.bulk(bob, t, fmt.Sprintf(list, 2)), "cobaltpine.com conflict")

		o.publish(adas, bobs) // ada's record was left behind
		equal(t, "bob, by his", o.bulk(bob, t, verify), "cobaltpine.com ok")
		equal(t, "bob offers what is his", o.bulk(bob, t, fmt.Sprintf(list, 2)), "cobaltpine.com ok")
		if offer, ok := o.market.Get(market.Live, fqdn.MustParse("cobaltpine.com")); !ok || offer.PriceCents != 2 {
			t.Errorf("for sale: %+v, %v; want bob's", offer, ok)
		}
		equal(t, "ada's portfolio", o.portfolioOf(ada, t), "cobaltpine.com pending 1 USD")
		equal(t, "bob's portfolio", o.portfolioOf(bob, t), "cobaltpine.com verified 2 USD")
		equal(t, "ada's log", o.log(t, "acc_ada"), "displaced cobaltpine.com, verified cobaltpine.com, added cobaltpine.com")
		equal(t, "ada, by the record that was left behind", o.bulk(ada, t, verify), "cobaltpine.com conflict")
		equal(t, "ada offers what bob sells", o.bulk(ada, t, fmt.Sprintf(list, 3)), "cobaltpine.com conflict")
		if offer, _ := o.market.Get(market.Live, fqdn.MustParse("cobaltpine.com")); offer.PriceCents != 2 {
			t.Errorf("for sale: %+v; want bob's as it was", offer)
		}

		next := o.add(ada, t, "cobaltpine.com")
		o.publish(next, bobs)
		equal(t, "ada, by another record", o.bulk(ada, t, verify), "cobaltpine.com ok")
		equal(t, "bob's portfolio", o.portfolioOf(bob, t), "cobaltpine.com pending 2 USD")
		if offer, _ := o.market.Get(market.Live, fqdn.MustParse("cobaltpine.com")); offer.PriceCents != 1 {
			t.Errorf("for sale: %+v; want ada's", offer)
		}
		equal(t, "bob removes his claim", o.bulk(bob, t, `{"op":"remove","domains":["cobaltpine.com"]}`), "cobaltpine.com ok")
		if !o.forSale("cobaltpine.com") {
			t.Error("removing a claim takes another account's name from sale")
		}
	})
}

func TestPortfolioIsPrivate(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ada, bob := as(t.Context(), "acc_ada"), as(t.Context(), "acc_bob")
		o.mustOwn(ada, t, "cobaltpine.com")
		o.bulk(ada, t, `{"op":"list","domains":["cobaltpine.com"],"params":{"priceCents":1}}`)
		nowhere, err := o.set.Named("bulk_domains").Call(bob, []byte(`{"op":"remove","domains":["quietmeadow.com"]}`))
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []string{`"list","params":{"priceCents":5}`, `"set_price","params":{"priceCents":5}`, `"unlist"`, `"verify"`, `"refresh"`, `"remove"`} {
			in = `{"domains":["cobaltpine.com"],"op":` + in + `}`
			answer, err := o.set.Named("bulk_domains").Call(bob, []byte(in))
			got := strings.ReplaceAll(string(answer.JSON), "cobaltpine.com", "quietmeadow.com")
			if _, rest, _ := strings.Cut(string(nowhere.JSON), ","); err != nil || !strings.HasSuffix(got, rest) {
				t.Errorf("%s by another account: %s, %v; want the answer for a name of nobody: %s", in, got, err, nowhere.JSON)
			}
		}
		equal(t, "ada's portfolio", o.portfolioOf(ada, t), "cobaltpine.com verified 1 USD")
		equal(t, "bob's portfolio", o.portfolioOf(bob, t), "")

		o.add(ada, t, "emberlane.org")
		first, err := call[tools.DomainsOut](ada, t, &o.fixture, "list_domains", `{"limit":1}`)
		if err != nil || first.Page.NextCursor == "" {
			t.Fatalf("first page: %+v, %v", first, err)
		}
		if _, err := o.set.Named("list_domains").Call(bob, fmt.Appendf(nil, `{"cursor":%q}`, first.Page.NextCursor)); !fault.Is(err, fault.Validation) {
			t.Errorf("another account's cursor: %v, want a validation error", err)
		}
	})
}

func TestPortfolioNeedsTheScope(t *testing.T) {
	t.Parallel()
	o := newOffice(t, storetest.Open(t, store.Config{Temporary: true}))
	for name, in := range map[string]string{
		"add_domain": `{"domain":"cobaltpine.com"}`, "list_domains": `{}`, "bulk_domains": `{"op":"verify","domains":["a.com"]}`,
	} {
		if _, err := o.set.Named(name).Call(t.Context(), []byte(in)); !fault.Is(err, fault.AuthenticationRequired) {
			t.Errorf("%s, anonymous: %v, want authentication_required", name, err)
		}
		if _, err := o.set.Named(name).Call(signedIn(t.Context()), []byte(in)); !fault.Is(err, fault.InsufficientScope) || fault.From(err).Scope != tools.ScopeDomains {
			t.Errorf("%s, for prices only: %v, want insufficient_scope", name, err)
		}
		answer, err := o.set.Named(name).Call(as(t.Context(), "acc_1"), []byte(in))
		if err != nil || answer.Public || !o.set.Named(name).PerCaller {
			t.Errorf("%s: public %v, %v; want an answer for the caller alone", name, answer.Public, err)
		}
	}
	batchOp := o.set.Named("batch_lookup")
	answer, err := batchOp.Call(as(t.Context(), "acc_1"), []byte(`{"operations":[{"id":"a","op":"bulk_domains","params":{"op":"verify","domains":["a.com"]}},{"id":"b","op":"list_domains"},{"id":"c","op":"add_domain"}]}`))
	if err != nil || strings.Count(string(answer.JSON), `"ok":false`) != 3 {
		t.Errorf("in a batch: %s, %v; want three refusals", answer.JSON, err)
	}
}

func TestPortfolioRefuses(t *testing.T) {
	t.Parallel()
	o := newOffice(t, storetest.Open(t, store.Config{Temporary: true}))
	ctx := as(t.Context(), "acc_1")
	many := `"a.com"` + strings.Repeat(`,"a.com"`, tools.MaxBulk)
	for _, test := range []struct{ op, in, field string }{
		{"add_domain", `{}`, "domain"},
		{"add_domain", `{"domain":"com"}`, "domain"},
		{"add_domain", `{"domain":"co.uk"}`, "domain"},
		{"add_domain", `{"domain":"www.cobaltpine.com"}`, "domain"},
		{"add_domain", `{"domain":"a.nosuchsuffix"}`, "domain"},
		{"add_domain", `{"domain":"a_b.com"}`, "domain"},
		{"add_domain", `{"domain":"192.0.2.1"}`, "domain"},
		{"list_domains", `{"limit":101}`, "limit"},
		{"list_domains", `{"cursor":"eyJhIjoxfQ"}`, "cursor"},
		{"bulk_domains", `{"op":"sell","domains":["a.com"]}`, "op"},
		{"bulk_domains", `{"op":"verify","domains":[]}`, "domains"},
		{"bulk_domains", `{"op":"verify","domains":[` + many + `]}`, "domains"},
		{"bulk_domains", `{"op":"verify"}`, "domains"},
		{"bulk_domains", `{"op":"verify","domains":["a.com"],"dryrun":true}`, "dryrun"},
		{"bulk_domains", `{"op":"verify","domains":["a.com"],"dry_run":"yes"}`, "dry_run"},
		{"bulk_domains", `{"op":"verify","domains":["a.com"],"params":{"priceCents":5}}`, "params"},
		{"bulk_domains", `{"op":"list","domains":["a.com"]}`, "params.priceCents"},
		{"bulk_domains", `{"op":"list","domains":["a.com"],"params":{"currency":"USD"}}`, "params.priceCents"},
		{"bulk_domains", `{"op":"list","domains":["a.com"],"params":{"priceCents":0}}`, "params.priceCents"},
		{"bulk_domains", `{"op":"list","domains":["a.com"],"params":{"priceCents":1.5}}`, "params.priceCents"},
		{"bulk_domains", `{"op":"set_price","domains":["a.com"],"params":{"priceCents":5,"currency":"usd"}}`, "params.currency"},
		{"bulk_domains", `{"op":"set_price","domains":["a.com"],"params":{"price":5}}`, "params.price"},
	} {
		_, err := o.set.Named(test.op).Call(ctx, []byte(test.in))
		if f := fault.From(err); f == nil || f.Code != fault.Validation || len(f.Fields) == 0 || f.Fields[0].Field != test.field {
			t.Errorf("%s(%.80s): %v, want a validation error on %s", test.op, test.in, err, test.field)
		}
	}
}

// What the operations answer is what their schemas say.
func TestPortfolioAnswersFit(t *testing.T) {
	t.Parallel()
	o := newOffice(t, storetest.Open(t, store.Config{Temporary: true}))
	ctx := as(t.Context(), "acc_1")
	o.mustOwn(ctx, t, "cobaltpine.com")
	for _, test := range []struct{ op, in string }{
		{"add_domain", string(o.set.Named("add_domain").Example)},
		{"bulk_domains", string(o.set.Named("bulk_domains").Example)},
		{"bulk_domains", `{"op":"list","domains":["cobaltpine.com","a..b"],"params":{"priceCents":5}}`},
		{"bulk_domains", `{"op":"refresh","domains":["cobaltpine.com","fault-503.broken.test"]}`},
		{"list_domains", string(o.set.Named("list_domains").Example)},
	} {
		operation := o.set.Named(test.op)
		answer, err := operation.Call(ctx, []byte(test.in))
		if err != nil {
			t.Errorf("%s(%s): %v", test.op, test.in, err)
			continue
		}
		resolved, err := operation.Out.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(answer.JSON, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); err != nil {
			t.Errorf("%s(%s): the answer %s\n%v", test.op, test.in, answer.JSON, err)
		}
		if zero, err := operation.Zero(); err != nil || strings.Contains(strings.ReplaceAll(string(zero), `"next_cursor":null`, ""), "null") {
			t.Errorf("%s: the zero answer %s, %v", test.op, zero, err)
		}
		t.Logf("%s", answer.JSON)
	}
}

// The registry's word, as the portfolio takes it.
func TestRefreshAsksTheRegistry(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		ctx := as(t.Context(), "acc_1")
		o.mustOwn(ctx, t, "cobaltpine.com", "oldharbor.net", "quietmeadow.com", "cobaltpine.de", "fault-503.broken.test")
		before := o.registry.Requests("cobaltpine.com").RDAP
		in := `{"op":"refresh","domains":["cobaltpine.com","oldharbor.net","quietmeadow.com","cobaltpine.de","fault-503.broken.test","emberlane.org"]}`
		for range 2 {
			equal(t, "refresh", o.bulk(ctx, t, in), "cobaltpine.com ok, oldharbor.net ok, quietmeadow.com ok, cobaltpine.de ok, "+
				"fault-503.broken.test unavailable, emberlane.org not_found")
		}
		if after := o.registry.Requests("cobaltpine.com").RDAP; after != before+2*2 { // the registry and the registrar
			t.Errorf("%d RDAP requests after %d, want each refresh to ask", after, before)
		}
		equal(t, "portfolio", o.portfolioOf(ctx, t), "cobaltpine.com verified, cobaltpine.de verified, fault-503.broken.test verified, "+
			"oldharbor.net suspended, quietmeadow.com suspended")
		record, err := call[tools.WhoisOut](t.Context(), t, &o.fixture, "whois_lookup", `{"domain":"cobaltpine.com"}`)
		if err != nil {
			t.Fatal(err)
		}
		out, err := call[tools.DomainsOut](ctx, t, &o.fixture, "list_domains", `{"limit":1}`)
		if err != nil || record.ExpiresAt.IsZero() || !out.Domains[0].ExpiresAt.Equal(record.ExpiresAt) {
			t.Errorf("list_domains: %+v, %v; want it to expire at %v", out, err, record.ExpiresAt)
		}
		known, err := tools.RegistryOf(o.lookup).Registration(t.Context(), fqdn.MustParse("cobaltpine.com"), false)
		if err != nil || known.RegistrarID != record.Registrar.IANAID || known.Registrar == "" || known.Created.IsZero() || known.Ended {
			t.Errorf("registration: %+v, %v", known, err)
		}
		if n, err := o.portfolio.Recheck(t.Context()); err != nil || n != 1 { // the one about which nothing is known
			t.Errorf("re-check: %d names, %v; want 1", n, err)
		}
		_, err = tools.RegistryOf(o.lookup).Registration(t.Context(), fqdn.MustParse("fault-503.broken.test"), false)
		if f := fault.From(err); f.Code != fault.Unavailable || f.Retry <= 0 {
			t.Errorf("registration of a name that is not told: %v, want unavailable, with a time to wait", err)
		}
	})
}

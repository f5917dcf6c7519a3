package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/internal/demoregistry"
	"github.com/namewharf/namewharf/internal/oauthtest"
	"github.com/namewharf/namewharf/internal/programtest"
	"github.com/namewharf/namewharf/market"
)

const mine = "/api/domains"

// An owner is a person whose application manages their names.
type owner struct {
	*site
	*oauthtest.User
	token string
}

func (s *site) owner(t *testing.T) *owner {
	t.Helper()
	oauth := s.oauth(t)
	person := oauth.SignedInUser()
	return &owner{s, person, person.Tokens(oauth.NewClient(), nil).Access}
}

// A claim is a name in a portfolio.
type claim struct {
	Domain, Status string
	Proof          struct{ Type, Name, Value string }
	Listing        *struct {
		Price struct {
			Cents int64 `json:"priceCents"`
		}
	}
	ExpiresAt time.Time `json:"expires_at"`
}

// add claims a name.
func (o *owner) add(t *testing.T, name string) claim {
	t.Helper()
	r := o.asks(t, "POST", mine, fmt.Sprintf(`{"domain":%q}`, name), o.token)
	var c claim
	if err := json.Unmarshal([]byte(r.text), &c); err != nil || r.StatusCode != http.StatusCreated {
		t.Fatalf("adding %s: got %d %s", name, r.StatusCode, r.text)
	}
	return c
}

// A bulk is the answer to a bulk change.
type bulk struct {
	Op      string
	DryRun  bool `json:"dry_run"`
	Results []struct {
		Domain string
		OK     bool
		Error  problem
	}
	Succeeded, Failed int
}

// change makes a bulk change; more is the rest of its body.
func (o *owner) change(t *testing.T, op string, names []string, more string) bulk {
	t.Helper()
	domains, _ := json.Marshal(names)
	b := as[bulk](t, o.asks(t, "POST", mine+"/bulk/"+op, fmt.Sprintf(`{"domains":%s%s}`, domains, more), o.token))
	if b.Op != op || len(b.Results) != len(names) || b.Succeeded+b.Failed != len(names) {
		t.Fatalf("%s of %d names: got %d results, %d and %d", b.Op, len(names), len(b.Results), b.Succeeded, b.Failed)
	}
	return b
}

// prove publishes the proof of a claim.
func (o *owner) prove(c claim) { o.registry.SetTXT(c.Proof.Name, c.Proof.Value) }

// walk reads a list of the API to its end, and calls each for the raw items.
func walk(t *testing.T, get func(cursor string) reply, member string, each func(json.RawMessage)) {
	t.Helper()
	for cursor := ""; ; {
		r := get(cursor)
		var page struct {
			Next string `json:"next_cursor"`
		}
		all := as[map[string]json.RawMessage](t, r)
		var items []json.RawMessage
		if json.Unmarshal(all[member], &items) != nil || json.Unmarshal(all["page"], &page) != nil {
			t.Fatalf("not a page of %s: %s", member, r.text)
		}
		for _, item := range items {
			each(item)
		}
		if page.Next == "" {
			return
		}
		cursor = "&cursor=" + page.Next
	}
}

// portfolio is all of it.
func (o *owner) portfolio(t *testing.T) (all []claim) {
	t.Helper()
	walk(t, func(cursor string) reply { return o.asks(t, "GET", mine+"?limit=100"+cursor, "", o.token) }, "domains", func(raw json.RawMessage) {
		var c claim
		if err := json.Unmarshal(raw, &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	})
	return all
}

// expiry is known once the registry was asked, which happens by itself.
var expiry = regexp.MustCompile(`,"expires_at":"[^"]*"`)

// dump is every claim of the owner, and every listing of these names, a line each.
func (o *owner) dump(t *testing.T, names []string) string {
	t.Helper()
	var b strings.Builder
	line := func(raw json.RawMessage) { fmt.Fprintf(&b, "%s\n", expiry.ReplaceAll(raw, nil)) }
	walk(t, func(cursor string) reply { return o.asks(t, "GET", mine+"?limit=100"+cursor, "", o.token) }, "domains", line)
	walk(t, func(cursor string) reply {
		return o.asks(t, "GET", listings+"?limit=100&sort=name"+cursor, "", o.token)
	}, "listings", func(raw json.RawMessage) {
		var l claim
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(names, l.Domain) { // those of other tests come and go
			line(raw)
		}
	})
	return b.String()
}

// firstChange is the first line in which two dumps differ.
func firstChange(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: %s\nwant %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

// forSale is the listings of the market with the words, as anonymous callers see them.
func (s *site) forSale(t *testing.T, words string) string {
	t.Helper()
	return s.do(t, "GET", listings+"?"+url.Values{"q": {words}, "limit": {"100"}}.Encode(), "").text
}

// All names that are proven here are registered: the program asks about them in between.
func TestPortfolio(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off", "-demo=false", "-bootstrap-url", "off")
	t.Run("from claim to sale", func(t *testing.T) { t.Parallel(); s.claimToSale(t) })
	t.Run("a thousand names", func(t *testing.T) { t.Parallel(); s.thousandNames(t) })
	t.Run("through an assistant", func(t *testing.T) { t.Parallel(); s.assistantChanges(t) })
	t.Run("on the page", func(t *testing.T) { t.Parallel(); s.portfolioPage(t) })
}

// claimToSale follows one name, which shows on the market between its proof and its end there and never else.
func (s *site) claimToSale(t *testing.T) {
	o, rival := s.owner(t), s.owner(t)
	const name = "cobaltpine.net"
	shown := func() bool { return strings.Contains(s.forSale(t, name), `"domain":"`+name+`"`) }
	c := o.add(t, name)
	if c.Status != "pending" || c.Proof.Type != "TXT" || c.Proof.Name != "_namewharf."+name || len(c.Proof.Value) < 26 {
		t.Fatalf("the claim is %+v", c)
	}
	if again := o.add(t, name); again.Proof != c.Proof {
		t.Errorf("claimed again: %+v, want the same proof", again.Proof)
	}
	other := rival.add(t, name)
	if other.Proof.Value == c.Proof.Value {
		t.Error("two accounts have one proof")
	}
	if b := o.change(t, "list", []string{name}, `,"params":{"priceCents":123400}`); b.Succeeded != 1 {
		t.Errorf("offering a name before its proof: %+v", b)
	}
	if shown() {
		t.Error("the name is for sale before its proof")
	}
	if b := o.change(t, "verify", []string{name}, ""); b.Failed != 1 || b.Results[0].Error.Code != "conflict" {
		t.Errorf("verifying without the record: %+v", b)
	}
	s.registry.SetTXT(c.Proof.Name, "v=spf1 -all", other.Proof.Value+"x", c.Proof.Value)
	if b := rival.change(t, "verify", []string{name}, ""); b.Succeeded != 0 {
		t.Errorf("the rival's proof is not there: %+v", b)
	}
	if b := o.change(t, "verify", []string{name}, ""); b.Succeeded != 1 {
		t.Fatalf("verifying: %+v", b)
	}
	if !shown() {
		t.Error("the name is not for sale after its proof")
	}
	r := o.asks(t, "GET", listings+"?q="+name, "", o.token)
	if !strings.Contains(r.text, `"priceCents":123400`) || strings.Contains(s.forSale(t, name), "123400") {
		t.Errorf("the price is not real for token holders, or not masked for others: %s", r.text)
	}
	o.change(t, "set_price", []string{name}, `,"params":{"priceCents":99900}`)
	for _, claim := range o.portfolio(t) {
		if claim.Domain != name || claim.Status != "verified" || claim.Listing == nil || claim.Listing.Price.Cents != 99900 {
			t.Errorf("the portfolio has %+v", claim)
		}
	}
	if b := rival.change(t, "unlist", []string{name}, ""); b.Succeeded != 1 || !shown() {
		t.Errorf("the rival, who claims the name and has no offer, took the owner's from sale: %+v", b)
	}
	rival.prove(other)
	if b := rival.change(t, "verify", []string{name}, ""); b.Succeeded != 1 {
		t.Fatalf("the rival's proof: %+v", b)
	}
	if shown() {
		t.Error("the name is for sale by who lost it")
	}
	if all := o.portfolio(t); len(all) != 1 || all[0].Status != "pending" {
		t.Errorf("who lost the name has %+v", all)
	}
	o.prove(c)
	if b := o.change(t, "verify", []string{name}, ""); b.Succeeded != 0 {
		t.Errorf("a record that was left behind proved the name again: %+v", b)
	}
	o.change(t, "remove", []string{name}, "")
	if len(o.portfolio(t)) != 0 {
		t.Error("the name is still in the portfolio")
	}
}

// samples are names that the demo sells, which the registry has.
func samples(t *testing.T) (names []string) {
	t.Helper()
	rows, err := csv.NewReader(market.Demo()).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		if !strings.HasSuffix(row[0], ".example") {
			names = append(names, row[0])
		}
	}
	return names
}

// thousandNames changes a thousand names in one call, of which some are another account's, of no account, or no names.
func (s *site) thousandNames(t *testing.T) {
	o, rival := s.owner(t), s.owner(t)
	const own = 120
	registered := samples(t)
	names, foreign := slices.Clone(registered[:own]), registered[own:own+5]
	want := make([]string, own, 1000)
	var adding sync.WaitGroup
	for part := range slices.Chunk(names, own/4) {
		adding.Go(func() {
			for _, name := range part {
				if r := o.asks(t, "POST", mine, fmt.Sprintf(`{"domain":%q}`, name), o.token); r.StatusCode != http.StatusCreated {
					t.Errorf("adding %s: got %d %s", name, r.StatusCode, r.text)
				} else {
					var c claim
					_ = json.Unmarshal([]byte(r.text), &c)
					o.prove(c)
				}
			}
		})
	}
	adding.Wait()
	for _, name := range foreign {
		rival.prove(rival.add(t, name))
		names, want = append(names, name), append(want, "not_found")
	}
	for i := len(names); i < 800; i++ {
		names, want = append(names, fmt.Sprintf("nobody-%d.org", i)), append(want, "not_found")
	}
	for _, bad := range []string{"", "a b.org", "-.org", "a..org", strings.Repeat("a", 64) + ".org", "_x.org", "127.0.0.1"} {
		names, want = append(names, bad), append(want, "validation_error")
	}
	for i := len(names); i < 1000; i++ {
		names, want = append(names, fmt.Sprintf("bad_%d.org", i)), append(want, "validation_error")
	}
	mixed, expected := make([]string, 1000), make([]string, 1000)
	for i := range names { // each kind of name between the others
		at := i * 7 % 1000
		mixed[at], expected[at] = names[i], want[i]
	}
	rival.change(t, "verify", foreign[:2], "")
	rival.change(t, "list", foreign[:2], `,"params":{"priceCents":700}`)
	before := rival.dump(t, foreign)
	for _, step := range []struct{ op, more string }{
		{"verify", ""},
		{"list", `,"params":{"priceCents":500000}`},
		{"set_price", `,"params":{"priceCents":600000,"currency":"EUR"}`},
		{"unlist", ""},
		{"remove", ""},
	} {
		began := o.dump(t, names[:own])
		dry := o.change(t, step.op, mixed, step.more+`,"dry_run":true`)
		if now := o.dump(t, names[:own]); now != began {
			t.Errorf("the dry run of %s changed something: %s", step.op, firstChange(now, began))
		}
		wet := o.change(t, step.op, mixed, step.more)
		if !dry.DryRun || wet.DryRun || fmt.Sprint(dry.Results) != fmt.Sprint(wet.Results) {
			t.Errorf("%s and its dry run differ: %d and %d succeeded", step.op, wet.Succeeded, dry.Succeeded)
		}
		for i, r := range wet.Results {
			if r.OK != (expected[i] == "") || r.Error.Code != expected[i] || r.Error.RequestID != "" {
				t.Errorf("%s of %q: got %+v, want %q", step.op, mixed[i], r, expected[i])
			}
		}
		if wet.Succeeded != own {
			t.Errorf("%s: %d succeeded, want %d", step.op, wet.Succeeded, own)
		}
		if offered := strings.Count(o.dump(t, names[:own]), `"listed_at"`); offered != map[string]int{"list": own, "set_price": own}[step.op] {
			t.Errorf("after %s, %d names are for sale", step.op, offered)
		}
	}
	if after := rival.dump(t, foreign); after != before {
		t.Errorf("the rival's names changed: %s", firstChange(after, before))
	}
	for _, bad := range []struct{ op, body string }{
		{"list", `{"domains":["a.org"]}`},
		{"list", `{"domains":["a.org"],"params":{"priceCents":0}}`},
		{"unlist", `{"domains":["a.org"],"params":{"priceCents":1}}`},
		{"verify", `{"domains":[]}`},
		{"sell", `{"domains":["a.org"]}`},
		{"verify", `{"domains":["a.org"` + strings.Repeat(`,"a.org"`, 1000) + `]}`},
		{"list", `{"domains":["a.org"],"params":{"priceCents":100,"currency":"usd"}}`},
	} {
		if r := o.asks(t, "POST", mine+"/bulk/"+bad.op, bad.body, o.token); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %.80s: got %d, want 400", bad.op, bad.body, r.StatusCode)
		}
	}
}

// assistantChanges changes names through MCP, where a call is a dry run unless it says otherwise.
func (s *site) assistantChanges(t *testing.T) {
	o := s.owner(t)
	o.prove(o.add(t, "emberlane.net"))
	call := func(era, arguments string) bulk {
		t.Helper()
		r := s.mcp(t, "/mcp", era, "bulk_domains", message(era, "bulk_domains", arguments), "Authorization", "Bearer "+o.token)
		var m toolMessage
		var b bulk
		if err := json.Unmarshal([]byte(r.text), &m); err != nil || json.Unmarshal(m.Result.StructuredContent, &b) != nil || m.Result.IsError {
			t.Fatalf("bulk_domains in %s: got %d %s", era, r.StatusCode, r.text)
		}
		return b
	}
	status := func() string { return o.portfolio(t)[0].Status }
	if b := call(modern, `{"op":"verify","domains":["emberlane.net","foreign.net","no name"]}`); !b.DryRun || b.Succeeded != 1 || b.Failed != 2 || status() != "pending" {
		t.Errorf("by default: %+v, and the name is %s; want a dry run", b, status())
	}
	if b := call(legacy, `{"op":"verify","domains":["emberlane.net"],"dry_run":false}`); b.DryRun || b.Succeeded != 1 || status() != "verified" {
		t.Errorf("dry_run false: %+v, and the name is %s", b, status())
	}
	call(modern, `{"op":"list","domains":["emberlane.net"],"params":{"priceCents":77000},"dry_run":false}`)
	if !strings.Contains(s.forSale(t, "emberlane.net"), `"domain":"emberlane.net"`) {
		t.Error("the name is not for sale")
	}
	call(modern, `{"op":"remove","domains":["emberlane.net"],"dry_run":false}`)
}

// portfolioPage does it all with the forms of the page.
func (s *site) portfolioPage(t *testing.T) {
	person := s.oauth(t).SignedInUser()
	const name, page = "emberlane.org", "/account/domains"
	do := func(what string, fields url.Values) oauthtest.Answer {
		t.Helper()
		fields.Set("do", what)
		return person.Submit(page, fields)
	}
	a := person.SubmitForm(person.Open(page), page, url.Values{"domain": {name}, "do": {"add"}})
	at := strings.Index(a.Text, "namewharf-verification=")
	if a.Status != http.StatusOK || at < 0 || !strings.Contains(a.Text, "_namewharf."+name) {
		t.Fatalf("adding: got %d %s", a.Status, a.Text)
	}
	proof := a.Text[at : at+len("namewharf-verification=")+26]
	if a := do("verify", url.Values{"domain": {name}}); a.Status == http.StatusOK && !strings.Contains(a.Text, `role="alert"`) {
		t.Errorf("verifying without the record: got %d %s", a.Status, a.Text)
	}
	s.registry.SetTXT("_namewharf."+name, proof)
	do("verify", url.Values{"domain": {name}})
	do("list", url.Values{"domain": {name}, "price": {"1234.50"}})
	if !strings.Contains(s.forSale(t, name), `"domain":"`+name+`"`) {
		t.Error("the name is not for sale")
	}
	do("unlist", url.Values{"domain": {name}})
	if strings.Contains(s.forSale(t, name), `"domain":"`+name+`"`) {
		t.Error("the name is still for sale")
	}
	if a := do("remove", url.Values{"domain": {name}}); strings.Contains(a.Text, "namewharf-verification=") {
		t.Errorf("the name is still on the page:\n%s", a.Text)
	}
}

// Registries are asked again about proven names, by the owner and by the program itself, and what changed hands is not
// for sale any more.
func TestNamesThatChangeHands(t *testing.T) {
	t.Parallel()
	s := open(t, "-rate-limits", "off")
	o := s.owner(t)
	const held, lost = "cobaltpine.org", "quietmeadow.org" // which is free
	for _, name := range []string{held, lost} {
		o.prove(o.add(t, name))
	}
	both := []string{held, lost}
	o.change(t, "list", both, `,"params":{"priceCents":4200}`)
	o.change(t, "verify", both, "")
	wait := func(what string) {
		t.Helper()
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			var got strings.Builder
			for _, c := range o.portfolio(t) {
				onSale := strings.Contains(s.forSale(t, c.Domain), `"domain":"`+c.Domain+`"`)
				fmt.Fprintf(&got, "%s %s %v, ", c.Domain, c.Status, onSale)
			}
			if got.String() == what {
				return
			}
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("the names are %s want %s", &got, what)
			}
		}
	}
	wait(held + " verified true, " + lost + " verified true, ")
	o.change(t, "refresh", both[:1], "")
	if c := o.portfolio(t)[0]; c.ExpiresAt.IsZero() {
		t.Errorf("%+v: the registry's date is not known", c)
	}

	// Another process on the store, whose registry says that all names expire ten days sooner. It asks by itself about
	// what was not asked about since the proof.
	earlier, err := demoregistry.Start(demoregistry.Config{Now: func() time.Time { return clock().AddDate(0, 0, -10) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = earlier.Close() })
	there := openOn(t, earlier, earlier.File(), "-data", s.data, "-base-url", s.url, "-rate-limits", "off")
	wait(held + " verified true, " + lost + " suspended false, ")
	(&owner{there, o.User, o.token}).change(t, "refresh", both[:1], "")
	wait(held + " suspended false, " + lost + " suspended false, ")

	if b := o.change(t, "set_price", both, `,"params":{"priceCents":1}`); b.Succeeded != 2 {
		t.Errorf("another price: %+v", b)
	}
	if b := o.change(t, "verify", both, ""); b.Succeeded != 0 {
		t.Errorf("the records of before proved the names again: %+v", b)
	}
	wait(held + " suspended false, " + lost + " suspended false, ")
	o.prove(o.add(t, held))
	if b := o.change(t, "verify", both[:1], ""); b.Succeeded != 1 {
		t.Errorf("proven anew: %+v", b)
	}
	wait(held + " verified true, " + lost + " suspended false, ")
}

// The demo has an account, and DNS in which its owner's proofs are published already.
func TestDemoAccount(t *testing.T) {
	t.Parallel()
	p := programtest.Start(t, nil, "-demo", "-addr", "127.0.0.1:0", "-rate-limits", "off")
	s := &site{url: p.Listening(), client: &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}}
	defer s.client.CloseIdleConnections()
	oauth := s.oauth(t)
	visitor := oauth.NewUser()
	for visitor.Email = ""; visitor.Email == "" && p.Lines.Scan(); {
		_, account, found := strings.Cut(p.Lines.Text(), "e-mail ")
		if fields := strings.Fields(account); found && len(fields) == 3 {
			visitor.Email, visitor.Password = fields[0], fields[2]
		}
	}
	visitor.SignIn()
	o := &owner{s, visitor, visitor.Tokens(oauth.NewClient(), nil).Access}
	const name = "cobaltpine.io"
	o.add(t, name)
	if b := o.change(t, "verify", []string{name}, ""); b.Succeeded != 1 {
		t.Errorf("verifying a name in the demo: %+v", b)
	}
	o.change(t, "list", []string{name}, `,"params":{"priceCents":4200}`)
	if !strings.Contains(s.forSale(t, name), `"domain":"`+name+`"`) {
		t.Error("the name is not for sale")
	}
}

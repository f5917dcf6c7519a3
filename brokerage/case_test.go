package brokerage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// toAgreed takes a case up to AGREED.
func toAgreed(price int64) []brokerage.Change {
	return []brokerage.Change{
		{Action: brokerage.Contact, PublicNote: "The owner was written to.", PrivateNote: "by mail to the registrant"},
		{Action: brokerage.Negotiate, PrivateNote: "wants 9 000"},
		{Action: brokerage.Agree, PriceCents: price},
	}
}

func TestCase(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		opened := f.mustOpen("parked-acme.example", brokerage.Managed)
		if opened.Status != brokerage.Open || !strings.HasPrefix(opened.ProgressURL, "https://names.example/brokerage/") || opened.Budget != 500_000 {
			f.Errorf("opened: %+v", opened)
		}
		f.mustAct(opened.CaseID, toAgreed(400_001)...)
		done := f.mustAct(opened.CaseID, brokerage.Change{Action: brokerage.Complete})
		if done.Status != brokerage.Completed || done.PriceCents != 400_001 || done.PartnerShareCents != 12_000 {
			f.Errorf("completed: %+v", done)
		}
		want := []brokerage.EventData{{Case: brokerage.CaseData{
			CaseID: opened.CaseID, Domain: "parked-acme.example", Tier: brokerage.Managed, Status: brokerage.Completed,
			PriceCents: 400_001, PartnerShareCents: 12_000, Currency: "EUR",
		}}}
		if !slices.Equal(f.events, want) {
			f.Errorf("events %+v, want %+v", f.events, want)
		}
		c, err := f.Case(f.Context(), ada, opened.CaseID)
		if err != nil || c.ProgressURL != opened.ProgressURL || c.PartnerShareCents != 12_000 {
			f.Fatalf("the case: %+v, %v", c, err)
		}
		var states []brokerage.State
		for _, s := range c.Timeline {
			states = append(states, s.Status)
		}
		if !slices.Equal(states, []brokerage.State{brokerage.Open, brokerage.Contacted, brokerage.Negotiating, brokerage.Agreed, brokerage.Completed}) ||
			c.Timeline[1].Note != "The owner was written to." || c.Timeline[1].Private != "by mail to the registrant" {
			f.Errorf("timeline %+v", c.Timeline)
		}
		if !slices.Equal(f.audit, []string{"partner prt_ada brokerage.open", "grace brokerage.contact", "grace brokerage.negotiate", "grace brokerage.agree", "grace brokerage.complete"}) {
			f.Errorf("audit %q", f.audit)
		}
		_, err = f.Case(f.Context(), bea, opened.CaseID)
		f.wantCode("another partner's look at the case", err, fault.NotFound)
		_, err = f.Case(f.Context(), alive, opened.CaseID)
		f.wantCode("the look from the other environment", err, fault.NotFound)
	})
}

// Every action in every state.
func TestTransitions(t *testing.T) {
	t.Parallel()
	actions := []brokerage.Action{brokerage.Contact, brokerage.Negotiate, brokerage.Agree, brokerage.Complete, brokerage.Close}
	allowed := map[brokerage.State][]brokerage.Action{
		brokerage.Open:        {brokerage.Contact, brokerage.Close},
		brokerage.Contacted:   {brokerage.Negotiate, brokerage.Close},
		brokerage.Negotiating: {brokerage.Agree, brokerage.Close},
		brokerage.Agreed:      {brokerage.Complete, brokerage.Close},
	}
	change := func(a brokerage.Action) brokerage.Change {
		if a == brokerage.Agree {
			return brokerage.Change{Action: a, PriceCents: 100}
		}
		return brokerage.Change{Action: a}
	}
	each(t, func(f *fixture) {
		for i, state := range brokerage.States {
			for j, a := range actions {
				c := f.mustOpen(fmt.Sprintf("s%da%d.example", i, j), brokerage.Managed)
				path := []brokerage.Action{brokerage.Contact, brokerage.Negotiate, brokerage.Agree, brokerage.Complete}
				if state == brokerage.Closed {
					path = []brokerage.Action{brokerage.Close}
				} else {
					path = path[:i]
				}
				for _, step := range path {
					f.mustAct(c.CaseID, change(step))
				}
				want := fault.Code(fault.Conflict)
				if slices.Contains(allowed[state], a) {
					want = ""
				}
				_, err := f.act(c.CaseID, change(a), staff)
				f.wantCode(fmt.Sprintf("%s in %s", a, state), err, want)
			}
		}
		c := f.mustOpen("notes.example", brokerage.Managed)
		long := strings.Repeat("é", brokerage.MaxNote+1)
		for what, x := range map[string]struct {
			change brokerage.Change
			by     brokerage.Actor
			want   fault.Code
		}{
			"a close without a reason": {brokerage.Change{Action: brokerage.Close}, brokerage.Actor{Name: "grace"}, fault.Validation},
			"a price that is none":     {brokerage.Change{Action: brokerage.Agree}, staff, fault.Validation},
			"a price too high":         {brokerage.Change{Action: brokerage.Agree, PriceCents: money.MaxCents + 1}, staff, fault.Validation},
			"a price out of place":     {brokerage.Change{Action: brokerage.Contact, PriceCents: 1}, staff, fault.Validation},
			"a long note":              {brokerage.Change{Action: brokerage.Contact, PublicNote: long}, staff, fault.Validation},
			"a note that turns":        {brokerage.Change{Action: brokerage.Contact, PrivateNote: "a\u202eb"}, staff, fault.Validation},
			"an unknown action":        {brokerage.Change{Action: "burn"}, staff, fault.Validation},
			"another's case":           {brokerage.Change{Action: brokerage.Contact}, brokerage.Actor{Name: "bea", Party: bea}, fault.NotFound},
		} {
			_, err := f.act(c.CaseID, x.change, x.by)
			f.wantCode(what, err, x.want)
		}
		if _, err := f.act("bkc_nothing", brokerage.Change{Action: brokerage.Contact}, staff); !fault.Is(err, fault.NotFound) {
			f.Errorf("no case: %v", err)
		}
	})
}

// An event that cannot be emitted takes the completion back.
func TestCompletionIsOneTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		c := f.mustOpen("whole.example", brokerage.Managed)
		f.mustAct(c.CaseID, toAgreed(1000)...)
		f.fail = errors.New("no room")
		if _, err := f.act(c.CaseID, brokerage.Change{Action: brokerage.Complete}, staff); err == nil {
			f.Fatal("completed without its event")
		}
		if got, err := f.Case(f.Context(), ada, c.CaseID); err != nil || got.Status != brokerage.Agreed || got.PartnerShareCents != 0 {
			f.Errorf("after the failure: %+v, %v", got, err)
		}
	})
}

// However many ask at once, a domain has one open case in an environment; when it has ended another may be opened.
func TestOneOpenCase(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		const askers = 30
		var mu sync.Mutex
		var opened []brokerage.Case
		var all sync.WaitGroup
		for i := range askers {
			party := []brokerage.Party{ada, bea}[i%2]
			all.Go(func() {
				c, err := f.open(f.Context(), party, request("parked-one.example", brokerage.Managed))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					opened = append(opened, c)
				case !store.IsRetryable(err):
					f.wantCode("a second case", err, fault.Conflict)
				}
			})
		}
		all.Wait()
		if len(opened) != 1 {
			f.Fatalf("%d cases were opened, want one", len(opened))
		}
		e, err := f.Eligible(f.Context(), bea, fqdn.MustParse("parked-one.example"))
		if err != nil || e.Eligible || !slices.Equal(e.Reasons, []brokerage.Reason{brokerage.OpenCase}) {
			f.Errorf("eligibility beside an open case: %+v, %v", e, err)
		}
		f.mustAct(opened[0].CaseID, brokerage.Change{Action: brokerage.Close})
		if _, err := f.open(f.Context(), bea, request("parked-one.example", brokerage.Managed)); err != nil {
			f.Errorf("after the case was closed: %v", err)
		}
	})
}

func TestEligibility(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.listed["SANDBOX listed.example"], f.listed["SANDBOX active-listed.example"] = true, true
		for domain, want := range map[string][]brokerage.Reason{
			"parked-acme.example":       nil,
			"plain.test":                nil,
			"active-acme.example":       {brokerage.ActiveSite},
			"unregistered-acme.test":    {brokerage.Unregistered},
			"listed.example":            {brokerage.Listed},
			"active-listed.example":     {brokerage.ActiveSite, brokerage.Listed},
			"acme.com":                  {brokerage.Undetermined}, // not a name of the sandbox
			"sub.active-acme.example":   nil,
			"xn--bcher-kva.example":     nil,
			"inactive-acme.example":     nil,
			"active.example":            nil,
			"unregistered-acme.com":     {brokerage.Undetermined},
			"parked-acme.example.co.uk": {brokerage.Undetermined},
		} {
			e, err := f.Eligible(f.Context(), ada, fqdn.MustParse(domain))
			if err != nil || e.Eligible != (len(want) == 0) || !slices.Equal(e.Reasons, want) || e.Domain != domain {
				f.Errorf("%s: got %+v, %v, want %q", domain, e, err, want)
			}
		}
		_, err := f.open(f.Context(), ada, request("active-listed.example", brokerage.Managed))
		var got *fault.Error
		if !errors.As(err, &got) || got.Code != fault.Conflict ||
			!slices.Equal(got.Fields, []fault.Field{{Field: "domain", Reason: "active_site"}, {Field: "domain", Reason: "listed"}}) {
			f.Errorf("a case for a listed name in use: %+v", err)
		}
	})
}

// A domain of LIVE is judged by its registry and its site, outside of transactions.
func TestEligibilityLive(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		acme := fqdn.MustParse("acme.com")
		for what, c := range map[string]struct {
			r    brokerage.Registration
			want brokerage.Reason
		}{
			"not registered":        {brokerage.Registration{State: brokerage.NotRegistered}, brokerage.Unregistered},
			"unsure":                {brokerage.Registration{}, brokerage.Undetermined},
			"registered, no client": {brokerage.Registration{State: brokerage.IsRegistered}, brokerage.Undetermined},
		} {
			f.registry = c.r
			e, err := f.Eligible(f.Context(), alive, acme)
			if err != nil || e.Eligible || !slices.Equal(e.Reasons, []brokerage.Reason{c.want}) {
				f.Errorf("%s: got %+v, %v, want %s", what, e, err, c.want)
			}
		}
		r := request("acme.com", brokerage.Managed)
		var needs *brokerage.NeedsFindings
		if _, err := f.open(f.Context(), alive, r); !errors.As(err, &needs) || needs.Domain != acme {
			f.Errorf("without findings: %v", err)
		}
		f.registry = brokerage.Registration{State: brokerage.NotRegistered}
		_, err := f.open(f.Investigate(f.Context(), acme), alive, r)
		f.wantCode("a name that nobody holds", err, fault.Conflict)
		f.listed["LIVE acme.com"] = true
		if e, err := f.Eligible(f.Context(), alive, acme); err != nil || !slices.Equal(e.Reasons, []brokerage.Reason{brokerage.Listed}) {
			f.Errorf("a listed name: %+v, %v; nobody need be asked about it", e, err)
		}
	})
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for what, c := range map[string]struct {
			spoil func(*brokerage.Request)
			field string
		}{
			"no tier":             {func(r *brokerage.Request) { r.Tier = "" }, "tier"},
			"another tier":        {func(r *brokerage.Request) { r.Tier = "gold" }, "tier"},
			"no address":          {func(r *brokerage.Request) { r.BuyerEmail = "" }, "buyer_email"},
			"a name with it":      {func(r *brokerage.Request) { r.BuyerEmail = "Ada <a@b.example>" }, "buyer_email"},
			"a line feed in it":   {func(r *brokerage.Request) { r.BuyerEmail = "a@b.example\nBcc: c@d.example" }, "buyer_email"},
			"a long address":      {func(r *brokerage.Request) { r.BuyerEmail = strings.Repeat("a", 250) + "@b.example" }, "buyer_email"},
			"no budget":           {func(r *brokerage.Request) { r.Budget.Cents = 0 }, "budget"},
			"a negative budget":   {func(r *brokerage.Request) { r.Budget.Cents = -1 }, "budget"},
			"a budget beyond all": {func(r *brokerage.Request) { r.Budget.Cents = money.MaxCents + 1 }, "budget"},
			"an unknown currency": {func(r *brokerage.Request) { r.Budget.Currency = "XXQ" }, "currency"},
		} {
			r := request("bad.example", brokerage.Managed)
			c.spoil(&r)
			_, err := f.open(f.Context(), ada, r)
			var got *fault.Error
			if !errors.As(err, &got) || got.Code != fault.Validation || len(got.Fields) != 1 || got.Fields[0].Field != c.field {
				f.Errorf("%s: got %v, want a fault of %s", what, err, c.field)
			}
		}
		r := request("usd.example", brokerage.Managed)
		r.Budget.Currency = ""
		if c, err := f.open(f.Context(), ada, r); err != nil || c.Currency != "USD" {
			f.Errorf("without a currency: %+v, %v", c, err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		var want []string
		for i := range 7 {
			c := f.mustOpen(fmt.Sprintf("list%d.example", i), brokerage.Managed)
			want = append([]string{c.CaseID}, want...)
		}
		if _, err := f.open(f.Context(), bea, request("bea.example", brokerage.Managed)); err != nil {
			f.Fatal(err)
		}
		var got []string
		filter := brokerage.Filter{Limit: 3}
		for {
			page, err := f.List(f.Context(), ada, filter)
			if err != nil {
				f.Fatal(err)
			}
			for _, c := range page.Cases {
				got = append(got, c.CaseID)
				if c.ProgressURL != "" || c.Timeline != nil {
					f.Errorf("a list tells of progress links or timelines: %+v", c)
				}
			}
			if filter.After = page.Next; page.Next == nil {
				break
			}
		}
		if !slices.Equal(got, want) {
			f.Errorf("got %q, want %q", got, want)
		}
		f.mustAct(want[0], brokerage.Change{Action: brokerage.Contact})
		page, err := f.List(f.Context(), brokerage.Party{}, brokerage.Filter{Status: brokerage.Open, Environment: "SANDBOX"})
		if err != nil || len(page.Cases) != 7 {
			f.Errorf("the operator's list of what is open: %d, %v", len(page.Cases), err)
		}
		_, err = f.List(f.Context(), ada, brokerage.Filter{Limit: 101})
		f.wantCode("a long page", err, fault.Validation)
	})
}

// Example of a case from its opening to its end, with a service that a program has connected.
func Example() {
	var s *brokerage.Service // from New
	var tx store.Tx          // of the caller
	run := func(ctx context.Context) error {
		p := brokerage.Party{Partner: "prt_06bq", Environment: "LIVE"}
		r := brokerage.Request{Domain: fqdn.MustParse("brewhaven.com"), Tier: brokerage.Managed, BuyerEmail: "ada@buyer.example", Budget: money.USD(500_000)}
		ctx = s.Investigate(ctx, r.Domain) // outside of the transaction
		c, err := s.Open(ctx, tx, p, r, time.Now())
		if err != nil {
			return err
		}
		_, err = s.Transition(ctx, tx, c.CaseID, brokerage.Change{Action: brokerage.Contact}, brokerage.Actor{Name: "grace"}, time.Now())
		return err
	}
	_ = run
}

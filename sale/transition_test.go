package sale_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// A position is the state and the review of an order.
type position struct {
	state  sale.State
	review sale.Review
}

// moves are all allowed transitions, written apart from the table of the package: action, from, to, event.
var moves = map[sale.Action]map[position]struct {
	to    position
	event string
}{
	sale.StartTransfer: {
		{sale.ExternallyPaid, ""}:              {position{sale.TransferInProgress, ""}, "order.transfer_started"},
		{sale.ExternallyPaid, sale.ReviewDone}: {position{sale.TransferInProgress, sale.ReviewDone}, "order.transfer_started"},
		{sale.Paid, ""}:                        {position{sale.TransferInProgress, ""}, "order.transfer_started"},
	},
	sale.ConfirmTransfer: {
		{sale.TransferInProgress, ""}:              {position{sale.TransferCompleted, ""}, "order.transfer_completed"},
		{sale.TransferInProgress, sale.ReviewDone}: {position{sale.TransferCompleted, sale.ReviewDone}, "order.transfer_completed"},
	},
	sale.Settle: {
		{sale.TransferCompleted, ""}:              {position{sale.Settled, ""}, "order.settled"},
		{sale.TransferCompleted, sale.ReviewDone}: {position{sale.Settled, sale.ReviewDone}, "order.settled"},
	},
	sale.RefundBuyer: {
		{sale.ExternallyPaid, ""}:                  {position{sale.Refunded, ""}, "order.refunded"},
		{sale.ExternallyPaid, sale.Held}:           {position{sale.Refunded, sale.Held}, "order.refunded"},
		{sale.ExternallyPaid, sale.ReviewDone}:     {position{sale.Refunded, sale.ReviewDone}, "order.refunded"},
		{sale.Paid, ""}:                            {position{sale.Refunded, ""}, "order.refunded"},
		{sale.TransferInProgress, ""}:              {position{sale.Refunded, ""}, "order.refunded"},
		{sale.TransferInProgress, sale.ReviewDone}: {position{sale.Refunded, sale.ReviewDone}, "order.refunded"},
	},
	sale.Cancel: {
		{sale.ExternallyPaid, ""}:                  {position{sale.Cancelled, ""}, "order.refunded"},
		{sale.ExternallyPaid, sale.Held}:           {position{sale.Cancelled, sale.Held}, "order.refunded"},
		{sale.ExternallyPaid, sale.ReviewDone}:     {position{sale.Cancelled, sale.ReviewDone}, "order.refunded"},
		{sale.Paid, ""}:                            {position{sale.Cancelled, ""}, "order.refunded"},
		{sale.TransferInProgress, ""}:              {position{sale.Cancelled, ""}, "order.refunded"},
		{sale.TransferInProgress, sale.ReviewDone}: {position{sale.Cancelled, sale.ReviewDone}, "order.refunded"},
	},
	sale.Hold: {
		{sale.ExternallyPaid, ""}:              {position{sale.ExternallyPaid, sale.Held}, ""},
		{sale.ExternallyPaid, sale.ReviewDone}: {position{sale.ExternallyPaid, sale.Held}, ""},
		{sale.Paid, ""}:                        {position{sale.Paid, sale.Held}, ""},
	},
	sale.ChargeBack: {
		{sale.Paid, ""}: {position{sale.Refunded, ""}, "order.refunded"},
	},
	sale.Clear: {
		{sale.ExternallyPaid, sale.Held}: {position{sale.ExternallyPaid, sale.ReviewDone}, "order.manual_review_cleared"},
	},
}

// ways are the actions that bring a new order to a position.
var ways = map[position][]sale.Action{
	{sale.ExternallyPaid, ""}:                  {},
	{sale.ExternallyPaid, sale.Held}:           {sale.Hold},
	{sale.ExternallyPaid, sale.ReviewDone}:     {sale.Hold, sale.Clear},
	{sale.TransferInProgress, ""}:              {sale.StartTransfer},
	{sale.TransferInProgress, sale.ReviewDone}: {sale.Hold, sale.Clear, sale.StartTransfer},
	{sale.TransferCompleted, ""}:               {sale.StartTransfer, sale.ConfirmTransfer},
	{sale.TransferCompleted, sale.ReviewDone}:  {sale.Hold, sale.Clear, sale.StartTransfer, sale.ConfirmTransfer},
	{sale.Settled, ""}:                         {sale.StartTransfer, sale.ConfirmTransfer, sale.Settle},
	{sale.Settled, sale.ReviewDone}:            {sale.Hold, sale.Clear, sale.StartTransfer, sale.ConfirmTransfer, sale.Settle},
	{sale.Refunded, ""}:                        {sale.RefundBuyer},
	{sale.Refunded, sale.Held}:                 {sale.Hold, sale.RefundBuyer},
	{sale.Refunded, sale.ReviewDone}:           {sale.Hold, sale.Clear, sale.RefundBuyer},
	{sale.Cancelled, ""}:                       {sale.Cancel},
	{sale.Cancelled, sale.Held}:                {sale.Hold, sale.Cancel},
	{sale.Cancelled, sale.ReviewDone}:          {sale.Hold, sale.Clear, sale.Cancel},
	{sale.Paid, ""}:                            {},
}

var actions = []sale.Action{
	sale.StartTransfer, sale.ConfirmTransfer, sale.Settle, sale.RefundBuyer, sale.Cancel, sale.ChargeBack, sale.Hold, sale.Clear,
}

// bring makes an order of the name at the position.
func (s *fixture) bring(name fqdn.Name, where position) string {
	s.Helper()
	if where.state == sale.Paid {
		return s.mustPlacePaid(party, name).PublicID
	}
	o := s.mustPlace(party, name)
	s.mustAct(o.PublicID, ways[where]...)
	return o.PublicID
}

func TestEveryActionInEveryState(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(len(ways) * (1 + len(actions)))
		next := func() (name fqdn.Name) {
			name, names = names[0], names[1:]
			return name
		}
		for where := range ways {
			s.wantRefusals(s.bring(next(), where), where)
		}
		for a, from := range moves {
			for where := range from {
				s.wantMove(next(), where, a)
			}
		}
		s.wantRight()
	})
}

// wantRefusals tries all actions that are not allowed at the position.
func (s *fixture) wantRefusals(id string, where position) {
	s.Helper()
	before := s.dump()
	for _, a := range actions {
		if _, allowed := moves[a][where]; !allowed {
			_, err := s.act(id, a, staff)
			s.wantCode(fmt.Sprintf("%s of %v", a, where), err, fault.Conflict)
		}
	}
	if after := s.dump(); after != before {
		s.Errorf("refused actions on %v changed\n%s\nto\n%s", where, before, after)
	}
}

// wantMove does an allowed action to an order at the position, and checks all its effects.
func (s *fixture) wantMove(name fqdn.Name, where position, a sale.Action) {
	s.Helper()
	id, want := s.bring(name, where), moves[a][where]
	emittedBefore := len(s.eventsOf(id))
	got, err := s.act(id, a, staff)
	if now := (position{got.Status, got.Review}); err != nil || now != want.to {
		s.Errorf("%s of %v: got %v, %v, want %v", a, where, now, err, want.to)
		return
	}
	events := s.eventsOf(id)[emittedBefore:]
	if want.event == "" && len(events) != 0 || want.event != "" && !slices.Equal(events, []emitted{{want.event, want.to.state}}) {
		s.Errorf("%s of %v: got events %v, want %q", a, where, events, want.event)
	}
	if stored, err := s.Order(s.Context(), party, id); err != nil || !reflect.DeepEqual(stored, got) {
		s.Errorf("%s of %v: stored is %+v, %v, returned was %+v", a, where, stored, err, got)
	}
	if last := got.Timeline[len(got.Timeline)-1]; last.Status != want.to.state || last.At != s.clock.now() {
		s.Errorf("%s of %v: got %+v at the end of the timeline", a, where, last)
	}
	given := want.to.state == sale.Refunded || want.to.state == sale.Cancelled
	if listed := s.status(name) == "listed"; listed != given {
		s.Errorf("%s of %v: the name is listed: %t, want %t", a, where, listed, given)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	for state, want := range map[sale.State]sale.Action{
		sale.ExternallyPaid: sale.StartTransfer, sale.Paid: sale.StartTransfer,
		sale.TransferInProgress: sale.ConfirmTransfer, sale.TransferCompleted: sale.Settle,
		sale.Settled: "", sale.Refunded: "", sale.Cancelled: "", "": "",
	} {
		if got, ok := state.Next(); got != want || ok != (want != "") {
			t.Errorf("after %q: got %q, %t, want %q", state, got, ok, want)
		}
	}
}

func TestActionsOnWhatIsNotThere(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		o := s.mustPlace(party, ember)
		before := s.dump()
		sandbox := sale.Actor{Name: "partner", Party: other}
		live := sale.Actor{Name: "partner", Party: sale.Party{Partner: party.Partner, Environment: "LIVE"}}
		for _, c := range []struct {
			what string
			id   string
			a    sale.Action
			by   sale.Actor
			want fault.Code
		}{
			{"an order that is not there", "ord_none", sale.StartTransfer, staff, fault.NotFound},
			{"another partner's order", o.PublicID, sale.StartTransfer, sandbox, fault.NotFound},
			{"an order of the other environment", o.PublicID, sale.StartTransfer, live, fault.NotFound},
			{"an action that is none", o.PublicID, "sell", staff, fault.Validation},
		} {
			_, err := s.act(c.id, c.a, c.by)
			s.wantCode(c.what, err, c.want)
		}
		if _, err := s.act(o.PublicID, sale.Hold, sale.Actor{}); err == nil {
			t.Error("an action without an actor: got success, want a refusal")
		}
		if after := s.dump(); after != before {
			t.Errorf("refused actions changed\n%s\nto\n%s", before, after)
		}
	})
}

func TestARefund(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		o := s.mustPlace(party, ember)
		refund := func(p sale.Party, id, reason string) (r sale.Refund, err error) {
			err = s.tx(func(tx store.Tx) (err error) {
				r, err = s.Refund(t.Context(), tx, p, id, reason, s.clock.now())
				return err
			})
			return r, err
		}
		for _, c := range []struct {
			what   string
			party  sale.Party
			reason string
			want   fault.Code
		}{
			{"another partner's order", other, "", fault.NotFound},
			{"a reason that is too long", party, strings.Repeat("x", sale.MaxReason+1), fault.Validation},
			{"an order", party, "buyer withdrew", ""},
			{"the same again", party, "", fault.Conflict},
		} {
			r, err := refund(c.party, o.PublicID, c.reason)
			s.wantCode("refund "+c.what, err, c.want)
			if c.want == "" && (!strings.HasPrefix(r.RefundID, "ref_") || r.AmountCents != price || r.Currency != "USD" ||
				r.Order.Status != sale.Refunded || r.Order.PublicID != o.PublicID || r.CreatedAt != s.clock.now() || len(r.Order.Timeline) != 2) {
				t.Errorf("refund %s: got %+v", c.what, r)
			}
		}
		if n := s.count(`SELECT COUNT(*) FROM refunds WHERE order_id = $1 AND reason = 'buyer withdrew'`, o.PublicID); n != 1 {
			t.Errorf("got %d refunds with that reason, want 1", n)
		}
		records, err := audit.Lines(t.Context(), s.db, audit.Filter{Subject: o.PublicID})
		if err != nil || len(records) != 1 || records[0].Actor != "partner prt_1" || records[0].Action != "order.refund" ||
			records[0].Reason != "buyer withdrew" || string(records[0].Details) != `{"after":"REFUNDED","before":"EXTERNALLY_PAID"}` {
			t.Errorf("audit log: got %+v, %v", records, err)
		}
		s.mustPlace(other, ember) // it is for sale again
		s.wantRight()
	})
}

// A reversed sale does not relist a name that was sold or listed again meanwhile.
func TestRelistingAfterReversal(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		relist := func(name fqdn.Name) { // by somebody who bought it since
			err := s.tx(func(tx store.Tx) error {
				_, err := market.Seller{Environment: market.Sandbox, ID: "acc_2"}.Put(t.Context(), tx, []fqdn.Name{name}, money.USD(price), market.Listed, s.clock.now())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		listed := func(name fqdn.Name) int {
			return s.count(`SELECT COUNT(*) FROM listings WHERE domain = $1 AND status = 'listed'`, name.String())
		}
		all := s.names(3)

		again := all[0]
		o := s.mustPlace(party, again)
		relist(again)
		s.mustAct(o.PublicID, sale.RefundBuyer)
		if n := listed(again); n != 1 {
			t.Errorf("for sale by another already: got %d listings, want 1", n)
		}

		resold := all[1]
		first := s.mustPlace(party, resold)
		relist(resold)
		second := s.mustPlace(other, resold)
		s.mustAct(first.PublicID, sale.Cancel)
		if n := listed(resold); n != 0 {
			t.Errorf("sold by another since: got %d listings, want 0", n)
		}
		s.mustAct(second.PublicID, sale.Cancel)
		if n := listed(resold); n != 1 {
			t.Errorf("both sales undone: got %d listings, want 1", n)
		}

		withdrawn := all[2]
		o = s.mustPlace(party, withdrawn)
		s.exec(`UPDATE listings SET status = 'withdrawn' WHERE domain = $1`, withdrawn.String())
		s.mustAct(o.PublicID, sale.RefundBuyer)
		if n := listed(withdrawn); n != 0 {
			t.Errorf("the listing is gone: got %d listings, want 0", n)
		}
		s.wantRight()
	})
}

// Of a confirmation and a refund at once, one happens.
func TestParallelConfirmAndRefund(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		for _, name := range s.names(10) {
			o := s.bring(name, position{sale.TransferInProgress, ""})
			var done atomic.Int32
			var wg sync.WaitGroup
			for _, a := range []sale.Action{sale.ConfirmTransfer, sale.RefundBuyer, sale.Cancel, sale.ConfirmTransfer} {
				wg.Go(func() {
					err := s.db.Tx(context.Background(), func(tx store.Tx) error { // without turns, as of two processes
						_, err := s.Transition(context.Background(), tx, o, a, staff, s.clock.now())
						return err
					})
					if err == nil {
						done.Add(1)
						return
					}
					s.wantCode(string(a)+" at the same time", err, fault.Conflict)
				})
			}
			wg.Wait()
			if n := done.Load(); n != 1 {
				t.Errorf("%s: got %d actions done, want 1", name, n)
			}
			if events := s.eventsOf(o); len(events) != 3 {
				t.Errorf("%s: got events %v, want three", name, events)
			}
		}
		s.wantRight()
	})
}

// A cancelled order is reversed as such.
func TestCancellationInTheLedger(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		o := s.mustPlace(party, ember)
		s.mustAct(o.PublicID, sale.Cancel)
		if n := s.count(`SELECT COUNT(*) FROM postings WHERE order_id = $1 AND kind = $2`, o.PublicID, ledger.Cancellation); n != 3 {
			t.Errorf("got %d postings of the cancellation, want 3", n)
		}
	})
}

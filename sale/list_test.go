package sale_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/fqdn"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// all follows the pages of a list to its end and returns the ids of its orders.
func (s *fixture) all(p sale.Party, f sale.Filter) (ids []string) {
	s.Helper()
	for {
		page, err := s.List(s.Context(), p, f)
		if err != nil || len(page.Orders) > max(f.Limit, sale.DefaultPage) {
			s.Fatalf("list %+v: got %d orders, %v", f, len(page.Orders), err)
		}
		for _, o := range page.Orders {
			ids = append(ids, o.PublicID)
		}
		if f.After = page.Next; f.After == nil {
			return ids
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(8)
		start := s.clock.now()
		var mine []string // the newest first
		for i, name := range names[:6] {
			mine = slices.Insert(mine, 0, s.mustPlace(party, name).PublicID)
			if i%2 == 1 { // two at a time
				s.clock.move(time.Hour)
			}
		}
		theirs := s.mustPlace(other, names[6]).PublicID
		s.mustAct(mine[5], sale.StartTransfer)
		s.mustAct(mine[0], sale.RefundBuyer)
		live := sale.Party{Partner: party.Partner, Environment: "LIVE"}
		for _, c := range []struct {
			what  string
			party sale.Party
			f     sale.Filter
			want  []string
		}{
			{"all of mine", party, sale.Filter{}, mine},
			{"one at a time", party, sale.Filter{Limit: 1}, mine},
			{"as many as there are", party, sale.Filter{Limit: 6}, mine},
			{"some at a time", party, sale.Filter{Limit: 4}, mine},
			{"another's", other, sale.Filter{}, []string{theirs}},
			{"in the other environment", live, sale.Filter{}, nil},
			{"an operator's", sale.Party{}, sale.Filter{Limit: 3}, append([]string{theirs}, mine...)},
			{"of a status", party, sale.Filter{Status: sale.ExternallyPaid, Limit: 2}, mine[1:5]},
			{"of a status that none has", party, sale.Filter{Status: sale.Settled}, nil},
			{"of a domain", party, sale.Filter{Domain: names[2]}, mine[3:4]},
			{"of a domain that another sold", party, sale.Filter{Domain: names[6]}, nil},
			{"from a moment on, which is in", party, sale.Filter{From: start.Add(time.Hour)}, mine[:4]},
			{"from a moment later", party, sale.Filter{From: start.Add(time.Hour + time.Microsecond)}, mine[:2]},
			{"up to a moment, which is out", party, sale.Filter{To: start.Add(time.Hour)}, mine[4:]},
			{"up to a moment later", party, sale.Filter{To: start.Add(time.Hour + time.Microsecond)}, mine[2:]},
			{"between", party, sale.Filter{From: start.Add(time.Hour), To: start.Add(2 * time.Hour), Status: sale.ExternallyPaid, Limit: 1}, mine[2:4]},
			{"between, the wrong way round", party, sale.Filter{From: start.Add(time.Hour), To: start}, nil},
		} {
			if got := s.all(c.party, c.f); !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", c.what, got, c.want)
			}
		}
	})
}

// A list that is followed shows each order once, whatever comes and changes meanwhile.
func TestAListWhileOrdersCome(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(12)
		var want, got []string
		for _, name := range names[:6] {
			want = slices.Insert(want, 0, s.mustPlace(party, name).PublicID)
		}
		f := sale.Filter{Limit: 1}
		for _, name := range names[6:] {
			page, err := s.List(t.Context(), party, f)
			if err != nil || len(page.Orders) != 1 || len(page.Orders[0].Timeline) == 0 {
				t.Fatalf("got %+v, %v", page, err)
			}
			got, f.After = append(got, page.Orders[0].PublicID), page.Next
			s.mustPlace(party, name)
			s.mustAct(page.Orders[0].PublicID, sale.StartTransfer)
		}
		if !slices.Equal(got, want) || f.After != nil {
			t.Errorf("got %v, then %v, want %v", got, f.After, want)
		}
	})
}

func TestListsRefuse(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		for what, f := range map[string]sale.Filter{
			"limit":  {Limit: sale.MaxPage + 1},
			"status": {Status: "SOLD"},
		} {
			_, err := s.List(t.Context(), party, f)
			s.wantFault(what, err, fault.Validation, what)
		}
		_, err := s.List(t.Context(), party, sale.Filter{Limit: -1})
		s.wantFault("limit below zero", err, fault.Validation, "limit")
		for what, p := range map[string]sale.Party{"another's": other, "of the other environment": {Partner: party.Partner, Environment: "LIVE"}} {
			o := s.mustPlace(party, s.names(1)[0])
			_, err := s.Order(t.Context(), p, o.PublicID)
			s.wantCode(what, err, fault.NotFound)
			s.mustAct(o.PublicID, sale.RefundBuyer)
		}
		_, err = s.Order(t.Context(), party, "ord_none")
		s.wantCode("an order that is not there", err, fault.NotFound)
	})
}

func TestTheAuditLog(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		o := s.mustPlace(party, ember)
		s.mustAct(o.PublicID, sale.Hold)
		s.clock.move(time.Minute)
		s.mustAct(o.PublicID, sale.Clear)
		err := s.tx(func(tx store.Tx) error { return s.Flag(t.Context(), tx, fqdn.MustParse("other.example"), staff) })
		if err != nil {
			t.Fatal(err)
		}
		all, err := audit.Lines(t.Context(), s.db, audit.Filter{})
		if err != nil || len(all) != 3 {
			t.Fatalf("got %+v, %v, want three lines", all, err)
		}
		want := audit.Line{
			ID: all[1].ID, At: s.clock.now(), Actor: "operator ada", Action: "order.clear", Subject: o.PublicID, Reason: "asked for",
			Details: []byte(`{"after":"EXTERNALLY_PAID","before":"EXTERNALLY_PAID","review":"cleared"}`),
		}
		if !reflect.DeepEqual(all[1], want) || all[0].Action != "domain.flag" || all[0].Subject != "other.example" || all[2].Action != "order.hold" {
			t.Errorf("got %+v", all)
		}
	})
}

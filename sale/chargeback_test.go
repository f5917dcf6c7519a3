package sale_test

import (
	"testing"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/sale"
)

// A chargeback is possible from any state in which an order stands. The name is for sale again unless it was delivered.
func TestChargeBack(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *fixture) {
		names := s.names(7)
		for i, c := range []struct {
			what   string
			before []sale.Action
			listed bool
		}{
			{"of a paid order", nil, true},
			{"of a held order", []sale.Action{sale.Hold}, true},
			{"while the name is transferred", []sale.Action{sale.StartTransfer}, true},
			{"of a delivered name", []sale.Action{sale.StartTransfer, sale.ConfirmTransfer}, false},
			{"of a settled order", []sale.Action{sale.StartTransfer, sale.ConfirmTransfer, sale.Settle}, false},
		} {
			o := s.mustPlacePaid(party, names[i])
			if o.Status != sale.Paid || o.PaymentModel != sale.ServiceCollected {
				t.Fatalf("a paid order: got %s, %s", o.Status, o.PaymentModel)
			}
			s.mustAct(o.PublicID, c.before...)
			got := s.mustAct(o.PublicID, sale.ChargeBack)
			last := got.Timeline[len(got.Timeline)-1]
			if got.Status != sale.Refunded || last.Type != "order.charged_back" {
				t.Errorf("%s: got %s, %+v", c.what, got.Status, last)
			}
			if listed := s.status(names[i]) == "listed"; listed != c.listed {
				t.Errorf("%s: the name is listed: %t, want %t", c.what, listed, c.listed)
			}
			_, err := s.act(o.PublicID, sale.ChargeBack, staff)
			s.wantCode("a second chargeback "+c.what, err, fault.Conflict)
		}
		cancelled := s.mustPlacePaid(party, names[5])
		s.mustAct(cancelled.PublicID, sale.Cancel)
		_, err := s.act(cancelled.PublicID, sale.ChargeBack, staff)
		s.wantCode("a chargeback of a cancelled order", err, fault.Conflict)
		collected := s.mustPlace(party, names[6])
		_, err = s.act(collected.PublicID, sale.ChargeBack, staff)
		s.wantCode("a chargeback of an order that the partner collected", err, fault.Conflict)
		s.wantRight()
	})
}

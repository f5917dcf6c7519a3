package sale_test

import (
	"testing"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/sale"
)

func TestAnOrderGoesItsWay(t *testing.T) {
	t.Parallel()
	eachDesk(t, func(t *testing.T, d *desk) {
		q := d.quote(party, ember)
		o, err := d.place(party, sale.Request{QuoteID: q.QuoteID, Buyer: sale.Buyer{Email: "b@example.com", Country: "DE"}})
		if err != nil {
			t.Fatal(err)
		}
		d.mustAct(o.PublicID, sale.Hold, sale.Clear, sale.StartTransfer, sale.ConfirmTransfer, sale.Settle)
		got, err := d.Order(t.Context(), party, o.PublicID)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%+v", got)
		r, err := ledger.Check(t.Context(), d.db, claims)
		t.Log(r, err)
	})
}

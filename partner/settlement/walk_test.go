package settlement_test

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/namewharf/namewharf/audit"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/partner/admin"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/partner/wiring"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

var (
	steps = flag.Int("walk-steps", 500, "steps of the random walk on each engine; the full size is 10000")
	seed  = flag.Uint64("walk-seed", 1, "seed of the random walk")
)

// A party is a partner in an environment of the walk.
type party struct {
	id, env string
	rates   ledger.Rates
	ahead   time.Duration // of its test clock
}

// A walk does random things to the books and to a model of them.
type walk struct {
	*testing.T
	model
	cfg      store.Config
	db       *store.DB
	keys     *seal.Keys
	sales    *sale.Service
	operator *admin.Operator
	rand     *rand.Rand
	now      time.Time
	parties  []*party
	listed   map[string][]*modelOrder // by environment: names for sale with their prices
	done     map[string]int
}

// Every action against a simple model: odd cents and rates, three currencies, reversals before and after payouts, months' ends,
// restarts and settlements that are interrupted. Statements, payouts, running balances, totals and all accounts are the model's to
// the cent.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		w := &walk{
			T: t, cfg: cfg, keys: seal.Random(), rand: rand.New(rand.NewPCG(*seed, 2)), now: time.Date(2026, 9, 28, 12, 0, 0, 123000, time.UTC),
			listed: map[string][]*modelOrder{}, done: map[string]int{},
		}
		w.cfg.Now = func() time.Time { return w.now }
		w.open()
		defer func() { w.db.Close() }()
		w.begin()
		for i := range *steps {
			w.now = w.now.Add(time.Second)
			w.step()
			if i%100 == 99 || i == *steps-1 {
				w.compare()
			}
			if t.Failed() {
				t.Fatalf("after step %d of -walk-seed %d; done: %v", i, *seed, w.done)
			}
		}
		t.Logf("done: %v", w.done)
	})
}

func (w *walk) open() {
	db, err := store.Open(w.Context(), w.cfg)
	w.must(err)
	w.db = db
	now := func() time.Time { return w.now }
	w.sales = wiring.New(wiring.Config{
		DB: db, Keys: w.keys, Now: now, Logger: slog.New(slog.DiscardHandler),
		Author: func(event.Stream) audit.Author { return audit.Author{Name: "walk", Now: now} },
	}).Sales
	w.operator = admin.New(db, w.keys, now, "walk")
}

func (w *walk) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// begin makes partners and names for sale.
func (w *walk) begin() {
	for _, env := range []string{"LIVE", "SANDBOX", "SANDBOX"} {
		p, err := w.operator.CreatePartner(w.Context(), "P", credential.DefaultTerms())
		w.must(err)
		w.parties = append(w.parties, &party{id: p.ID, env: env, rates: p.Terms.Rates})
	}
	w.parties = append(w.parties, &party{id: w.parties[1].id, env: "LIVE", rates: w.parties[1].rates}) // one partner in both
	for _, env := range []string{"LIVE", "SANDBOX"} {
		var csv strings.Builder
		csv.WriteString("domain,price_cents,floor_price_cents,currency,description,keywords\n")
		for i := range *steps/4 + 20 {
			o := &modelOrder{env: env, domain: fmt.Sprintf("name%d.example", i), currency: currencies[i%3], price: 1 + w.rand.Int64N(1_000_003)}
			fmt.Fprintf(&csv, "%s,%d,%d,%s,,\n", o.domain, o.price, o.price, o.currency)
			w.listed[env] = append(w.listed[env], o)
		}
		_, err := market.Import(w.Context(), w.db, strings.NewReader(csv.String()), market.ImportOptions{Environment: market.Environment(env)})
		w.must(err)
	}
}

// local is the time of a party.
func (w *walk) local(p *party) time.Time {
	if p.env == "LIVE" {
		return w.now
	}
	return w.now.Add(p.ahead)
}

func (w *walk) party(id, env string) *party {
	return w.parties[slices.IndexFunc(w.parties, func(p *party) bool { return p.id == id && p.env == env })]
}

func (w *walk) seller(p *party) sale.Party {
	return wiring.Seller(credential.Party{Partner: p.id, Environment: credential.Environment(p.env), Terms: credential.Terms{Rates: p.rates}})
}

// anyOf is one of a list, the zero value of an empty one.
func anyOf[T any](w *walk, all []T) (one T) {
	if len(all) > 0 {
		one = all[w.rand.IntN(len(all))]
	}
	return one
}

// ordersIn are the orders in one of the states.
func (w *walk) ordersIn(states ...sale.State) (all []*modelOrder) {
	for _, o := range w.orders {
		if slices.Contains(states, o.state) {
			all = append(all, o)
		}
	}
	return all
}

// step does one thing.
func (w *walk) step() {
	type action struct {
		weight int
		name   string
		do     func() bool // false: there was nothing to do it to
	}
	actions := []action{
		{24, "place", w.place},
		{20, "start", w.start},
		{20, "confirm", w.confirm},
		{3, "refund", w.refund},
		{2, "cancel", w.cancel},
		{5, "charge back", w.chargeBack},
		{4, "broker", w.broker},
		{3, "settle alone", w.settleAlone},
		{5, "settle", w.settle},
		{3, "settle, interrupted", w.settleInterrupted},
		{6, "pay out", w.createPayouts},
		{6, "end payout", w.endPayout},
		{2, "pay statement", w.payStatement},
		{5, "rates", w.changeRates},
		{8, "days", w.days},
		{2, "restart", w.restart},
		{2, "test clock", w.moveClock},
	}
	sum := 0
	for _, a := range actions {
		sum += a.weight
	}
	at := w.rand.IntN(sum)
	for _, a := range actions {
		if at -= a.weight; at < 0 {
			if a.do() {
				w.done[a.name]++
			}
			return
		}
	}
}

func (w *walk) days() bool {
	w.now = w.now.Add(time.Duration(w.rand.IntN(5*24*60)) * time.Minute)
	return true
}

func (w *walk) moveClock() bool {
	p := w.parties[1+w.rand.IntN(2)]
	by := time.Duration(w.rand.IntN(20*24)) * time.Hour
	p.ahead += by
	w.exec(`UPDATE partners SET sandbox_ahead = sandbox_ahead + $1 WHERE id = $2`, by.Microseconds(), p.id)
	return true
}

func (w *walk) exec(query string, args ...any) {
	w.Helper()
	w.must(w.db.Tx(w.Context(), func(tx store.Tx) error {
		_, err := tx.Exec(w.Context(), query, args...)
		return err
	}))
}

func (w *walk) restart() bool {
	w.must(w.db.Close())
	w.open()
	return true
}

func (w *walk) changeRates() bool {
	p := anyOf(w, w.parties)
	bp := func() ledger.BasisPoints { return ledger.BasisPoints(w.rand.IntN(10_001)) }
	rates := ledger.Rates{Service: bp(), Partner: bp(), Broker: bp(), Referral: bp()}
	w.must(w.operator.SetTerms(w.Context(), p.id, credential.Terms{Rates: rates}))
	for _, other := range w.parties {
		if other.id == p.id {
			other.rates = rates
		}
	}
	return true
}

func (w *walk) place() bool {
	p := anyOf(w, w.parties)
	if len(w.listed[p.env]) == 0 {
		return false
	}
	i := w.rand.IntN(len(w.listed[p.env]))
	o := *w.listed[p.env][i]
	w.listed[p.env] = slices.Delete(w.listed[p.env], i, i+1)
	o.partner, o.model, o.state, o.created = p.id, sale.PartnerCollected, sale.ExternallyPaid, w.local(p)
	rate, place := int64(p.rates.Service), w.sales.Place
	if w.rand.IntN(2) == 0 {
		o.model, o.state, rate, place = sale.ServiceCollected, sale.Paid, int64(p.rates.Partner), w.sales.PlacePaid
	}
	o.commission = share(o.price, rate)
	var referrer *party
	if other := anyOf(w, w.parties); o.model == sale.ServiceCollected && other.env == p.env && other != p {
		referrer = other
	}
	w.must(w.sales.Tx(w.Context(), p.env, func(tx store.Tx) error {
		placed, err := place(w.Context(), tx, w.seller(p), sale.Request{Domain: o.domain, ExpectedPrice: o.price, Currency: o.currency}, w.local(p))
		o.id = placed.PublicID
		if err != nil || referrer == nil {
			return err
		}
		_, err = ledger.Accrue(w.Context(), tx, ledger.Commission{
			Owner: ledger.Owner{Partner: referrer.id, Environment: p.env}, Source: ledger.Referral, Order: o.id,
			Amount: referrer.rates.Referral.Of(placed.Price()), At: w.local(referrer),
		})
		return err
	}))
	w.orders = append(w.orders, &o)
	if o.model == sale.ServiceCollected {
		w.accrue(p.id, ledger.ServiceCollected, &o, o.commission)
	}
	if referrer != nil {
		w.accrue(referrer.id, ledger.Referral, &o, share(o.price, int64(referrer.rates.Referral)))
	}
	return true
}

func (w *walk) accrue(partner string, source ledger.Source, o *modelOrder, amount int64) {
	if amount > 0 {
		w.commissions = append(w.commissions, &modelCommission{
			partner: partner, env: o.env, currency: o.currency, source: source, order: o, amount: amount, state: ledger.Accrued,
		})
	}
}

func (w *walk) broker() bool {
	p := anyOf(w, w.parties)
	amount := money.Amount{Cents: 1 + w.rand.Int64N(100_000), Currency: anyOf(w, currencies)}
	w.must(w.db.Tx(w.Context(), func(tx store.Tx) error {
		_, err := ledger.Accrue(w.Context(), tx, ledger.Commission{
			Owner: ledger.Owner{Partner: p.id, Environment: p.env}, Source: ledger.Brokerage, Case: store.NewID("bkc"), Amount: amount, At: w.local(p),
		})
		return err
	}))
	w.commissions = append(w.commissions, &modelCommission{
		partner: p.id, env: p.env, currency: amount.Currency, source: ledger.Brokerage, amount: amount.Cents, state: ledger.Pending, payable: true,
	})
	return true
}

// act does an action to an order and returns the time at which it was done; the zero time where there is no order.
func (w *walk) act(o *modelOrder, a sale.Action) time.Time {
	w.Helper()
	if o == nil {
		return time.Time{}
	}
	_, err := w.operator.Transition(w.Context(), o.id, a, "")
	w.must(err)
	return w.local(w.party(o.partner, o.env))
}

func (w *walk) start() bool {
	o := anyOf(w, w.ordersIn(sale.ExternallyPaid, sale.Paid))
	if w.act(o, sale.StartTransfer).IsZero() {
		return false
	}
	o.state = sale.TransferInProgress
	return true
}

func (w *walk) confirm() bool {
	o := anyOf(w, w.ordersIn(sale.TransferInProgress))
	at := w.act(o, sale.ConfirmTransfer)
	if at.IsZero() {
		return false
	}
	w.complete(o, at)
	return true
}

// back reverses an order; its name may be sold again unless it was delivered.
func (w *walk) back(o *modelOrder, a sale.Action, to sale.State) bool {
	at := w.act(o, a)
	if at.IsZero() {
		return false
	}
	w.reverse(o, to, at)
	if o.completed.IsZero() {
		w.listed[o.env] = append(w.listed[o.env], &modelOrder{env: o.env, domain: o.domain, currency: o.currency, price: o.price})
	}
	return true
}

func (w *walk) collectedBy(m sale.PaymentModel, states ...sale.State) *modelOrder {
	all := slices.DeleteFunc(w.ordersIn(states...), func(o *modelOrder) bool { return o.model != m })
	return anyOf(w, all)
}

func (w *walk) refund() bool {
	return w.back(w.collectedBy(sale.PartnerCollected, sale.ExternallyPaid, sale.TransferInProgress), sale.RefundBuyer, sale.Refunded)
}

func (w *walk) cancel() bool {
	return w.back(anyOf(w, w.ordersIn(sale.ExternallyPaid, sale.Paid, sale.TransferInProgress)), sale.Cancel, sale.Cancelled)
}

func (w *walk) chargeBack() bool {
	return w.back(w.collectedBy(sale.ServiceCollected, sale.Paid, sale.TransferInProgress, sale.TransferCompleted, sale.Settled, sale.Settled), sale.ChargeBack, sale.Refunded)
}

// settleAlone is what the sandbox's "advance" does.
func (w *walk) settleAlone() bool {
	o := anyOf(w, w.ordersIn(sale.TransferCompleted))
	if w.act(o, sale.Settle).IsZero() {
		return false
	}
	if o.statement == nil {
		o.statement = &modelStatement{partner: o.partner, env: o.env, currency: o.currency, period: ledger.PeriodOf(o.completed)}
		w.statements = append(w.statements, o.statement)
	}
	w.settled(o)
	return true
}

func (w *walk) createPayouts() bool {
	p := anyOf(w, w.parties)
	want := w.payable(p.id, p.env)
	got, err := w.operator.CreatePayouts(w.Context(), p.id, credential.Environment(p.env), "", false)
	w.must(err)
	if len(got) != len(want) {
		w.Errorf("payouts: got %+v, want %d", got, len(want))
		return false
	}
	for _, d := range got {
		i := slices.IndexFunc(want, func(p *modelPayout) bool { return p.source == d.Source && p.currency == d.Amount.Currency })
		if i < 0 || want[i].amount != d.Amount.Cents {
			w.Errorf("payout: got %+v, want one of %+v", d, want)
			continue
		}
		want[i].id = d.ID
		w.take(want[i])
	}
	return len(got) > 0
}

func (w *walk) endPayout() bool {
	p := anyOf(w, slices.DeleteFunc(slices.Clone(w.payouts), func(p *modelPayout) bool { return p.status != ledger.PayoutCreated }))
	if p == nil {
		return false
	}
	if w.rand.IntN(4) == 0 {
		_, err := w.operator.FailPayout(w.Context(), p.id, "account closed")
		w.must(err)
		w.end(p, ledger.PayoutUndelivered)
		return true
	}
	_, err := w.operator.PayPayout(w.Context(), p.id, "wire 1")
	w.must(err)
	w.end(p, ledger.PayoutSent)
	return true
}

func (w *walk) payStatement() bool {
	all := slices.DeleteFunc(w.storedStatements(), func(s ledger.Statement) bool { return s.Status != ledger.StatementOpen })
	if len(all) == 0 {
		return false
	}
	s := anyOf(w, all)
	i := slices.IndexFunc(w.statements, func(m *modelStatement) bool {
		return m.partner == s.Owner.Partner && m.env == s.Owner.Environment && w.statementLine(m) == storedLine(s)
	})
	if i < 0 {
		w.Errorf("the model has no statement %+v", s)
		return false
	}
	_, err := w.operator.MarkStatementPaid(w.Context(), s.ID, "wire 2")
	w.must(err)
	w.statements[i].paid = true
	return true
}

package settlement_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/namewharf/namewharf/ledger"
	"github.com/namewharf/namewharf/sale"
)

// A model is what the books should say, worked out in the plainest way, without a database: every sum is added up from the
// beginning whenever it is asked for.
type model struct {
	orders      []*modelOrder
	commissions []*modelCommission // in the order of time
	payouts     []*modelPayout
	statements  []*modelStatement
}

type modelOrder struct {
	id, partner, env, domain, currency string
	model                              sale.PaymentModel
	price, commission                  int64
	state                              sale.State
	created, completed                 time.Time
	statement                          *modelStatement // nil: none
	reversed                           time.Time       // after it came into a statement; zero: it was not
	reversal                           *modelStatement // that has the reversal; nil: none yet
}

type modelCommission struct {
	partner, env, currency string
	source                 ledger.Source
	order                  *modelOrder // nil: of a brokerage case
	amount                 int64
	state                  ledger.CommissionState
	payable                bool
	payout                 *modelPayout
	negative               bool
}

type modelPayout struct {
	id, partner, env, currency string
	source                     ledger.Source
	amount                     int64
	status                     ledger.PayoutStatus
}

type modelStatement struct {
	partner, env, currency string
	period                 ledger.Period
	paid                   bool
}

// share is basis points of cents, half away from zero.
func share(cents, bp int64) int64 {
	whole, rest := cents*bp/10000, cents*bp%10000
	if rest >= 5000 {
		whole++
	}
	return whole
}

// follow moves the commissions of an order.
func (m *model) follow(o *modelOrder, do func(c *modelCommission)) {
	for _, c := range slices.Clone(m.commissions) {
		if c.order == o && !c.negative {
			do(c)
		}
	}
}

func (m *model) complete(o *modelOrder, at time.Time) {
	o.state, o.completed = sale.TransferCompleted, at
	m.follow(o, func(c *modelCommission) { c.state = ledger.Pending })
}

// reverse refunds, cancels or charges back.
func (m *model) reverse(o *modelOrder, to sale.State, at time.Time) {
	o.state = to
	if o.statement != nil {
		o.reversed = at
	}
	m.follow(o, func(c *modelCommission) {
		if c.payout == nil {
			c.state = ledger.Reversed
			return
		}
		m.commissions = append(m.commissions, &modelCommission{
			partner: c.partner, env: c.env, currency: c.currency, source: c.source, order: o, amount: -c.amount, state: ledger.Pending,
			payable: true, negative: true,
		})
	})
}

// settled takes an order of a statement to its end.
func (m *model) settled(o *modelOrder) {
	if o.state != sale.TransferCompleted {
		return
	}
	o.state = sale.Settled
	m.follow(o, func(c *modelCommission) { c.payable = c.state == ledger.Pending })
}

// close makes a partner's statements of a month.
func (m *model) close(partner, env string, p ledger.Period) {
	made := map[string]*modelStatement{}
	in := func(currency string) *modelStatement {
		if made[currency] == nil {
			made[currency] = &modelStatement{partner: partner, env: env, currency: currency, period: p}
			m.statements = append(m.statements, made[currency])
		}
		return made[currency]
	}
	for _, o := range m.orders {
		if o.partner != partner || o.env != env {
			continue
		}
		if !o.reversed.IsZero() && o.reversal == nil && o.reversed.Before(p.End) {
			o.reversal = in(o.currency)
		}
		if o.state == sale.TransferCompleted && o.statement == nil && !o.completed.Before(p.Start) && o.completed.Before(p.End) {
			o.statement = in(o.currency)
		}
	}
}

// settleAll settles the orders of a partner's statements.
func (m *model) settleAll(partner, env string) {
	for _, o := range m.orders {
		if o.partner == partner && o.env == env && o.statement != nil {
			m.settled(o)
		}
	}
}

// payable are the payouts that could be made.
func (m *model) payable(partner, env string) (all []*modelPayout) {
	for _, source := range ledger.Sources() {
		for _, currency := range currencies {
			p := &modelPayout{partner: partner, env: env, currency: currency, source: source, status: ledger.PayoutCreated}
			for _, c := range m.commissions {
				if c.in(p) {
					p.amount += c.amount
				}
			}
			if p.amount > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

// in reports whether a commission would be in a payout.
func (c *modelCommission) in(p *modelPayout) bool {
	return c.partner == p.partner && c.env == p.env && c.source == p.source && c.currency == p.currency &&
		c.state == ledger.Pending && c.payable && c.payout == nil
}

func (m *model) take(p *modelPayout) {
	for _, c := range m.commissions {
		if c.in(p) {
			c.payout = p
		}
	}
	m.payouts = append(m.payouts, p)
}

func (m *model) end(p *modelPayout, to ledger.PayoutStatus) {
	p.status = to
	for _, c := range m.commissions {
		switch {
		case c.payout != p:
		case to == ledger.PayoutSent:
			c.state = ledger.PaidOut
		default:
			c.payout = nil
		}
	}
}

// The lines below print what is known of a partner, to be compared with what the service says.

func (m *model) statementLines(partner, env string) (all []string) {
	for _, s := range m.statements {
		if s.partner == partner && s.env == env {
			all = append(all, m.statementLine(s))
		}
	}
	slices.Sort(all)
	return all
}

func (m *model) statementLine(s *modelStatement) string {
	var gross, refunded, commission, orders, collected int64
	for _, o := range m.orders {
		switch {
		case o.statement == s && o.model == sale.PartnerCollected:
			gross, commission, orders = gross+o.price, commission+o.commission, orders+1
		case o.statement == s:
			collected++
		}
		if o.reversal == s {
			refunded += o.price
		}
	}
	return fmt.Sprintf("%s %s sold %d refunded %d retained %d owed %d orders %d collected %d paid %t",
		s.period, s.currency, gross, refunded, commission, gross-commission, orders, collected, s.paid)
}

func (m *model) commissionLines(partner, env string) (all []string) {
	balances := map[string]int64{}
	for _, c := range m.commissions {
		if c.partner != partner || c.env != env {
			continue
		}
		if c.state != ledger.Reversed {
			balances[c.currency] += c.amount
		}
		all = append(all, fmt.Sprintf("%s %s %d %s balance %d", c.source, c.state, c.amount, c.currency, balances[c.currency]))
	}
	slices.Reverse(all)
	return all
}

func (m *model) payoutLines(partner, env string) (all []string) {
	for _, p := range m.payouts {
		if p.partner == partner && p.env == env {
			all = append(all, fmt.Sprintf("%s %s %d %s %s", p.id, p.source, p.amount, p.currency, p.status))
		}
	}
	slices.Sort(all)
	return all
}

func (m *model) totalLines(partner, env string, f sale.TransactionFilter) (all []string) {
	sums := map[string]sale.Total{}
	for _, o := range m.orders {
		if o.partner != partner || o.env != env || f.Status != "" && o.state != f.Status || f.Model != "" && o.model != f.Model ||
			!f.From.IsZero() && o.created.Before(f.From) || !f.To.IsZero() && !o.created.Before(f.To) {
			continue
		}
		t := sums[o.currency]
		sums[o.currency] = sale.Total{Currency: o.currency, GMVCents: t.GMVCents + o.price, CommissionCents: t.CommissionCents + o.commission, Count: t.Count + 1}
	}
	for _, t := range sums {
		all = append(all, fmt.Sprint(t))
	}
	slices.Sort(all)
	return all
}

// accounts are the balances that follow from all that happened to a partner.
func (m *model) accounts(partner, env, currency string) map[ledger.Account]int64 {
	b := map[ledger.Account]int64{}
	for _, o := range m.orders {
		if o.partner != partner || o.env != env || o.currency != currency || o.state == sale.Refunded || o.state == sale.Cancelled {
			continue
		}
		b[ledger.SalesProceeds] -= o.price
		if o.model == sale.ServiceCollected {
			b[ledger.Cash] += o.price
			continue
		}
		b[ledger.RetainedCommission] += o.commission
		owed := o.price - o.commission
		switch {
		case o.statement == nil:
			b[ledger.PartnerReceivable] += owed
		case o.statement.paid:
			b[ledger.Cash] += owed
		default:
			b[ledger.StatementsDue] += owed
		}
	}
	for _, c := range m.commissions {
		if c.partner != partner || c.env != env || c.currency != currency || c.state == ledger.Reversed {
			continue
		}
		b[ledger.CommissionCost] += c.amount
		switch {
		case c.state == ledger.Accrued:
			b[ledger.CommissionAccrued] -= c.amount
		case c.payout == nil:
			b[ledger.CommissionPending] -= c.amount
		case c.payout.status == ledger.PayoutCreated:
			b[ledger.PayoutsDue] -= c.amount
		default:
			b[ledger.Cash] -= c.amount
		}
	}
	for account, cents := range b {
		if cents == 0 {
			delete(b, account)
		}
	}
	return b
}

var currencies = []string{"EUR", "JPY", "USD"}

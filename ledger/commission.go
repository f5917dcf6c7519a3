package ledger

import (
	"time"

	"github.com/namewharf/namewharf/money"
)

// BasisPoints are hundredths of a percent, from 0 to [Whole].
type BasisPoints int64

// Whole is everything: 100 %.
const Whole BasisPoints = 10_000

// Rates are a partner's shares.
type Rates struct {
	Service  BasisPoints // kept back from a sale that the partner collected
	Partner  BasisPoints // the partner's of a sale that the service collected
	Broker   BasisPoints // the partner's of a brokerage deal
	Referral BasisPoints // the partner's of a sale that it referred
}

// DefaultRates are those of a partner with whom nothing else is agreed.
func DefaultRates() Rates { return Rates{Service: 1500, Partner: 1000, Broker: 2000, Referral: 500} }

// Of is the share of an amount, rounded half away from zero: once an order, so that sums of commissions are sums of what
// was rounded. The amount is at most [money.MaxCents] in size.
func (b BasisPoints) Of(a money.Amount) money.Amount {
	half := int64(Whole / 2)
	if a.Cents < 0 {
		half = -half
	}
	a.Cents = (a.Cents*int64(b) + half) / int64(Whole)
	return a
}

// Sold is the entry of a sale that the partner collected: it owes the price less the commission at the rate.
func Sold(owner Owner, order string, price money.Amount, rate BasisPoints, at time.Time) Entry {
	commission := rate.Of(price)
	e := Entry{Kind: Sale, Owner: owner, Order: order, At: at}
	e.add(PartnerReceivable, price.Currency, price.Cents-commission.Cents)
	e.add(RetainedCommission, price.Currency, commission.Cents)
	e.add(SalesProceeds, price.Currency, -price.Cents)
	return e
}

// Collected is the entry of a sale that the service collected: it has the price. The commission of the partner is apart, see
// [Accrue].
func Collected(owner Owner, order string, price money.Amount, at time.Time) Entry {
	e := Entry{Kind: Sale, Owner: owner, Order: order, At: at}
	e.add(Cash, price.Currency, price.Cents)
	e.add(SalesProceeds, price.Currency, -price.Cents)
	return e
}

// add adds a posting, unless it is zero.
func (e *Entry) add(account Account, currency string, cents int64) {
	if cents != 0 {
		e.Postings = append(e.Postings, Posting{account, money.Amount{Cents: cents, Currency: currency}})
	}
}

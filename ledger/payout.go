package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/money"
	"github.com/namewharf/namewharf/store"
)

// A PayoutStatus is the status of a payout.
type PayoutStatus string

// The statuses.
const (
	PayoutCreated     PayoutStatus = "created"
	PayoutSent        PayoutStatus = "paid"
	PayoutUndelivered PayoutStatus = "failed"
)

// A Disbursement is a payout: commissions of one source and currency that are paid together.
type Disbursement struct {
	ID      string // pay_…; empty: of a dry run
	Owner   Owner
	Source  Source
	Amount  money.Amount // above zero
	Status  PayoutStatus
	Created time.Time
	Ended   time.Time // when it was paid or failed; zero: neither

	Reference string // of the payment; empty: not paid
	Reason    string // why it failed; empty: it did not
}

const payoutPrefix = "pay"

// Payable returns what could be paid out to an owner now, a payout a source and currency, in an empty or in all currencies.
// Where less was earned than is to be taken back, nothing is paid, and all of it is carried over.
func Payable(ctx context.Context, tx store.Tx, o Owner, currency string) ([]Disbursement, error) {
	scan := func(rows *sql.Rows) (Disbursement, error) {
		d := Disbursement{Owner: o, Status: PayoutCreated}
		err := rows.Scan(&d.Source, &d.Amount.Currency, &d.Amount.Cents)
		return d, err
	}
	all, err := store.Collect(ctx, tx, scan, `
		SELECT source, currency, CAST(SUM(amount_cents) AS BIGINT) FROM commissions
		WHERE partner = $1 AND environment = $2 AND state = 'pending' AND payout_id = '' AND payable_at > 0 AND ($3 = '' OR currency = $3)
		GROUP BY source, currency HAVING SUM(amount_cents) > 0 ORDER BY source, currency`, o.Partner, o.Environment, currency)
	if err != nil {
		return nil, fmt.Errorf("add up what can be paid out: %w", err)
	}
	return all, nil
}

// CreatePayouts makes payouts of all that is [Payable], within a transaction of the caller.
func CreatePayouts(ctx context.Context, tx store.Tx, o Owner, currency string, at time.Time) ([]Disbursement, error) {
	all, err := Payable(ctx, tx, o, currency)
	if err != nil {
		return nil, err
	}
	for i := range all {
		d := &all[i]
		d.ID, d.Created = store.NewID(payoutPrefix), store.Time(store.Micros(at))
		if err := insertPayout(ctx, tx, *d); err != nil {
			return nil, fmt.Errorf("make a payout: %w", err)
		}
		if err := d.post(ctx, tx, d.ID, Payout, CommissionPending, PayoutsDue, at); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// PayPayout says that a payout was paid, within a transaction of the caller: its commissions are [PaidOut]. It fails with
// [fault.NotFound], with [fault.Conflict] for one that is paid or has failed, and with [fault.Validation] on reference.
func PayPayout(ctx context.Context, tx store.Tx, id, reference string, at time.Time) (Disbursement, error) {
	if err := checkReference("reference", reference); err != nil {
		return Disbursement{}, err
	}
	d, err := endPayout(ctx, tx, id, PayoutSent, reference, "", at)
	if err != nil {
		return Disbursement{}, err
	}
	if _, err := tx.Exec(ctx, `UPDATE commissions SET state = 'paid_out' WHERE payout_id = $1 AND payout_id <> ''`, id); err != nil {
		return Disbursement{}, fmt.Errorf("pay commissions out: %w", err)
	}
	return d, d.post(ctx, tx, id+":paid", PayoutPaid, PayoutsDue, Cash, at)
}

// FailPayout says that a payout could not be paid, within a transaction of the caller: its commissions can be paid out again.
// It fails as [PayPayout] does, with [fault.Validation] on reason.
func FailPayout(ctx context.Context, tx store.Tx, id, reason string, at time.Time) (Disbursement, error) {
	if err := checkReference("reason", reason); err != nil {
		return Disbursement{}, err
	}
	d, err := endPayout(ctx, tx, id, PayoutUndelivered, "", reason, at)
	if err != nil {
		return Disbursement{}, err
	}
	if _, err := tx.Exec(ctx, `UPDATE commissions SET payout_id = '' WHERE payout_id = $1 AND payout_id <> ''`, id); err != nil {
		return Disbursement{}, fmt.Errorf("return commissions from a payout: %w", err)
	}
	return d, d.post(ctx, tx, id+":failed", PayoutFailed, PayoutsDue, CommissionPending, at)
}

// post adds an entry of the payout's amount, from one account to another.
func (d Disbursement) post(ctx context.Context, tx store.Tx, id string, kind Kind, debit, credit Account, at time.Time) error {
	e := Entry{ID: id, Kind: kind, Owner: d.Owner, At: at}
	e.add(debit, d.Amount.Currency, d.Amount.Cents)
	e.add(credit, d.Amount.Currency, -d.Amount.Cents)
	if err := Post(ctx, tx, e); err != nil {
		return fmt.Errorf("post payout %s: %w", d.ID, err)
	}
	return nil
}

// maxReference is the length of a reference or a reason in characters.
const maxReference = 200

// checkReference refuses a text of an operator that says nothing or cannot be printed in a line.
func checkReference(field, text string) error {
	if text == "" || utf8.RuneCountInString(text) > maxReference {
		return fault.Invalid(field, "must have 1 to %d characters", maxReference)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return fault.Invalid(field, "must be of printable characters")
		}
	}
	return nil
}

const payoutColumns = `id, partner, environment, source, amount_cents, currency, status, created_at, ended_at, reference, reason`

func scanPayout(rows *sql.Rows) (Disbursement, error) { return readPayout(rows.Scan) }

func readPayout(scan func(...any) error) (d Disbursement, err error) {
	var created, ended int64
	err = scan(&d.ID, &d.Owner.Partner, &d.Owner.Environment, &d.Source, &d.Amount.Cents, &d.Amount.Currency, &d.Status,
		&created, &ended, &d.Reference, &d.Reason)
	d.Created, d.Ended = store.Time(created), store.Time(ended)
	return d, err
}

// insertPayout adds a payout and takes what is payable of its source and currency into it.
func insertPayout(ctx context.Context, tx store.Tx, d Disbursement) error {
	_, err := tx.Exec(ctx, `INSERT INTO payouts (`+payoutColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, '', '')`,
		d.ID, d.Owner.Partner, d.Owner.Environment, d.Source, d.Amount.Cents, d.Amount.Currency, d.Status, store.Micros(d.Created))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE commissions SET payout_id = $1
		WHERE partner = $2 AND environment = $3 AND currency = $4 AND source = $5 AND state = 'pending' AND payout_id = '' AND payable_at > 0`,
		d.ID, d.Owner.Partner, d.Owner.Environment, d.Amount.Currency, d.Source)
	return err
}

// endPayout ends a payout that is created.
func endPayout(ctx context.Context, tx store.Tx, id string, to PayoutStatus, reference, reason string, at time.Time) (Disbursement, error) {
	d, err := readPayout(tx.QueryRow(ctx, `
		UPDATE payouts SET status = $1, reference = $2, reason = $3, ended_at = $4 WHERE id = $5 AND status = 'created'
		RETURNING `+payoutColumns, to, reference, reason, store.Micros(at), id).Scan)
	if !store.IsNoRows(err) {
		return d, err
	}
	var status PayoutStatus
	err = tx.QueryRow(ctx, `SELECT status FROM payouts WHERE id = $1`, id).Scan(&status)
	switch {
	case store.IsNoRows(err):
		return Disbursement{}, fault.New(fault.NotFound, "there is no such payout")
	case err != nil:
		return Disbursement{}, err
	}
	return Disbursement{}, fault.New(fault.Conflict, "the payout is %s already", status)
}

// PayoutOwner is whose payout it is; by whose clock it ends. It fails with [fault.NotFound].
func PayoutOwner(ctx context.Context, tx store.Tx, id string) (o Owner, err error) {
	err = tx.QueryRow(ctx, `SELECT partner, environment FROM payouts WHERE id = $1`, id).Scan(&o.Partner, &o.Environment)
	if store.IsNoRows(err) {
		return Owner{}, fault.New(fault.NotFound, "there is no such payout")
	}
	return o, err
}

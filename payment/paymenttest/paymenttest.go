// Package paymenttest lets tests make a payment provider fail.
package paymenttest

import (
	"context"

	"github.com/namewharf/namewharf/payment"
)

// A Call is what a provider is asked for.
type Call string

// The calls.
const (
	Start   Call = "start"
	Status  Call = "status"
	Capture Call = "capture"
	Void    Call = "void"
	Refund  Call = "refund"
)

// A Faulty is a provider that fails when a test says so.
type Faulty struct {
	payment.Provider
	// Before, if not nil, is asked before a call is passed on: with its error the call fails, and has not taken effect.
	Before func(c Call, id string) error
	// After, if not nil, is asked after a call: with its error the call fails although it has taken effect.
	After func(c Call, id string) error
}

// Start is [payment.Provider.Start].
func (f *Faulty) Start(ctx context.Context, o payment.Opening) (payment.Opened, error) {
	return through(f, Start, o.ID, func() (payment.Opened, error) { return f.Provider.Start(ctx, o) })
}

// Status is [payment.Provider.Status].
func (f *Faulty) Status(ctx context.Context, p payment.Payment) (payment.Report, error) {
	return through(f, Status, p.ID, func() (payment.Report, error) { return f.Provider.Status(ctx, p) })
}

// Capture is [payment.Provider.Capture].
func (f *Faulty) Capture(ctx context.Context, p payment.Payment) (payment.Report, error) {
	return through(f, Capture, p.ID, func() (payment.Report, error) { return f.Provider.Capture(ctx, p) })
}

// Void is [payment.Provider.Void].
func (f *Faulty) Void(ctx context.Context, p payment.Payment) (payment.Report, error) {
	return through(f, Void, p.ID, func() (payment.Report, error) { return f.Provider.Void(ctx, p) })
}

// Refund is [payment.Provider.Refund].
func (f *Faulty) Refund(ctx context.Context, p payment.Payment) (payment.Report, error) {
	return through(f, Refund, p.ID, func() (payment.Report, error) { return f.Provider.Refund(ctx, p) })
}

func through[T any](f *Faulty, c Call, id string, call func() (T, error)) (T, error) {
	var zero T
	if f.Before != nil {
		if err := f.Before(c, id); err != nil {
			return zero, err
		}
	}
	v, err := call()
	if f.After != nil && err == nil {
		if err := f.After(c, id); err != nil {
			return zero, err
		}
	}
	return v, err
}

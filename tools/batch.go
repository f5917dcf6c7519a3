package tools

import (
	"context"

	"github.com/namewharf/namewharf/batch"
	"github.com/namewharf/namewharf/op"
)

// BatchIn is the operations to run in one call.
type BatchIn struct {
	Operations        batch.Items `json:"operations" jsonschema:"what to run: any of the read operations here, each with its own input as params"`
	RequireRealPrices bool        `json:"require_real_prices,omitzero" jsonschema:"true: sign in rather than see masked marketplace prices"`
}

// Batch returns the operations.
func (in BatchIn) Batch() batch.Items { return in.Operations }

// Allow refuses a caller who asks for real prices and may not see them.
func (in BatchIn) Allow(ctx context.Context) error {
	if !in.RequireRealPrices {
		return nil
	}
	return op.CallerFrom(ctx).Need(ScopePricing)
}

var batchExample = BatchIn{Operations: batch.Items{
	{ID: "a", Op: "tld_registration_price", Params: op.Object(`{"tld":"com"}`)},
	{ID: "b", Op: "tld_metadata", Params: op.Object(`{"tld":"de"}`)},
}}

package op

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// An Export writes all that an operation's input selects as CSV (RFC 4180), page by page, so that it takes no memory for the
// whole of it. It fails before it writes where the input is wrong.
type Export[In any] func(ctx context.Context, in In, w io.Writer) error

// Exports reports whether the answers of the operation can be had as CSV.
func (o *Op) Exports() bool { return o.export != nil }

// Export checks the caller's scope and the raw input as [Op.Begin] does, and writes what it selects as CSV. An error after the
// first byte means that the text is cut off.
func (o *Op) Export(ctx context.Context, raw []byte, w io.Writer) error {
	if o.export == nil {
		return errors.New("export of an operation that has none")
	}
	if err := CallerFrom(ctx).Need(o.Scope); err != nil {
		return err
	}
	if err := o.check.check(raw); err != nil {
		return err
	}
	return o.export(ctx, raw, w)
}

// exporter erases the type of the input; nil stays nil.
func (e Export[In]) exporter(name string) func(context.Context, []byte, io.Writer) error {
	if e == nil {
		return nil
	}
	return func(ctx context.Context, raw []byte, w io.Writer) error {
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return fmt.Errorf("decode checked input of %s: %w", name, err)
		}
		return e(ctx, in, w)
	}
}

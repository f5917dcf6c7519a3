package partner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// orders calls do for each order in an answer, wherever it stands, and returns how many there are. The answer is a
// pointer.
func orders(answer any, do func(*sale.Order) error) (n int, err error) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if err != nil || !v.IsValid() || !v.CanInterface() {
			return
		}
		if v.CanAddr() {
			if o, ok := v.Addr().Interface().(*sale.Order); ok {
				n++
				err = do(o)
				return
			}
		}
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			walk(v.Elem())
		case reflect.Struct:
			for _, field := range v.Fields() {
				walk(field)
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(reflect.ValueOf(answer))
	return n, err
}

// removeBuyers takes out of an answer who bought.
func removeBuyers(answer any) (orderCount int) {
	n, _ := orders(answer, func(o *sale.Order) error { o.Buyer = sale.Buyer{}; return nil })
	return n
}

// restoreBuyers puts back into a kept answer who bought, as the orders say.
func restoreBuyers(ctx context.Context, tx store.Tx, r op.Repeatable, kept []byte) ([]byte, error) {
	answer, err := r.Decode(kept)
	if err != nil {
		return nil, fmt.Errorf("decode a kept answer: %w", err)
	}
	n, err := orders(answer, func(o *sale.Order) error {
		o.Buyer, err = sale.BuyerOf(ctx, tx, o.PublicID)
		return err
	})
	if err != nil || n == 0 {
		return kept, err
	}
	return r.Encode(answer)
}

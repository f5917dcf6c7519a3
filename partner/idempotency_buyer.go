package partner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// orders calls do for each order at any depth of an answer, and returns their number. The answer is a pointer.
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

// removeBuyers removes the buyers from the orders of an answer.
func removeBuyers(answer any) (orderCount int) {
	n, _ := orders(answer, func(o *sale.Order) error { o.Buyer = sale.Buyer{}; return nil })
	return n
}

// restoreBuyers returns a stored answer with the buyers of its orders, as they are in the database now.
func restoreBuyers(ctx context.Context, tx store.Tx, r op.Repeatable, stored []byte) ([]byte, error) {
	answer, err := r.Decode(stored)
	if err != nil {
		return nil, fmt.Errorf("decode a stored answer: %w", err)
	}
	n, err := orders(answer, func(o *sale.Order) error {
		o.Buyer, err = sale.BuyerOf(ctx, tx, o.PublicID)
		return err
	})
	if err != nil || n == 0 {
		return stored, err
	}
	return r.Encode(answer)
}

package partner

import (
	"context"
	"fmt"
	"reflect"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/op"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/store"
)

// eachIn calls do for each T in an answer, wherever it is, and returns how many there are. The answer is a pointer.
func eachIn[T any](answer any, do func(*T) error) (n int, err error) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if err != nil || !v.IsValid() || !v.CanInterface() {
			return
		}
		if v.CanAddr() {
			if found, ok := v.Addr().Interface().(*T); ok {
				n++
				err = do(found)
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

// removePrivate takes out of an answer what is not stored with it: who bought, and progress links. It returns how many orders
// and cases there are.
func removePrivate(answer any) int {
	orders, _ := eachIn(answer, func(o *sale.Order) error { o.Buyer = sale.Buyer{}; return nil })
	cases, _ := eachIn(answer, func(c *brokerage.Case) error { c.ProgressURL = ""; return nil })
	return orders + cases
}

// restorePrivate puts back into a stored answer what removePrivate took out, as the orders and the cases say.
func (a *API) restorePrivate(ctx context.Context, tx store.Tx, r op.Repeatable, stored []byte) ([]byte, error) {
	answer, err := r.Decode(stored)
	if err != nil {
		return nil, fmt.Errorf("decode a stored answer: %w", err)
	}
	orders, err := eachIn(answer, func(o *sale.Order) (err error) {
		o.Buyer, err = sale.BuyerOf(ctx, tx, o.PublicID)
		return err
	})
	if err != nil {
		return nil, err
	}
	cases, err := eachIn(answer, func(c *brokerage.Case) (err error) {
		c.ProgressURL, err = a.cases.ProgressURL(ctx, tx, c.CaseID)
		return err
	})
	if err != nil || orders+cases == 0 {
		return stored, err
	}
	return r.Encode(answer)
}

package admin

import (
	"context"
	"fmt"
	"slices"

	"github.com/namewharf/namewharf/brokerage"
	"github.com/namewharf/namewharf/event"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/referral"
	"github.com/namewharf/namewharf/sale"
	"github.com/namewharf/namewharf/seal"
	"github.com/namewharf/namewharf/store"
)

// sealed returns all columns that are sealed with the server's key.
func sealed() []store.Sealed {
	secrets := store.Sealed{
		Table: "partner_secrets", Column: "sealed", Key: []string{"key_id", "number"},
		Context: func(key []any) []byte {
			number, _ := key[1].(int64)
			return credential.SecretContext(fmt.Sprint(key[0]), int(number))
		},
	}
	return slices.Concat([]store.Sealed{store.SealedSecrets(), secrets, sale.Sealed(), brokerage.Sealed(), referral.Sealed()}, event.Sealed())
}

// A KeyUse is the number of rows that a key seals.
type KeyUse struct {
	ID    seal.ID
	Seals bool           // the first key, which seals new rows
	Known bool           // in the key file; otherwise its rows cannot be read
	Rows  map[string]int // by table
}

// Total returns the number of rows that the key seals.
func (u KeyUse) Total() (n int) {
	for _, rows := range u.Rows {
		n += rows
	}
	return n
}

// KeyUses returns the server's keys in their order, then the keys of rows that are not in the key file.
func (o *Operator) KeyUses(ctx context.Context) ([]KeyUse, error) {
	var all []KeyUse
	at := map[seal.ID]int{}
	for i, id := range o.keys.IDs() {
		at[id] = len(all)
		all = append(all, KeyUse{ID: id, Seals: i == 0, Known: true, Rows: map[string]int{}})
	}
	for _, s := range sealed() {
		counts, err := s.Count(ctx, o.db, len(seal.ID{}.Head()))
		if err != nil {
			return nil, err
		}
		for head, n := range counts {
			id, ok := seal.IDOf([]byte(head))
			if !ok {
				return nil, fmt.Errorf("a row of %s is not sealed", s.Table)
			}
			if _, ok := at[id]; !ok {
				at[id] = len(all)
				all = append(all, KeyUse{ID: id, Rows: map[string]int{}})
			}
			all[at[id]].Rows[s.Table] += n
		}
	}
	return all, nil
}

// ReloadKeys reads the key file again. It fails unless the key with the id is the first now.
func (o *Operator) ReloadKeys(id seal.ID) error {
	o.keys.Refresh()
	if got := o.keys.IDs()[0]; got != id {
		return fmt.Errorf("key %s seals, not %s: the file was changed by another process", got, id)
	}
	return nil
}

// Reseal reseals every row of another key with the first key, in small transactions beside running servers, and records
// it. After an interruption it continues with the remaining rows. It returns the number of rows sealed, and of rows that it
// could not open because their key is not in the key file.
func (o *Operator) Reseal(ctx context.Context) (rows, unopened int, err error) {
	first := o.keys.IDs()[0]
	for _, s := range sealed() {
		n, bad, err := s.Reseal(ctx, o.db, o.keys, first.Head())
		rows, unopened = rows+n, unopened+bad
		if err != nil {
			return rows, unopened, err
		}
	}
	return rows, unopened, o.RecordKey(ctx, "key.reseal", first, map[string]any{"rows": rows, "not_open": unopened})
}

// RecordKey records an action on a key of the server in the audit log.
func (o *Operator) RecordKey(ctx context.Context, action string, id seal.ID, details map[string]any) error {
	return o.db.Tx(ctx, func(tx store.Tx) error { return o.by.Record(ctx, tx, action, id.String(), details) })
}

package wiring

import (
	"context"
	"fmt"
	"time"

	"github.com/namewharf/namewharf/market"
	"github.com/namewharf/namewharf/partner/credential"
	"github.com/namewharf/namewharf/store"
)

// LocalTime returns the time of a party: in the sandbox a partner may have moved its clock ahead of now.
func LocalTime(ctx context.Context, tx store.Tx, now time.Time, p credential.Party) (time.Time, error) {
	if p.Environment != market.Sandbox {
		return now, nil
	}
	var ahead int64
	if err := tx.QueryRow(ctx, `SELECT sandbox_ahead FROM partners WHERE id = $1`, p.Partner).Scan(&ahead); err != nil {
		return time.Time{}, fmt.Errorf("read a partner's clock: %w", err)
	}
	return now.Add(time.Duration(ahead) * time.Microsecond), nil
}

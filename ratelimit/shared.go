package ratelimit

import (
	"net/netip"
	"time"
)

// Shared is a limit over all processes of a database: of everybody together, and of each block of addresses (see [Block]),
// so that the clients of one provider cannot use up the quota of all. The caller stores its buckets.
type Shared struct {
	Name  string // of the buckets
	All   *Policy
	Block *Policy
}

// PerDayShared is a limit of n a day, of which one block has a fifth. It panics where n is not positive.
func PerDayShared(name string, n int) Shared {
	const share = 5
	return Shared{name, NewPolicy(name+"-all", PerDay(n)), NewPolicy(name+"-block", PerDay(max(1, (n+share-1)/share)))}
}

// A Keep hands draw the time at which the named bucket is full again, zero for one that was never drawn from, and keeps the
// time that draw returns, unless that fails.
type Keep func(name string, draw func(fullAt time.Time) (time.Time, error)) error

// Draw draws one for a client at the address from both buckets, in one order for all clients. It fails with a *RefusedError
// where too little is left; then the caller undoes what was kept before, as by the end of a transaction.
func (s Shared) Draw(client netip.Addr, now time.Time, keep Keep) error {
	for _, b := range []struct {
		name   string
		policy *Policy
	}{{s.Name, s.All}, {s.Name + " " + Block(client).String(), s.Block}} {
		err := keep(b.name, func(fullAt time.Time) (time.Time, error) {
			d := b.policy.Draw(fullAt.Sub(now), 1)
			if d.Refused() {
				return fullAt, &RefusedError{d}
			}
			return now.Add(d.Reset()), nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A RefusedError is a draw that was refused.
type RefusedError struct{ Draw Draw }

func (e *RefusedError) Error() string {
	detail, hint := e.Draw.Reason()
	return detail + "; " + hint
}

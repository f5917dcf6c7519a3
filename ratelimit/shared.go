package ratelimit

import (
	"net/netip"
	"time"
)

// Shared is a limit over all processes of a database, for all clients together and for each [Block], so that the clients of
// one provider cannot use up the quota of all. The caller stores its buckets.
type Shared struct {
	Name  string // of the buckets
	All   *Policy
	Block *Policy
}

// PerDayShared is a limit of n a day, at most a fifth of it for one block. It panics if n is not positive.
func PerDayShared(name string, n int) Shared {
	const share = 5
	return Shared{name, NewPolicy(name+"-all", PerDay(n)), NewPolicy(name+"-block", PerDay(max(1, (n+share-1)/share)))}
}

// Update changes a stored bucket: it calls draw with the time at which the named bucket is full again, zero for an unused
// bucket, and stores the time that draw returns, unless draw fails.
type Update func(name string, draw func(fullAt time.Time) (time.Time, error)) error

// Draw draws one unit for a client address from both buckets, always in the same order. It fails with a [*RefusedError] if too
// little is left; the caller then rolls back the updates.
func (s Shared) Draw(client netip.Addr, now time.Time, update Update) error {
	for _, b := range []struct {
		name   string
		policy *Policy
	}{{s.Name, s.All}, {s.Name + " " + Block(client).String(), s.Block}} {
		err := update(b.name, func(fullAt time.Time) (time.Time, error) {
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

// A RefusedError is the error of a refused draw.
type RefusedError struct{ Draw Draw }

func (e *RefusedError) Error() string {
	detail, hint := e.Draw.Reason()
	return detail + "; " + hint
}

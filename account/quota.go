package account

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// Quotas of one client, which is an IPv4 address or an IPv6 /64; a /48 has four times as much. Each process counts for
// itself; accounts are also counted over all processes.
var (
	signUpQuota  = ratelimit.PerHour(120)
	sessionQuota = ratelimit.PerHour(600)
	mailQuota    = ratelimit.PerHour(60)
	mailToQuota  = ratelimit.Quota{Burst: 5, Rate: 6, Per: time.Hour} // to one recipient
)

const (
	maxSignUps = 10_000 // accounts a day by sign-up, in all
	siteHosts  = 4      // quota of a /48, in hosts
	maxBuckets = 64 << 10
)

// quotas limit how many accounts, sessions and mails a client may create.
type quotas struct {
	limiter                     *ratelimit.Limiter
	signUps, sessions, mailFrom ratelimit.Layers
	mailTo                      *ratelimit.Policy
	day                         ratelimit.Shared // of accounts
}

func newQuotas() *quotas {
	layers := func(name string, q ratelimit.Quota) ratelimit.Layers {
		site := ratelimit.Quota{Burst: siteHosts * q.Burst, Rate: siteHosts * q.Rate, Per: q.Per}
		return ratelimit.Layers{Host: ratelimit.NewPolicy(name, q), Site: ratelimit.NewPolicy(name+"-network", site)}
	}
	l := &quotas{
		signUps: layers("sign-ups", signUpQuota), sessions: layers("sessions", sessionQuota), mailFrom: layers("mail", mailQuota),
		mailTo: ratelimit.NewPolicy("mail-to", mailToQuota),
		day:    ratelimit.PerDayShared("accounts", maxSignUps),
	}
	policies := []*ratelimit.Policy{l.mailTo}
	for _, both := range []ratelimit.Layers{l.signUps, l.sessions, l.mailFrom} {
		policies = append(policies, both.Policies()...)
	}
	l.limiter = ratelimit.New(maxBuckets, time.Now, policies...)
	return l
}

// from counts one use by a client. It fails with [fault.RateLimited], whose text says "too many" and what.
func (l *quotas) from(layers ratelimit.Layers, client netip.Addr, what string) error {
	if refused := l.limiter.Take(l.limiter.Draws(nil, layers, client, 1)); refused != nil {
		return errTooMany(what, refused.Wait())
	}
	return nil
}

// mail reports whether another mail may go to the recipient.
func (l *quotas) mail(recipient string) bool {
	return l.limiter.Take([]ratelimit.Draw{{Policy: l.mailTo, Key: l.limiter.Key(recipient), Count: 1}}) == nil
}

// account counts one account over all processes. It fails with [fault.RateLimited].
func (l *quotas) account(ctx context.Context, tx store.Tx, client netip.Addr, now time.Time) error {
	err := l.day.Draw(client, now, func(name string, draw func(time.Time) (time.Time, error)) error {
		return store.Bucket(ctx, tx, name, draw)
	})
	if refused, ok := errors.AsType[*ratelimit.RefusedError](err); ok {
		return errTooMany("accounts were made today", refused.Draw.Wait())
	}
	return err
}

func errTooMany(what string, wait time.Duration) error {
	return fault.New(fault.RateLimited, "too many %s", what).WithHint("try again later").WithRetry(wait)
}

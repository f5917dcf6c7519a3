package oauthas

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/namewharf/namewharf/fault"
	"github.com/namewharf/namewharf/ratelimit"
	"github.com/namewharf/namewharf/store"
)

// A RegistrationLimit is how many clients may register. A zero field means its default, never unlimited. PerHour and Burst
// hold for an IPv4 address or an IPv6 /64 in each process, and four times as much for a /48. The others hold over all
// processes of the database.
type RegistrationLimit struct {
	PerHour int // 60
	Burst   int // at once; 20
	PerDay  int // in total, at most a fifth of them from one IPv6 /32 or IPv4 /16; 10 000
	Unused  int // clients that were never used; twice PerDay
}

// UnusedGrace is how long a new client is not removed even if there are too many unused clients: a user may still be reading
// its consent page.
const UnusedGrace = time.Hour

const (
	siteHosts     = 4        // quota of a /48, in hosts
	maxBuckets    = 64 << 10 // of hosts, sites, grants and accounts
	mostProcesses = 16       // on one database for which the limit of unused clients is exact
	removedExtra  = 100      // unused clients that one registration may remove
)

func (l RegistrationLimit) complete() (RegistrationLimit, error) {
	for _, n := range []int{l.PerHour, l.Burst, l.PerDay, l.Unused} {
		if n < 0 {
			return l, errors.New("oauthas: a limit of registrations is negative")
		}
	}
	or := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	or(&l.PerHour, 60)
	or(&l.Burst, 20)
	or(&l.PerDay, 10_000)
	or(&l.Unused, 2*l.PerDay)
	return l, nil
}

// Limits that are not configurable: correct clients stay far below them.
var (
	failureQuota      = ratelimit.Quota{Burst: 120, Rate: 60, Per: time.Minute} // of requests at the token and revocation endpoints
	failuresOfSite    = ratelimit.Quota{Burst: siteHosts * 120, Rate: siteHosts * 60, Per: time.Minute}
	refreshQuota      = ratelimit.PerHour(60)  // of one grant; an access token is valid for half an hour
	interactionQuota  = ratelimit.PerHour(200) // consent pages of one account, and uses of its remembered consent
	interactionsOfDay = ratelimit.PerDay(600)
)

// limits are the rate limits of the server. A nil limit does not apply.
type limits struct {
	limiter       *ratelimit.Limiter
	registrations ratelimit.Layers
	failures      ratelimit.Layers
	refreshes     *ratelimit.Policy
	interactions  []*ratelimit.Policy
	day           ratelimit.Shared
	unused        int
	uncounted     atomic.Int64 // registrations in this process until unused clients are counted again
}

func newLimits(l RegistrationLimit, now func() time.Time) (*limits, error) {
	l, err := l.complete()
	if err != nil {
		return nil, err
	}
	ls := &limits{
		registrations: ratelimit.Layers{
			Host: ratelimit.NewPolicy("registrations", ratelimit.Quota{Burst: l.Burst, Rate: l.PerHour, Per: time.Hour}),
			Site: ratelimit.NewPolicy("registrations-network", ratelimit.Quota{Burst: siteHosts * l.Burst, Rate: siteHosts * l.PerHour, Per: time.Hour}),
		},
		failures: ratelimit.Layers{
			Host: ratelimit.NewPolicy("failures", failureQuota),
			Site: ratelimit.NewPolicy("failures-network", failuresOfSite),
		},
		refreshes: ratelimit.NewPolicy("refreshes", refreshQuota),
		interactions: []*ratelimit.Policy{
			ratelimit.NewPolicy("authorizations", interactionQuota), ratelimit.NewPolicy("authorizations-day", interactionsOfDay),
		},
		day:    ratelimit.PerDayShared("registrations", l.PerDay),
		unused: l.Unused,
	}
	policies := slices.Concat(ls.registrations.Policies(), ls.failures.Policies(), ls.interactions, []*ratelimit.Policy{ls.refreshes})
	ls.limiter = ratelimit.New(maxBuckets, now, policies...)
	return ls, nil
}

// A limitError is a limit that is used up.
type limitError struct {
	text string
	wait time.Duration
	draw []ratelimit.Draw // the refused draw, if any
}

func errLimited(d ratelimit.Draw, hint string) *limitError {
	detail, otherwise := d.Reason()
	if hint == "" {
		hint = otherwise
	}
	return &limitError{detail + "; " + hint, d.Wait(), []ratelimit.Draw{d}}
}

func (e *limitError) Error() string { return e.text }

// write answers 429 (RFC 6585, section 4) with Retry-After.
func (e *limitError) write(w http.ResponseWriter) {
	ratelimit.WriteHeader(w.Header(), e.draw)
	ratelimit.WriteRetryAfter(w.Header(), e.wait)
	newRefusal(http.StatusTooManyRequests, errTooManyRequests, e.text).write(w)
}

// registrationHint tells a client that cannot register what to do.
const registrationHint = "wait the seconds in Retry-After, or use the URL of a client metadata document as client_id, which needs no registration"

// limitFailures limits failed requests to an endpoint, such as guesses. A good request returns its draw, so that only failures
// count for a client address with many users.
func (s *Server) limitFailures(serve func(http.ResponseWriter, *http.Request) (good bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.limits == nil {
			serve(w, r)
			return
		}
		l := s.limits.limiter
		draws := l.Draws(make([]ratelimit.Draw, 0, 2), s.limits.failures, s.cfg.ClientIP(r), 1)
		if refused := l.Take(draws); refused != nil {
			errLimited(*refused, "").write(w)
			return
		}
		if serve(w, r) {
			l.Return(draws)
		}
	}
}

// onceDrawn records that a draw was made, for a transaction that may be retried.
type onceDrawn bool

// refresh draws one refresh of a grant, or fails with a *limitError. Each refresh stores a row for 30 days.
func (l *limits) refresh(drawn *onceDrawn, grant string) error {
	if l == nil || bool(*drawn) {
		return nil
	}
	*drawn = true
	if refused := l.draw(grant, l.refreshes); refused != nil {
		return errLimited(*refused, "")
	}
	return nil
}

// interaction draws one consent page of an account, or one use of its remembered consent: each stores rows. It fails with
// [fault.RateLimited].
func (l *limits) interaction(account string) error {
	if l == nil {
		return nil
	}
	if refused := l.draw(account, l.interactions...); refused != nil {
		return fault.New(fault.RateLimited, "Applications have asked for access to this account very often").
			WithHint("try again later").WithRetry(refused.Wait())
	}
	return nil
}

func (l *limits) draw(of string, policies ...*ratelimit.Policy) (refused *ratelimit.Draw) {
	draws := make([]ratelimit.Draw, len(policies))
	for i, p := range policies {
		draws[i] = ratelimit.Draw{Policy: p, Key: l.limiter.Key(of), Count: 1}
	}
	return l.limiter.Take(draws)
}

// register draws one registration of the client address in this process.
func (l *limits) register(from netip.Addr) *limitError {
	var buf [2]ratelimit.Draw
	if refused := l.limiter.Take(l.limiter.Draws(buf[:0], l.registrations, from, 1)); refused != nil {
		return errLimited(*refused, "")
	}
	return nil
}

// registerShared draws one registration over all processes, or fails with a *limitError.
func (l *limits) registerShared(ctx context.Context, tx store.Tx, from netip.Addr, now time.Time) error {
	err := l.day.Draw(from, now, func(name string, draw func(time.Time) (time.Time, error)) error {
		return store.Bucket(ctx, tx, name, draw)
	})
	if refused, ok := errors.AsType[*ratelimit.RefusedError](err); ok {
		return errLimited(refused.Draw, registrationHint)
	}
	return err
}

// evictUnused removes the oldest clients that were never used if there are too many for another. A client that a user may be
// about to use stays: for [UnusedGrace], and while it has an open consent page or code. If none can be removed it fails with
// a *limitError.
func (l *limits) evictUnused(ctx context.Context, tx store.Tx, now time.Time) error {
	if l.uncounted.Add(-1) >= 0 {
		return nil
	}
	var n int
	var oldest int64
	err := tx.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(created_at), 0) FROM oauth_clients WHERE used_at = created_at`).Scan(&n, &oldest)
	if err != nil {
		return fmt.Errorf("count unused clients: %w", err)
	}
	over := n + 1 - l.unused
	if over <= 0 {
		l.uncounted.Store(int64(-over / mostProcesses))
		return nil
	}
	removed, err := tx.Exec(ctx, `
		DELETE FROM oauth_clients WHERE id IN (
			SELECT id FROM oauth_clients c WHERE used_at = created_at AND created_at <= $1
				AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id)
				AND NOT EXISTS (SELECT 1 FROM oauth_codes k WHERE k.client_id = c.id AND k.used_at = 0)
				AND NOT EXISTS (SELECT 1 FROM oauth_interactions i WHERE i.client_id = c.id)
			ORDER BY created_at LIMIT $2)`, store.Micros(now.Add(-UnusedGrace)), min(over, removedExtra))
	if err != nil {
		return fmt.Errorf("remove unused clients: %w", err)
	}
	if removed > 0 {
		return nil
	}
	wait := max(time.Minute, store.Time(oldest).Add(UnusedGrace).Sub(now))
	return &limitError{text: "too many clients registered within the hour and were not used; " + registrationHint, wait: wait}
}

// connectionAddress is the remote address of the connection.
func connectionAddress(r *http.Request) netip.Addr {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr()
}

package account

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/fault"
)

// serve returns how long an attempt that begins now waits.
func (b *throttle) serve(t *testing.T, email string, from netip.Addr) time.Duration {
	t.Helper()
	began := time.Now()
	must(t, "wait", b.wait(t.Context(), email, clientPrefix(from), began, 0))
	return time.Since(began)
}

func TestFailuresDelayButDoNotLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newThrottle()
		var waits []time.Duration
		for range 12 {
			waits = append(waits, b.serve(t, "ada@names.example", home))
			b.failed("ada@names.example", clientPrefix(home))
		}
		const ms = time.Millisecond
		expected := []time.Duration{0, 0, 0, 0, 0, 250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 5000 * ms, 5000 * ms}
		if !slices.Equal(waits, expected) {
			t.Errorf("waits before a dozen attempts on one account: got %v, want %v", waits, expected)
		}
		for range 1000 {
			b.failed("ada@names.example", clientPrefix(abroad))
		}
		want(t, "wait after a thousand more failures", b.serve(t, "ada@names.example", netip.MustParseAddr("203.0.113.9")), longestDelay)
		want(t, "wait for another account from another address", b.serve(t, "bob@names.example", netip.MustParseAddr("203.0.113.9")), 0)

		b.succeeded("ada@names.example")
		want(t, "wait after a success", b.serve(t, "ada@names.example", home), 0)
	})
}

func TestFailuresAreForgottenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newThrottle()
		for range freeByAccount + 3 {
			b.failed("ada@names.example", clientPrefix(home))
		}
		want(t, "at once", b.delay("ada@names.example", clientPrefix(home)), 2*time.Second)
		time.Sleep(2 * accountEvery)
		want(t, "two minutes later", b.delay("ada@names.example", clientPrefix(home)), 500*time.Millisecond)
		time.Sleep(2 * accountEvery)
		want(t, "four minutes later", b.delay("ada@names.example", clientPrefix(home)), 0)
	})
}

func TestFailuresOfAnAddressCountOverItsAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, network := newThrottle(), netip.MustParseAddr("2001:db8:1:2::1")
		for i := range freeByAddress + 2 {
			b.failed(fmt.Sprintf("p%d@names.example", i), clientPrefix(network))
		}
		want(t, "from that address, for an account without failures", b.delay("ada@names.example", clientPrefix(network)), 4*firstDelay)
		want(t, "from its network", b.delay("ada@names.example", clientPrefix(netip.MustParseAddr("2001:db8:1:2:ffff::9"))), 4*firstDelay)
		want(t, "from the next network", b.delay("ada@names.example", clientPrefix(netip.MustParseAddr("2001:db8:1:3::1"))), 0)
		b.succeeded("mallory@names.example")
		want(t, "after a sign-in to an account of their own", b.delay("ada@names.example", clientPrefix(network)), 4*firstDelay)
	})
}

func TestOneAddressCannotWaitInManyPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newThrottle()
		for range freeByAccount + 20 {
			b.failed("ada@names.example", clientPrefix(abroad))
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range maxDelayed {
			go b.wait(ctx, "ada@names.example", clientPrefix(abroad), time.Now(), 0)
		}
		synctest.Wait()
		wantCode(t, "one more from there", b.wait(ctx, "ada@names.example", clientPrefix(abroad), time.Now(), 0), fault.RateLimited)
		want(t, "the owner meanwhile waits", b.serve(t, "ada@names.example", home), longestDelay)
		cancel()
		synctest.Wait()
		want(t, "places still taken", len(b.delayed), 0)
	})
}

// Guesses that begin before the first has failed also wait for the delay of its failure.
func TestParallelGuessesAreDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Accounts{throttle: newThrottle(), hasher: newHasher(1, cheap)}
		began := time.Now()
		tried, refused := make(chan time.Duration, 100), make(chan error, 100)
		for range 30 {
			go func() {
				release, err := a.acquireSlot(t.Context(), "ada@names.example", abroad, began)
				if err != nil {
					refused <- err
					return
				}
				defer release()
				tried <- time.Since(began)
				a.throttle.failed("ada@names.example", clientPrefix(abroad))
			}()
		}
		time.Sleep(time.Minute)
		early := 0
		for range len(tried) {
			if <-tried < firstDelay {
				early++
			}
		}
		want(t, "guesses looked at without delay", early, freeByAccount)
		want(t, "guesses refused", len(refused), 30-freeByAccount-maxDelayed)
		wantCode(t, "a refused guess", <-refused, fault.RateLimited)
	})
}

func TestCountersForgetOnlyWhatIsEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounters(time.Second, 3)
		for i, level := range []int{1, 2, 3, 3} {
			c.add("ada")
			want(t, fmt.Sprintf("level after rise %d", i+1), c.level("ada"), level)
		}
		time.Sleep(1500 * time.Millisecond)
		want(t, "level after a second and a half", c.level("ada"), 2)
		for i := range 4 * maxCounters {
			c.add(fmt.Sprint(i))
			if i%1000 == 0 {
				want(t, "level in a flood of others", c.level("ada"), 2)
			}
		}
		time.Sleep(10 * time.Second)
		want(t, "level when all has run out", c.level("ada"), 0)
		c.add("ada")
		c.forget("ada")
		want(t, "level when it is forgotten", c.level("ada"), 0)
	})
}

// Sign-ins with the right password were not throttled: repeating one used up all hashing capacity.
func TestRightPasswordsAreLimitedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &Accounts{throttle: newThrottle(), hasher: newHasher(1, cheap)}
		in := func(email string, from netip.Addr) time.Duration {
			t.Helper()
			began := time.Now()
			release, err := a.acquireSlot(t.Context(), email, from, began)
			must(t, "turn", err)
			a.throttle.succeeded(email)
			release()
			return time.Since(began)
		}
		for i := range triesByAccount {
			want(t, fmt.Sprintf("wait of sign-in %d", i+1), in("ada@names.example", home), 0)
		}
		for range 8 {
			in("ada@names.example", home)
		}
		want(t, "wait after many", in("ada@names.example", abroad), longestDelay)
		want(t, "wait for another account there", in("bob@names.example", home), 0)
		time.Sleep(2 * accountTries * triesByAccount)
		want(t, "wait minutes later", in("ada@names.example", home), 0)

		for i := range triesByAddress + 10 {
			in(fmt.Sprintf("p%d@names.example", i), abroad)
		}
		if wait := in("carol@names.example", abroad); wait == 0 {
			t.Error("an address that signs in to one account after the other is not limited")
		}
		want(t, "wait at another address", in("carol@names.example", home), 0)
	})
}

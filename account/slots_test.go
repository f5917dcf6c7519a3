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
	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// oneHash is how long a hash takes in these tests.
const oneHash = 25 * time.Millisecond

// hashes uses up to n slots at once, each for the time of a hash, until ctx ends.
func (s *slots) hashes(ctx context.Context, n int, from netip.Addr) {
	for range n {
		go func() {
			for ctx.Err() == nil {
				release, err := s.acquire(ctx, from)
				if err != nil {
					time.Sleep(oneHash)
					continue
				}
				time.Sleep(oneHash)
				release()
			}
		}()
	}
}

// Two hundred connections that repeated one sign-in made others wait for eight seconds, and with 560 they got 503.
func TestOneNetworkDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	for _, connections := range []int{200, 560} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			s := newSlots(defaultHashers)
			s.hashes(ctx, connections, abroad)
			time.Sleep(time.Second)
			var longest time.Duration
			for i := range 100 {
				began := time.Now()
				release, err := s.acquire(ctx, netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}))
				must(t, fmt.Sprintf("a slot beside %d connections", connections), err)
				longest = max(longest, time.Since(began))
				time.Sleep(oneHash)
				release()
			}
			if longest > 2*oneHash {
				t.Errorf("beside %d connections others wait %v, want at most two hashes, %v", connections, longest, 2*oneHash)
			}
			stop()
			time.Sleep(10 * oneHash) // those that got theirs at that instant
			synctest.Wait()
			want(t, "slots free at the end", s.free, defaultHashers)
			want(t, "networks at the end", len(s.byNetwork)+len(s.turns)+s.waiting, 0)
		})
	}
}

// Networks take turns, and each network is FIFO.
func TestNetworksTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		release, err := s.acquire(t.Context(), home)
		must(t, "the only slot", err)
		var order []string
		join := func(who, from string) {
			go func() {
				release, err := s.acquire(t.Context(), netip.MustParseAddr(from))
				must(t, who, err)
				order = append(order, who)
				release()
			}()
			synctest.Wait()
		}
		for _, w := range [][2]string{
			{"a1", "192.0.2.1"}, {"a2", "::ffff:192.0.2.1"}, {"a3", "192.0.2.1"}, {"b1", "192.0.2.2"}, {"c1", "2001:db8:1:1::1"}, {"c2", "2001:db8:1:2::1"}, {"b2", "192.0.2.2"}, {"d1", "2001:db8:2::1"},
		} {
			join(w[0], w[1])
		}
		release()
		synctest.Wait()
		if got := []string{"a1", "b1", "c1", "d1", "a2", "b2", "c2", "a3"}; !slices.Equal(order, got) {
			t.Errorf("got %v, want %v", order, got)
		}
	})
}

func TestWaitingForASlotIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSlots(1)
		release, err := s.acquire(ctx, home)
		must(t, "the only slot", err)
		failed := make(chan error, 2*maxWaiting)
		ask := func(from netip.Addr) {
			go func() {
				if _, err := s.acquire(ctx, from); err != nil {
					failed <- err
				}
			}()
			synctest.Wait()
		}
		for range maxWaitingOfOne {
			ask(abroad)
		}
		began := time.Now()
		_, err = s.acquire(ctx, abroad)
		wantCode(t, "one more of a network", err, fault.RateLimited)
		network := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}) }
		for i := range maxWaiting - maxWaitingOfOne {
			ask(network(i))
		}
		want(t, "waiting", s.waiting, maxWaiting)
		want(t, "refused so far", len(failed), 0)
		for i := range maxWaitingOfOne - 1 { // each in place of one of the crowd
			ask(network(1<<15 + i))
		}
		want(t, "of the crowd turned away", len(failed), maxWaitingOfOne-1)
		wantCode(t, "one of them", <-failed, fault.Unavailable)
		_, err = s.acquire(ctx, home)
		wantCode(t, "where each waits but once", err, fault.Unavailable)
		want(t, "time until those refusals", time.Since(began), 0)
		time.Sleep(hashWait)
		synctest.Wait()
		want(t, "waiting after the longest time", s.waiting, 0)
		cancel()
		release()
		want(t, "slots free at the end", s.free, 1)
	})
}

// Repeated sign-ins do not fill the security log.
func TestRepeatedEntriesAreCounted(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		r, ctx := newFixture(t, db, nil), t.Context()
		who := r.account("ada@names.example")
		existed, err := r.Log(ctx, who.ID, 100)
		must(t, "log", err)
		for range 12 {
			_, err := r.SignIn(ctx, who.Email, passphrase, home)
			must(t, "sign in", err)
			r.clock.advance(time.Second)
		}
		last := r.clock.Now().Add(-time.Second)
		_, err = r.SignIn(ctx, who.Email, passphrase, abroad)
		must(t, "sign in elsewhere", err)
		log, err := r.Log(ctx, who.ID, 100)
		must(t, "log", err)
		want(t, "entries more", len(log)-len(existed), 2)
		want(t, "elsewhere", log[0].From, abroad)
		want(t, "times", log[1].Times, 12)
		want(t, "the last time", log[1].At, last)
		r.clock.advance(time.Hour)
		_, err = r.SignIn(ctx, who.Email, passphrase, home)
		must(t, "sign in an hour later", err)
		log, err = r.Log(ctx, who.ID, 100)
		must(t, "log", err)
		want(t, "entries after an hour", len(log)-len(existed), 3)
	})
}

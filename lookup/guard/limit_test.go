package guard

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const somewhere = "8.8.8.8:443"

func acquire(t *testing.T, g *Guard, within time.Duration) (*Pass, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return g.Acquire(ctx, somewhere)
}

// TestRate shows a burst of two, then two a second, as the contract has it.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{})
		start := time.Now()
		for i, want := range []time.Duration{0, 0, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond} {
			pass, err := acquire(t, g, time.Minute)
			if err != nil {
				t.Fatalf("pass %d: %v", i, err)
			}
			if got := time.Since(start); got != want {
				t.Errorf("pass %d: got after %s, want %s", i, got, want)
			}
			pass.Release()
		}
	})
}

// TestNoTurnInTime shows that a turn beyond the deadline is refused at once, says when to retry, and is not used up.
func TestNoTurnInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Rate: 0.1})
		pass, err := acquire(t, g, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		pass.Release()
		start := time.Now()
		for range 3 {
			_, err = acquire(t, g, time.Second)
			e := Wrap(err)
			if e.Code != Busy || e.Retry != 10*time.Second || time.Since(start) != 0 {
				t.Errorf("got %v, retry %s, after %s; want %q, 10s, at once", err, e.Retry, time.Since(start), Busy)
			}
		}
		time.Sleep(10 * time.Second)
		if _, err := acquire(t, g, time.Second); err != nil {
			t.Errorf("after the wait: got %v, want a pass", err)
		}
	})
}

// TestInFlight shows that at most four exchanges run at a time.
func TestInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Rate: 1000})
		var running, most atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				pass, err := acquire(t, g, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				defer pass.Release()
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second)
				running.Add(-1)
			})
		}
		wg.Wait()
		if most.Load() != DefaultInFlight {
			t.Errorf("at a time: got %d, want %d", most.Load(), DefaultInFlight)
		}
		for range DefaultInFlight {
			if _, err := acquire(t, g, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := acquire(t, g, time.Second); Wrap(err).Code != Busy {
			t.Errorf("with every slot taken: got %v, want %q", err, Busy)
		}
	})
}

// TestZeroIsNotUnlimited shows that limits of zero and less mean the defaults.
func TestZeroIsNotUnlimited(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{}, {Rate: -1, InFlight: -1}} {
		if g := New(cfg); g.cfg.Rate != DefaultRate || g.cfg.InFlight != DefaultInFlight {
			t.Errorf("New(%+v): got rate %v and %d in flight", cfg, g.cfg.Rate, g.cfg.InFlight)
		}
	}
}

// TestThrottled shows pauses of a minute doubling to half an hour, reset by an answer, and one that the host names.
func TestThrottled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{})
		throttle := func(after, want time.Duration) {
			t.Helper()
			pass, err := acquire(t, g, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			got := pass.Throttled(after)
			pass.Release()
			if got != want {
				t.Errorf("Throttled(%s): got %s, want %s", after, got, want)
			}
			time.Sleep(got - time.Nanosecond)
			if _, err := acquire(t, g, time.Second); Wrap(err).Code != Resting || Wrap(err).Retry != time.Nanosecond {
				t.Errorf("at the end of the pause: got %v, want %q", err, Resting)
			}
			time.Sleep(time.Nanosecond)
		}
		for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
			throttle(0, want)
		}
		throttle(90*time.Second, 90*time.Second)
		throttle(24*time.Hour, 30*time.Minute)
		pass, err := acquire(t, g, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		pass.Answered()
		pass.Release()
		throttle(0, time.Minute)
	})
}

// TestRestReachesWaiters shows that those who wait for their turn when the host is sent to rest do not ask it.
func TestRestReachesWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{Rate: 1})
		pass, err := acquire(t, g, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := acquire(t, g, time.Minute); Wrap(err).Code != Resting {
				t.Errorf("the waiter: got %v, want %q", err, Resting)
			}
		})
		synctest.Wait()
		pass.Rest(10 * time.Second)
		pass.Rest(time.Second) // a shorter rest does not end a longer one
		pass.Release()
		wg.Wait()
	})
}

// TestHostsAreForgotten shows that the limiter's memory is bounded and that a resting host is not forgotten.
func TestHostsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := New(Config{})
		ask := func(i int) error {
			pass, err := g.Acquire(context.Background(), "8.8."+strconv.Itoa(i>>8)+"."+strconv.Itoa(i&255)+":443")
			if err != nil {
				return err
			}
			if i == 0 {
				pass.Rest(time.Hour)
			}
			pass.Release()
			return nil
		}
		for i := range maxHosts {
			if err := ask(i); err != nil {
				t.Fatal(err)
			}
		}
		if err := ask(maxHosts); Wrap(err).Code != Busy {
			t.Errorf("with all hosts just asked: got %v, want %q", err, Busy)
		}
		time.Sleep(time.Second)
		if err := ask(maxHosts); err != nil {
			t.Errorf("a second later: got %v, want a pass", err)
		}
		if n := len(g.hosts); n != 2 {
			t.Errorf("hosts remembered: got %d, want 2", n)
		}
		if err := ask(0); Wrap(err).Code != Resting {
			t.Errorf("the resting host: got %v, want %q", err, Resting)
		}
	})
}

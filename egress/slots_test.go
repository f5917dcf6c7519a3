package egress

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlots shows that a key at its limit does not delay other keys, and that the longest-waiting goes first.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2, 3)
		hold := func(key string, limit int) func() {
			t.Helper()
			release, err := s.AcquireAtMost(t.Context(), key, limit)
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		a1, _ := hold("a", 2), hold("a", 2)
		got := make(chan string, 10)
		wait := func(name, key string, limit int) {
			go func() {
				if _, err := s.AcquireAtMost(t.Context(), key, limit); err == nil {
					got <- name
				}
			}()
			synctest.Wait()
		}
		wait("third a", "a", 2)
		wait("first b", "b", 2) // is below its limit, although one waits before it
		if n := len(got); n != 1 || <-got != "first b" {
			t.Fatalf("got %d slots, want the one for b", n)
		}
		wait("second b", "b", 1) // of a key that may have one only
		wait("first c", "c", 2)
		a1()
		a1() // counts once
		synctest.Wait()
		if n := len(got); n != 1 || <-got != "third a" {
			t.Fatalf("got %d slots, want the one for who waited longest", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Acquire(ctx, "d"); code(err) != Busy {
			t.Errorf("got %v, want %q", err, Busy)
		}
		if len(s.waiting) != 2 || s.total != 3 {
			t.Errorf("got %d waiting and %d running, want 2 and 3", len(s.waiting), s.total)
		}
	})
}

// TestSlotsAreBounded shows that waiting is bounded too, and that nothing is kept of keys that are not in use.
func TestSlotsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1, 2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var held []func()
		for _, key := range []string{"a", "b"} {
			release, err := s.Acquire(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, release)
		}
		for range 2 * maxWaiting {
			go s.Acquire(ctx, "a")
		}
		synctest.Wait()
		began := time.Now()
		if _, err := s.Acquire(ctx, "c"); code(err) != Busy || time.Since(began) != 0 {
			t.Errorf("got %v after %v, want %q at once", err, time.Since(began), Busy)
		}
		cancel()
		synctest.Wait()
		for _, release := range held {
			release()
		}
		if len(s.waiting) != 0 || s.total != 0 || len(s.used) != 0 {
			t.Errorf("at the end: %d waiting, %d running, %d keys", len(s.waiting), s.total, len(s.used))
		}
	})
}

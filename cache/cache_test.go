package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/cache"
)

func TestDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(cache.Config[string, int]{Entries: 10})
		c.Put("a", 1, time.Now().Add(time.Minute))
		c.Put("b", 2, time.Now())
		if _, ok := c.Get("b"); ok {
			t.Error("an expired value is held")
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if v, ok := c.Get("a"); !ok || v != 1 {
			t.Errorf("just before the deadline: %d, %v", v, ok)
		}
		time.Sleep(time.Nanosecond)
		if _, ok := c.Get("a"); ok || c.Len() != 0 {
			t.Errorf("at the deadline it is still there, %d entries", c.Len())
		}
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	c := cache.New(cache.Config[int, string]{Entries: 3, Bytes: 10, Size: func(_ int, v string) int64 { return int64(len(v)) }})
	for i := range 4 {
		c.Put(i, "x", later)
	}
	if _, ok := c.Get(0); ok || c.Len() != 3 {
		t.Errorf("the oldest of four stayed among three, %d entries", c.Len())
	}
	c.Get(1) // 2 is now the least recently used
	c.Put(9, strings.Repeat("y", 9), later)
	if _, ok := c.Get(1); !ok || c.Len() != 2 {
		t.Errorf("nine bytes leave room for one more: %d entries", c.Len())
	}
	c.Put(9, "z", later) // the bytes of a replaced value are given back
	for i := range 2 {
		c.Put(20+i, "1234", later)
	}
	if c.Len() != 3 {
		t.Errorf("one and four and four bytes fit: %d entries", c.Len())
	}
	c.Put(7, strings.Repeat("w", 11), later)
	if _, ok := c.Get(7); ok {
		t.Error("a value larger than the cache is held")
	}
	c.Delete(9)
	if _, ok := c.Get(9); ok {
		t.Error("a deleted value is held")
	}
}

func TestConcurrentLoadsAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(cache.Config[string, int]{Entries: 10})
		var loads atomic.Int32
		var wait sync.WaitGroup
		for range 500 {
			wait.Go(func() {
				v, err := c.Load(t.Context(), "a", func(context.Context) (int, time.Time, error) {
					time.Sleep(time.Second)
					return int(loads.Add(1)), time.Now().Add(time.Minute), nil
				})
				if v != 1 || err != nil {
					t.Errorf("got %d, %v", v, err)
				}
			})
		}
		wait.Wait()
		if v, ok := c.Get("a"); loads.Load() != 1 || !ok || v != 1 {
			t.Errorf("%d loads, held %d %v; want one, held", loads.Load(), v, ok)
		}
	})
}

func TestCancelledCallerDoesNotEndTheLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(cache.Config[string, int]{Entries: 10})
		load := func(ctx context.Context) (int, time.Time, error) {
			select {
			case <-time.After(time.Second):
				return 1, time.Time{}, nil
			case <-ctx.Done():
				return 0, time.Time{}, ctx.Err()
			}
		}
		hasty, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wait sync.WaitGroup
		wait.Go(func() {
			if _, err := c.Load(hasty, "a", load); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the hasty one: %v", err)
			}
		})
		wait.Go(func() {
			if v, err := c.Load(t.Context(), "a", load); v != 1 || err != nil {
				t.Errorf("the patient one: %d, %v", v, err)
			}
		})
		wait.Wait()
		if c.Len() != 0 {
			t.Error("a value without a deadline is held")
		}
	})
}

func TestLoadWithoutCallersIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.New(cache.Config[string, int]{Entries: 10})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var ended time.Time
		begun := time.Now()
		_, err := c.Load(ctx, "a", func(ctx context.Context) (int, time.Time, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time to notice
			ended = time.Now()
			return 0, time.Time{}, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		// The next caller does not join a cancelled load.
		if v, err := c.Load(t.Context(), "a", func(context.Context) (int, time.Time, error) { return 2, time.Time{}, nil }); v != 2 || err != nil {
			t.Errorf("the next caller got %d, %v", v, err)
		}
		c.Wait()
		if ended.IsZero() {
			t.Error("Wait returned before the load did")
		}
	})
}

func TestErrorsAndPanicsAreNotStored(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Config[string, int]{Entries: 10})
	broken := errors.New("broken")
	if _, err := c.Load(t.Context(), "a", func(context.Context) (int, time.Time, error) {
		return 1, time.Now().Add(time.Hour), broken
	}); !errors.Is(err, broken) || c.Len() != 0 {
		t.Errorf("got %v, %d entries", err, c.Len())
	}
	if _, err := c.Load(t.Context(), "a", func(context.Context) (int, time.Time, error) { panic("boom") }); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("a panic: %v", err)
	}
	if v, err := c.Load(t.Context(), "a", func(context.Context) (int, time.Time, error) { return 3, time.Time{}, nil }); v != 3 || err != nil {
		t.Errorf("afterwards: %d, %v", v, err)
	}
}

func TestZeroNeverMeansUnlimited(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]cache.Config[string, string]{
		"no entries": {},
		"no bytes":   {Entries: 1, Size: func(string, string) int64 { return 1 }},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: New does not panic", name)
				}
			}()
			cache.New(cfg)
		}()
	}
}

func BenchmarkGet(b *testing.B) {
	c := cache.New(cache.Config[string, int]{Entries: 10})
	c.Put("a", 1, time.Now().Add(time.Hour))
	for b.Loop() {
		c.Get("a")
	}
}

func ExampleCache_Load() {
	c := cache.New(cache.Config[string, int]{Entries: 1000})
	length := func(word string) (int, error) {
		return c.Load(context.Background(), word, func(context.Context) (int, time.Time, error) {
			fmt.Println("counting", word)
			return len(word), time.Now().Add(time.Minute), nil
		})
	}
	fmt.Println(length("wharf"))
	fmt.Println(length("wharf"))
	// Output:
	// counting wharf
	// 5 <nil>
	// 5 <nil>
}

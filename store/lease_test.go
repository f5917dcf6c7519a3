package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/namewharf/namewharf/store"
	"github.com/namewharf/namewharf/store/storetest"
)

// A second process began work that took longer than its interval while the first was still doing it.
func TestLongWorkIsDoneByOne(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		var working, most, times atomic.Int32
		var wg sync.WaitGroup
		for range 2 {
			db := storetest.Open(t, cfg)
			wg.Go(func() {
				db.Regularly(ctx, "long", time.Second, func(ctx context.Context) error {
					times.Add(1)
					if n := working.Add(1); n > most.Load() {
						most.Store(n)
					}
					defer working.Add(-1)
					select {
					case <-ctx.Done():
					case <-time.After(3 * time.Second):
					}
					return ctx.Err()
				}, func(err error) { t.Error(err) })
			})
		}
		wg.Wait()
		if most.Load() != 1 || times.Load() == 0 {
			t.Errorf("%d did the work at once, %d times: want one", most.Load(), times.Load())
		}
	})
}

// Each interval's work is done once, by any of the processes; first some seconds after the start.
func TestRegularly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var times atomic.Int32
		var wg sync.WaitGroup
		began := time.Now()
		for range 3 {
			db := storetest.Open(t, store.Config{Dir: dir})
			wg.Go(func() {
				db.Regularly(ctx, "sweep", time.Minute, func(context.Context) error {
					if times.Add(1) == 1 && time.Since(began) > 10*time.Second {
						t.Errorf("the first time %v after the start", time.Since(began))
					}
					return nil
				}, func(err error) { t.Error(err) })
			})
		}
		time.Sleep(20*time.Minute + 30*time.Second)
		cancel()
		wg.Wait()
		if n := times.Load(); n < 18 || n > 23 {
			t.Errorf("done %d times in 20 minutes by three processes, want about 20 times", n)
		}
	})
}

// A failure is reported, and does not end the attempts.
func TestRegularlyGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := storetest.Open(t, store.Config{Dir: t.TempDir()})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		failures := 0
		db.Regularly(ctx, "sweep", time.Minute, func(context.Context) error { return errors.New("no") }, func(error) { failures++ })
		if failures < 4 || failures > 6 {
			t.Errorf("%d failures in five minutes", failures)
		}
	})
}

// work waits for the end of its context and says what ended it.
func work(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(30 * time.Second):
		return errors.New("the work was not ended")
	}
}

func TestWorkEndsWithItsLease(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db, other := storetest.Open(t, cfg), storetest.Open(t, cfg)
		t.Run("another has taken it", func(t *testing.T) {
			ran, err := db.Exclusively(t.Context(), "taken", func(ctx context.Context) error {
				err := other.Tx(ctx, func(tx store.Tx) error {
					_, err := tx.Exec(ctx, `UPDATE leases SET owner = 'another' WHERE name = 'taken'`)
					return err
				})
				return errors.Join(err, work(ctx))
			})
			if !ran || !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("got %v, %v, want %v", ran, err, store.ErrLeaseLost)
			}
		})
		t.Run("it cannot be renewed", func(t *testing.T) {
			began := time.Now()
			var held sync.WaitGroup
			ran, err := db.Exclusively(t.Context(), "stuck", func(ctx context.Context) error {
				locked := make(chan struct{})
				held.Go(func() {
					err := other.Tx(t.Context(), func(tx store.Tx) error {
						_, err := tx.Exec(t.Context(), `UPDATE leases SET due = due WHERE name = 'stuck'`)
						close(locked)
						time.Sleep(7 * time.Second)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
				<-locked
				return work(ctx)
			})
			held.Wait()
			if took := time.Since(began); !ran || !errors.Is(err, store.ErrLeaseLost) {
				t.Errorf("after %v: got %v, %v, want %v", took, ran, err, store.ErrLeaseLost)
			}
		})
	})
}

func TestOneHoldsALease(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db, other := storetest.Open(t, cfg), storetest.Open(t, cfg)
		try := func(db *store.DB) bool {
			ran, err := db.Exclusively(t.Context(), "nightly", func(context.Context) error { return nil })
			if err != nil {
				t.Error(err)
			}
			return ran
		}
		ran, err := db.Exclusively(t.Context(), "nightly", func(ctx context.Context) error {
			if try(other) || try(db) {
				t.Error("a second runs beside the first")
			}
			return nil
		})
		if !ran || err != nil {
			t.Errorf("the first: %v, %v", ran, err)
		}
		if !try(other) {
			t.Error("a lease that was given back is not free")
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = db.Exclusively(t.Context(), "nightly", func(context.Context) error { panic("a mistake") })
		}()
		if !try(other) {
			t.Error("a panic keeps the lease")
		}
	})
}

// On PostgreSQL the processes run on machines whose clocks differ.
func TestLeasesGoByTheServersClock(t *testing.T) {
	t.Parallel()
	url := storetest.Postgres(t)
	at := func(ahead time.Duration) *store.DB {
		return storetest.Open(t, store.Config{URL: url, Now: func() time.Time { return time.Now().Add(ahead) }})
	}
	slow, fast := at(-time.Hour), at(time.Hour)
	for _, pair := range [][2]*store.DB{{slow, fast}, {fast, slow}} {
		_, err := pair[0].Exclusively(t.Context(), "nightly", func(ctx context.Context) error {
			if ran, err := pair[1].Exclusively(ctx, "nightly", func(context.Context) error { return nil }); ran || err != nil {
				t.Errorf("a process with another clock: %v, %v, want it kept out", ran, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// holderVariable makes the test binary hold a lease until it is killed; its value is as that of crashVariable.
const holderVariable = "NAMEWHARF_TEST_HOLDER"

func holdUntilKilled(where string) {
	db, err := store.Open(context.Background(), configOf(where))
	if err == nil {
		db.Regularly(context.Background(), "held", time.Second, func(ctx context.Context) error {
			fmt.Println("at work")
			<-ctx.Done()
			return ctx.Err()
		}, func(err error) { fmt.Fprintln(os.Stderr, err) })
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func configOf(where string) store.Config {
	if strings.HasPrefix(where, "postgres:") {
		return store.Config{URL: where}
	}
	return store.Config{Dir: where}
}

// Another process takes over the work of a killed one within ten seconds.
func TestKilledHolderIsReplaced(t *testing.T) {
	t.Parallel()
	storetest.EachConfig(t, func(t *testing.T, cfg store.Config) {
		db := storetest.Open(t, cfg)
		holder := exec.CommandContext(t.Context(), os.Args[0])
		holder.Env = append(os.Environ(), holderVariable+"="+cfg.Dir+cfg.URL)
		holder.Stderr = os.Stderr
		out, err := holder.StdoutPipe()
		if err == nil {
			err = holder.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "at work" {
			t.Fatalf("the holder says %q", lines.Text())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var killed atomic.Pointer[time.Time]
		time.AfterFunc(8*time.Second, func() { // longer than a lease that is not renewed
			now := time.Now()
			killed.Store(&now)
			_ = holder.Process.Kill()
		})
		db.Regularly(ctx, "held", time.Second, func(context.Context) error {
			cancel()
			if at := killed.Load(); at == nil {
				t.Error("taken over while the holder lived")
			} else if took := time.Since(*at); took > 10*time.Second {
				t.Errorf("taken over after %v", took)
			}
			return nil
		}, func(err error) { t.Error(err) })
		_ = holder.Wait()
	})
}
